"""A secret in a file is refused, and no message shows it, whatever else is wrong."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from raygang.spec import Spec, SpecError, UserError, parse_spec
from tests.spec.strategies import one_letter_typos

SECRET = "Zq9Xw7Lm2Tk"
WORDS = ("token", "password", "api", "hf_", "http")
HEAD = "name: x\nmodel: {source: a/b}\n"
REFUSED = [
    "name: x\nmodel: {source: a/b, token: Zq9Xw7Lm2Tk}\n",
    "name: x\nmodel:\n  source: a/b\n  token: |\n    Zq9Xw7Lm2Tk\n    Zq9Xw7Lm2Tk\n  revision: 3\n",
    "name: x\nmodel: {source: a/b, hf_token: Zq9Xw7Lm2Tk}\n",
    "name: x\nmodel: {source: a/b, token: {value: Zq9Xw7Lm2Tk}}\n",
    "name: x\nmodel: {source: a/b, token: {Zq9Xw7Lm2Tk}}\n",
    "name: x\nmodel: {source: a/b, token: {[Zq9Xw7Lm2Tk]: 1}}\n",
    "name: x\nmodel: {source: a/b, token: [Zq9Xw7Lm2Tk]}\n",
    "name: x\nmodel: {source: a/b, token:Zq9Xw7Lm2Tk}\n",
    "name: x\nmodel: {source: a/b, token=Zq9Xw7Lm2Tk}\n",
    "name: x\nmodel:\n  source: a/b\n  token:Zq9Xw7Lm2Tk\n",
    "name: x\nmodel:\n  source: a/b\n  token Zq9Xw7Lm2Tk\n",
    "name: x\nmodel: {sorce: a/b, token: Zq9Xw7Lm2Tk}\n",
    "name: x\nmodel: {source: a/b, token:\n  Zq9Xw7Lm2Tk, revison: x}\n",
    "name: x\nmodel:\n  source: hf_Zq9Xw7Lm2Tk\n",
    "name: x\nmodel:\n  source:\n    hf_Zq9Xw7Lm2Tk\n",
    "name: x\nmodel: {source: 'https://me:Zq9Xw7Lm2Tk@host/model'}\n",
    "name: x\nmodel: {source: a/b, token: {secret: hf_Zq9Xw7Lm2Tk}}\n",
    "name: x\nmodel: {source: a/b, token: {env: hf_Zq9Xw7Lm2Tk}}\n",
    "name: x\nmodel: {source: a/b, token: {env: 'not a Zq9Xw7Lm2Tk'}}\n",
    HEAD + "engine: {env: {HF_TOKEN: Zq9Xw7Lm2Tk}}\n",
    HEAD + "engine: {env: {X: hf_Zq9Xw7Lm2Tk}}\n",
    HEAD + "engine: {env: {HTTPS_PROXY: 'http://me:Zq9Xw7Lm2Tk@proxy:3128'}}\n",
    HEAD + "engine: {args: {hf_token: Zq9Xw7Lm2Tk}}\n",
    HEAD + "engine: {args: {api_key: [Zq9Xw7Lm2Tk]}}\n",
    HEAD + "engine: {args: {kv_transfer_config: {password: Zq9Xw7Lm2Tk}}}\n",
    HEAD + "engine: {args: {lora_modules: [{auth_token: Zq9Xw7Lm2Tk}, {token: Zq9Xw7Lm2Tk}]}}\n",
    HEAD + "engine: {args: [{api-key: Zq9Xw7Lm2Tk}]}\n",
    HEAD + "engine:\n  args:\n    - password: Zq9Xw7Lm2Tk\n",
    HEAD + "kubernetes: {annotations: {a: hf_Zq9Xw7Lm2Tk}}\n",
    HEAD + "kubernetes: {labels: {hf_Zq9Xw7Lm2Tk: a}}\n",
    HEAD + "api_key: Zq9Xw7Lm2Tk\n",
]
UNREADABLE = [
    "name: x\nmodel: {source: a/b, token: [Zq9Xw7Lm2Tk}\n",
    "name: x\nmodel:\n  token: |\n    a\n   Zq9Xw7Lm2Tk: [\n",
    "name: x\nmodel: {token: *Zq9Xw7Lm2Tk}\n",
    "name: x\nmodel:\n  token: !Zq9Xw7Lm2Tk!x y\n",
    "name: x\nmodel:\n  token: |\n  Zq9Xw7Lm2Tk\n  source: a/b\n",
    "name: x\nmodel:\n  token: Zq9Xw7Lm2Tk\n  token: Zq9Xw7Lm2Tk\n",
    "token:\nZq9Xw7Lm2Tk\nfoo: [\n",
]


@pytest.mark.parametrize("text", [*REFUSED, *UNREADABLE])
def test_it_is_refused_and_never_shown(text: str) -> None:
    with pytest.raises(SpecError) as e:
        parse_spec(text)
    assert SECRET not in str(e.value)
    assert not any(SECRET in str(vars(p)) for p in e.value.problems)


@settings(max_examples=200, deadline=None)
@given(
    st.sampled_from(REFUSED),
    st.integers(0, 120),
    st.sampled_from([" ", "\n", ",", "{", "}", "'", "- ", "!!int ", "&a ", "? "]),
)
def test_another_mistake_above_it_does_not_show_it(text: str, at: int, noise: str) -> None:
    at = min(at, *(text.lower().index(word) for word in WORDS if word in text.lower()))
    try:
        parse_spec(text[:at] + noise + text[at:])
    except UserError as e:
        assert SECRET not in str(e)


@settings(max_examples=100, deadline=None)
@given(st.sampled_from([t for t in one_letter_typos("token") if t.isidentifier()]))
def test_the_value_of_a_misspelt_token_is_not_shown(typo: str) -> None:
    try:
        parse_spec(f"name: x\nmodel:\n  {typo}: Zq9Xw7Lm2Tk\n  source: a/b\n")
    except SpecError as e:
        assert SECRET not in str(e)
        assert "did you mean token?" in str(e) or typo == "token" or "refer to it" in str(e)


@pytest.mark.parametrize(
    "text",
    [
        "name: x\nmodel: {source: a/b, token: {secret: hf-token, key: token}}\n",
        "name: x\nmodel: {source: a/b, token: {env: HF_TOKEN}}\n",
        HEAD + "kubernetes: {image_pull_secrets: [registry]}\n",
        HEAD
        + "engine: {args: {max_num_batched_tokens: 8192, allow_credentials: true, tokenizer: ./t, hf_overrides: {a: b}}}\n",
        HEAD + "engine: {args: {hf_overrides: {eos_token: </s>, image_token: <image>}}}\n",
        HEAD + "engine: {env: {TOKENIZERS_PARALLELISM: 'false', HF_TOKEN: ''}}\n",
        HEAD + "nodes: {selector: {token: gold}}\n",
    ],
)
def test_what_only_sounds_like_one_is_allowed(text: str) -> None:
    assert isinstance(parse_spec(text), Spec)


def test_a_token_names_a_secret_or_a_variable() -> None:
    for token in ("{}", "{key: x}", "{secret: a, env: B}"):
        with pytest.raises(SpecError, match="names either a Kubernetes Secret"):
            parse_spec(f"name: x\nmodel: {{source: a/b, token: {token}}}\n")
    with pytest.raises(SpecError, match="did you mean secret"):
        parse_spec("name: x\nmodel: {source: a/b, token: {secrte: a}}\n")
