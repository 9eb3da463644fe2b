"""Models of the hub: fetched from a stand-in, found offline, and every failure with what to do."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.checkpoint.hub import TOKEN, hub

CODE = """
import json, sys
from pathlib import Path
from raygang.checkpoint import obtain
from raygang.spec import ModelSpec, UserError
told = []
try:
    path = obtain(ModelSpec.model_validate(json.loads(sys.argv[1])), base=Path("."), cache=Path("."),
                  progress=lambda what, done, total: told.append((what, done, total)))
    print(json.dumps({"path": str(path), "told": told}))
except UserError as e:
    print(json.dumps({"message": e.message, "hint": e.hint or "", "exit_code": e.exit_code}))
"""
NO_SERVER = "http://127.0.0.1:9"


def get(home: Path, endpoint: str, source: str, **options: object) -> dict[str, object]:
    """In a process of its own: huggingface_hub reads its environment when it is imported."""
    env = {k: v for k, v in os.environ.items() if not k.startswith(("HF_", "HUGGING")) and "proxy" not in k.lower()}
    env |= {"HF_HOME": str(home), "HF_ENDPOINT": endpoint, "HF_HUB_DISABLE_XET": "1", **options.pop("env", {})}  # type: ignore[dict-item]
    command = [sys.executable, "-c", CODE, json.dumps({"source": source, **options})]
    done = subprocess.run(command, env=env, text=True, capture_output=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stderr == "", "nothing is printed below the command line"
    found: dict[str, object] = json.loads(done.stdout)
    return found


@pytest.fixture(scope="module")
def endpoint(tiny: Path) -> Iterator[str]:
    with hub(tiny) as url:
        yield url


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory, endpoint: str) -> Path:
    """A cache with org/model in it, fetched."""
    path = tmp_path_factory.mktemp("home")
    found = get(path, endpoint, "org/model")
    told = found["told"]
    assert isinstance(told, list)
    assert {what for what, _, _ in told} == {"fetching org/model"}
    assert told[-1][1] == told[-1][2] > 500_000
    return path


def test_for_a_plan_only_the_config_is_fetched(tmp_path: Path, endpoint: str) -> None:
    code = (
        "from pathlib import Path; from raygang.checkpoint import obtain_config, read_checkpoint\n"
        "from raygang.spec import ModelSpec\n"
        "spec = ModelSpec.model_validate({'source': 'org/model'})\n"
        "path = obtain_config(spec, base=Path('.'), cache=Path('.'))\n"
        "print(read_checkpoint(path).sizes_from, *sorted(p.name for p in path.iterdir()))\n"
    )
    env = {k: v for k, v in os.environ.items() if not k.startswith(("HF_", "HUGGING")) and "proxy" not in k.lower()}
    env |= {"HF_HOME": str(tmp_path), "HF_ENDPOINT": endpoint, "HF_HUB_DISABLE_XET": "1"}
    done = subprocess.run([sys.executable, "-c", code], env=env, text=True, capture_output=True, timeout=60, check=True)
    assert done.stdout.strip() == "config config.json"


def test_a_fetched_model_is_whole(home: Path, endpoint: str, tiny: Path) -> None:
    path = Path(str(get(home, endpoint, "org/model")["path"]))
    assert (path / "model.safetensors").read_bytes() == (tiny / "model.safetensors").read_bytes()
    assert (path / "tokenizer.json").exists()


@pytest.mark.parametrize("env", [{}, {"HF_HUB_OFFLINE": "1"}])
def test_what_was_fetched_is_found_without_a_network(home: Path, env: dict[str, str]) -> None:
    assert "path" in get(home, NO_SERVER, "org/model", env=env)


def test_only_what_an_engine_needs_is_fetched(tmp_path: Path, tiny: Path) -> None:
    model = tmp_path / "model"
    shutil.copytree(tiny, model)
    (model / "pytorch_model.bin").write_bytes(b"pickle")
    (model / "README.md").write_text("")
    with hub(model) as url:
        path = Path(str(get(tmp_path / "home", url, "org/model")["path"]))
    assert {"pytorch_model.bin", "README.md"} & {p.name for p in path.iterdir()} == set()


def test_a_model_without_safetensors_on_the_hub(tmp_path: Path, tiny: Path) -> None:
    model = tmp_path / "model"
    shutil.copytree(tiny, model)
    (model / "model.safetensors").rename(model / "pytorch_model.bin")
    with hub(model) as url:
        found = get(tmp_path / "home", url, "org/model")
    assert "the hub has no safetensors of it" in str(found["message"])
    assert found["exit_code"] == 2


def test_a_token_by_reference_opens_a_private_model(tmp_path: Path, endpoint: str) -> None:
    token = {"env": "MY_TOKEN"}
    assert "path" in get(tmp_path, endpoint, "org/private", token=token, env={"MY_TOKEN": TOKEN})
    refused = get(tmp_path / "other", endpoint, "org/private", token=token, env={"MY_TOKEN": "hf_wrong_one"})
    assert refused["exit_code"] == 2
    assert "hf_wrong_one" not in json.dumps(refused), "a token is never shown"


@pytest.mark.parametrize(
    ("source", "code", "message", "hint"),
    [
        ("org/gated", 2, "org/gated is gated", "accept its terms"),
        ("org/missing", 2, "the hub has no such model, or does not show it to you", "check the name"),
        ("org/other-revision", 2, "org/other-revision has no revision 'main'", ""),
        ("org/broken", 3, "the hub answered 503", "HF_HUB_OFFLINE=1"),
        ("org/a--b", 2, "org/a--b is no name of a hub model", ""),
    ],
)
def test_what_the_hub_refuses(tmp_path: Path, endpoint: str, source: str, code: int, message: str, hint: str) -> None:
    found = get(tmp_path, endpoint, source)
    assert message in str(found["message"])
    assert hint in str(found["hint"])
    assert found["exit_code"] == code


@pytest.mark.parametrize(
    ("env", "why"),
    [
        ({}, "the hub cannot be reached (ConnectError"),
        ({"HTTP_PROXY": NO_SERVER, "HF_ENDPOINT": "http://hub.invalid"}, "the hub cannot be reached"),
        ({"HF_ENDPOINT": "http://hub.invalid"}, "the hub cannot be reached"),
        ({"HF_HUB_OFFLINE": "1"}, "HF_HUB_OFFLINE is set"),
    ],
    ids=["nobody listens", "the proxy is down", "no such host", "offline by wish"],
)
def test_without_a_network_it_says_how_to_go_on(tmp_path: Path, env: dict[str, str], why: str) -> None:
    found = get(tmp_path, NO_SERVER, "org/model", env=env)
    assert found["exit_code"] == 3
    assert f"org/model is not in the local cache, and {why}" in str(found["message"])
    for words in ("name a directory in model.source", "HF_HUB_OFFLINE=1", str(tmp_path)):
        assert words in str(found["hint"])


def test_a_proxy_that_refuses_is_no_traceback(tmp_path: Path, endpoint: str) -> None:
    env = {"HTTPS_PROXY": endpoint, "HF_ENDPOINT": "https://hub.invalid"}  # the stand-in knows no CONNECT
    found = get(tmp_path, NO_SERVER, "org/model", env=env)
    assert found["exit_code"] == 3
    assert "the hub cannot be reached (ProxyError" in str(found["message"])


def test_a_part_of_a_model_in_the_cache_is_not_taken_for_it(home: Path, tmp_path: Path) -> None:
    shutil.copytree(home, tmp_path / "home", symlinks=True)
    next((tmp_path / "home").rglob("snapshots/*/model.safetensors")).unlink()
    found = get(tmp_path / "home", NO_SERVER, "org/model", env={"HF_HUB_OFFLINE": "1"})
    assert found["exit_code"] == 3
