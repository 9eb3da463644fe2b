"""Asks the endpoint a question, as any OpenAI client would."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator

import httpx

from raygang.spec import UserError


async def ask(url: str, model: str, question: str, *, max_tokens: int = 128) -> AsyncIterator[str]:
    """Yield the parts of the answer as they come (greedy, so that it is the same each time).

    Raises:
        UserError: there was no answer, or it broke off.
    """
    body = {
        "model": model,
        "messages": [{"role": "user", "content": question}],
        "max_tokens": max_tokens,
        "temperature": 0,
        "stream": True,
    }
    try:
        async with (
            httpx.AsyncClient(timeout=300, trust_env=False) as client,
            client.stream("POST", f"{url}/chat/completions", json=body) as response,
        ):
            if response.status_code != 200:
                text = (await response.aread()).decode(errors="replace")
                raise UserError(f"the endpoint answered HTTP {response.status_code}: {text[:500]}", exit_code=1)
            async for line in response.aiter_lines():
                for part in _parts(line):
                    yield part
    except httpx.HTTPError as e:
        raise UserError(f"the answer broke off: {type(e).__name__}: {e}", exit_code=1) from None


def _parts(line: str) -> Iterator[str]:
    """The text in a line of the stream. Raises UserError for an error in it."""
    data = line.removeprefix("data: ")
    if not line.startswith("data: ") or data == "[DONE]":
        return
    chunk = json.loads(data)
    if "error" in chunk:
        raise UserError(f"the answer broke off: {json.dumps(chunk['error'])[:500]}", exit_code=1)
    for choice in chunk.get("choices", []):
        yield choice["delta"].get("content") or ""
