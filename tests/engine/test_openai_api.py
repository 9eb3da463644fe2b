"""The API, as the official client sees it."""

import json
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import httpx
import openai
import pytest

from tests.engine.conftest import Endpoint
from tests.support.cli import until

PROMPT = "Hello world"


def test_lists_the_model_by_its_served_name(endpoint: Endpoint) -> None:
    assert [m.id for m in endpoint.client.models.list()] == ["tiny"]
    assert endpoint.client.models.retrieve("tiny").id == "tiny"


def test_chats(endpoint: Endpoint) -> None:
    messages = [{"role": "user", "content": "hi"}]
    answer = endpoint.client.chat.completions.create(model="tiny", messages=messages, max_tokens=5, temperature=0)
    assert answer.choices[0].message.role == "assistant"
    assert answer.usage is not None
    assert answer.usage.completion_tokens <= 5


def test_completes(endpoint: Endpoint) -> None:
    answer = endpoint.client.completions.create(
        model="tiny", prompt=PROMPT, max_tokens=7, extra_body={"ignore_eos": True}
    )
    assert answer.usage is not None
    assert (answer.usage.prompt_tokens, answer.usage.completion_tokens) == (len(PROMPT), 7)
    assert answer.choices[0].finish_reason == "length"


def test_streams_the_same_text_with_usage_at_the_end(endpoint: Endpoint) -> None:
    whole = endpoint.client.completions.create(model="tiny", prompt=PROMPT, max_tokens=12, temperature=0)
    chunks = list(
        endpoint.client.completions.create(
            model="tiny",
            prompt=PROMPT,
            max_tokens=12,
            temperature=0,
            stream=True,
            stream_options={"include_usage": True},
        )
    )
    assert "".join(c.choices[0].text for c in chunks if c.choices) == whole.choices[0].text
    assert chunks[-1].usage == whole.usage


def test_stops_at_a_stop_text(endpoint: Endpoint) -> None:
    whole = endpoint.client.completions.create(model="tiny", prompt=PROMPT, max_tokens=30, temperature=0)
    stop = next(c for c in whole.choices[0].text[3:] if c.isascii() and c.isprintable())
    answer = endpoint.client.completions.create(model="tiny", prompt=PROMPT, max_tokens=30, temperature=0, stop=stop)
    assert answer.choices[0].text == whole.choices[0].text.partition(stop)[0]
    assert answer.choices[0].finish_reason == "stop"


def test_a_seed_gives_the_same_sample_again(endpoint: Endpoint) -> None:
    def sample(seed: int) -> str:
        answer = endpoint.client.completions.create(
            model="tiny", prompt=PROMPT, max_tokens=16, temperature=1, seed=seed
        )
        return answer.choices[0].text

    assert sample(1) == sample(1)
    assert sample(1) != sample(2)


def test_gives_log_probabilities_and_several_choices(endpoint: Endpoint) -> None:
    answer = endpoint.client.completions.create(
        model="tiny", prompt=PROMPT, max_tokens=4, n=3, temperature=1, logprobs=2, extra_body={"ignore_eos": True}
    )
    assert [c.index for c in answer.choices] == [0, 1, 2]
    for choice in answer.choices:
        assert choice.logprobs is not None
        assert choice.logprobs.token_logprobs is not None
        assert len(choice.logprobs.token_logprobs) == 4
        assert all(p is not None and p <= 0 for p in choice.logprobs.token_logprobs)


def test_json_mode_keeps_to_the_schema(endpoint: Endpoint) -> None:
    schema = {
        "type": "object",
        "properties": {"a": {"enum": ["x", "y"]}},
        "required": ["a"],
        "additionalProperties": False,
    }
    answer = endpoint.client.chat.completions.create(
        model="tiny",
        messages=[{"role": "user", "content": "hi"}],
        max_tokens=200,
        temperature=0,
        response_format={"type": "json_schema", "json_schema": {"name": "s", "schema": schema}},
    )
    content = answer.choices[0].message.content
    assert content is not None
    assert json.loads(content)["a"] in ("x", "y")


def test_a_named_tool_is_called(endpoint: Endpoint) -> None:
    """Random weights choose odd arguments; that the call has OpenAI's form is what can be seen here."""
    answer = endpoint.client.chat.completions.create(
        model="tiny",
        messages=[{"role": "user", "content": "hi"}],
        max_tokens=200,
        temperature=0,
        tools=[{"type": "function", "function": {"name": "weather", "parameters": {"type": "object"}}}],
        tool_choice={"type": "function", "function": {"name": "weather"}},
    )
    calls = answer.choices[0].message.tool_calls
    assert calls is not None
    assert [(c.type, c.function.name) for c in calls] == [("function", "weather")]


def test_an_unknown_model_is_404_in_openai_form(endpoint: Endpoint) -> None:
    with pytest.raises(openai.NotFoundError) as e:
        endpoint.client.completions.create(model="other", prompt=PROMPT)
    assert "other" in e.value.message
    with pytest.raises(openai.NotFoundError):
        endpoint.client.models.retrieve("other")


def test_a_prompt_that_is_too_long_is_400(endpoint: Endpoint) -> None:
    with pytest.raises(openai.BadRequestError) as e:
        endpoint.client.completions.create(model="tiny", prompt="x" * 1500, max_tokens=5)
    assert "1024" in e.value.message


def test_more_tokens_than_the_model_takes_are_400(endpoint: Endpoint) -> None:
    with pytest.raises(openai.BadRequestError):
        endpoint.client.completions.create(model="tiny", prompt=PROMPT, max_tokens=5000)


@pytest.mark.parametrize(
    "body", ["{bad", '{"model": "tiny"}', '{"model": "tiny", "prompt": "x", "temperature": "hot"}']
)
def test_a_malformed_request_is_refused_in_openai_form(endpoint: Endpoint, body: str) -> None:
    headers = {"content-type": "application/json"}
    response = httpx.post(f"{endpoint.url}/completions", content=body, headers=headers, trust_env=False)
    assert response.status_code in (400, 422)
    assert response.json()["error"]["message"]


def test_a_prompt_of_one_megabyte_is_refused_cleanly_and_quickly(endpoint: Endpoint) -> None:
    began = time.monotonic()
    with pytest.raises(openai.BadRequestError):
        endpoint.client.completions.create(model="tiny", prompt="x" * 2**20, max_tokens=5)
    assert time.monotonic() - began < 20
    test_completes(endpoint)


def running(endpoint: Endpoint) -> float:
    """Requests that the engine computes now, from its own metrics."""
    text = httpx.get(endpoint.url.removesuffix("/v1") + "/metrics", timeout=10, trust_env=False).text
    lines = (line for line in text.splitlines() if line.startswith("vllm:num_requests_running"))
    return sum(float(line.rpartition(" ")[2]) for line in lines)


def test_a_cancelled_stream_frees_its_slot(endpoint: Endpoint) -> None:
    stream = endpoint.client.completions.create(
        model="tiny", prompt=PROMPT, max_tokens=1000, stream=True, extra_body={"ignore_eos": True}
    )
    next(iter(stream))
    assert running(endpoint) == 1
    stream.close()
    until(lambda: running(endpoint) == 0, "the slot is free")


def test_32_concurrent_streams_give_what_each_gives_alone(endpoint: Endpoint) -> None:
    def stream(index: int) -> str:
        chunks = endpoint.client.completions.create(
            model="tiny", prompt=f"{index} is", max_tokens=16, temperature=0, stream=True
        )
        return "".join(c.choices[0].text for c in chunks)

    together = threading.Barrier(32)

    def at_once(index: int) -> str:
        together.wait(timeout=30)
        return stream(index)

    with ThreadPoolExecutor(32) as pool:
        texts = list(pool.map(at_once, range(32)))
    assert texts[:4] == [stream(i) for i in range(4)]
    assert len(set(texts)) > 16
