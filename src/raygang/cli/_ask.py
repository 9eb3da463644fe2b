"""Asks the endpoint a question, as any OpenAI client would."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator

import httpx

from raygang.spec import UserError


async def ask(url: str, model: str, question: str, *, max_tokens: int = 128) -> AsyncIterator[str]:
    """Yield the parts of the answer as they come (greedy, so that it is the same each time)."""
    body = {
        "model": model,
        "messages": [{"role": "user", "content": question}],
        "max_tokens": max_tokens,
        "temperature": 0,
        "stream": True,
    }
    async with (
        httpx.AsyncClient(timeout=300, trust_env=False) as client,
        client.stream("POST", f"{url}/chat/completions", json=body) as response,
    ):
        if response.status_code != 200:
            text = (await response.aread()).decode(errors="replace")
            raise UserError(f"the endpoint answered HTTP {response.status_code}: {text[:500]}", exit_code=1)
        async for line in response.aiter_lines():
            data = line.removeprefix("data: ")
            if line.startswith("data: ") and data != "[DONE]":
                for choice in json.loads(data).get("choices", []):
                    yield choice["delta"].get("content") or ""
