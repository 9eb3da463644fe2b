"""Questions asked of the endpoint, and what is printed to paste."""

import asyncio
import json
import shlex

import httpx
import pytest

from raygang.cli._ask import ask
from raygang.cli._progress import print_ready
from raygang.spec import UserError


def answer(monkeypatch: pytest.MonkeyPatch, response: httpx.Response) -> str:
    """What `ask` makes of a server's response."""
    transport = httpx.MockTransport(lambda _: response)
    real = httpx.AsyncClient
    monkeypatch.setattr(httpx, "AsyncClient", lambda **options: real(**options, transport=transport))

    async def collect() -> str:
        return "".join([part async for part in ask("http://x/v1", "m", "?")])

    return asyncio.run(collect())


def stream(*chunks: object) -> httpx.Response:
    lines = [f"data: {json.dumps(c)}\n\n" for c in chunks]
    return httpx.Response(200, content="".join([*lines, "data: [DONE]\n\n"]))


def chunk(text: str | None) -> object:
    return {"choices": [{"delta": {"content": text}}]}


def test_the_parts_of_a_stream_are_the_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    assert answer(monkeypatch, stream(chunk("Par"), chunk(None), chunk("is"), {"choices": []})) == "Paris"


@pytest.mark.parametrize(
    ("response", "message"),
    [
        (httpx.Response(503, text="no replica"), "HTTP 503: no replica"),
        (httpx.Response(500, text="x" * 10_000), "HTTP 500: x{500}$"),
        (stream(chunk("Pa"), {"error": {"message": "engine died"}}), "broke off.*engine died"),
    ],
)
def test_an_answer_that_fails_is_a_message(
    monkeypatch: pytest.MonkeyPatch, response: httpx.Response, message: str
) -> None:
    with pytest.raises(UserError, match=message) as e:
        answer(monkeypatch, response)
    assert e.value.exit_code == 1


def test_a_connection_that_breaks_is_a_message(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_: httpx.Request) -> httpx.Response:
        raise httpx.RemoteProtocolError("peer closed connection")

    transport = httpx.MockTransport(broken)
    real = httpx.AsyncClient
    monkeypatch.setattr(httpx, "AsyncClient", lambda **options: real(**options, transport=transport))

    async def collect() -> list[str]:
        return [part async for part in ask("http://x/v1", "m", "?")]

    with pytest.raises(UserError, match="the answer broke off: RemoteProtocolError: peer closed"):
        asyncio.run(collect())


@pytest.mark.parametrize("model", ["tiny", "it's [bold]mine[/]", 'say "hi" $(rm)'])
def test_what_is_printed_to_paste_names_the_model_as_it_is(capsys: pytest.CaptureFixture[str], model: str) -> None:
    print_ready("http://127.0.0.1:8000/v1", model, "demo")
    shown = capsys.readouterr().out
    curl = shlex.split(shown[shown.index("curl") : shown.index("from openai")])
    assert curl[1] == "http://127.0.0.1:8000/v1/chat/completions"
    assert json.loads(curl[-1])["model"] == model
    program = shown[shown.index("from openai") :]
    assert f"model={json.dumps(model)}" in program
    compile(program, "pasted", "exec")
