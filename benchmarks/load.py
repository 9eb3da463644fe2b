"""Streams of completions at a fixed concurrency: tokens per second, and time to the first token."""

from __future__ import annotations

import asyncio
import statistics
import time
from dataclasses import dataclass

import httpx

TOKENS = 128


@dataclass(frozen=True)
class Result:
    tokens_per_s: float
    ttft_s: float  # median
    requests: int


def measure(url: str, model: str, concurrency: int) -> Result:
    return asyncio.run(_measure(url, model, concurrency))


async def _measure(url: str, model: str, concurrency: int) -> Result:
    count = max(2 * concurrency, 6)
    limits = httpx.Limits(max_connections=concurrency)
    async with httpx.AsyncClient(timeout=300, trust_env=False, limits=limits) as client:
        await _one(client, url, model, 0)  # opens the way; not counted
        gate = asyncio.Semaphore(concurrency)

        async def gated(index: int) -> float:
            async with gate:
                return await _one(client, url, model, index)

        began = time.perf_counter()
        first = await asyncio.gather(*(gated(i) for i in range(count)))
        took = time.perf_counter() - began
    return Result(count * TOKENS / took, statistics.median(first), count)


async def _one(client: httpx.AsyncClient, url: str, model: str, index: int) -> float:
    """Seconds to the first token of a request that streams TOKENS tokens."""
    body = {
        "model": model, "prompt": f"{index}: tell me about the sea", "max_tokens": TOKENS, "temperature": 0,
        "stream": True, "ignore_eos": True,
    }  # fmt: skip
    began, first = time.perf_counter(), 0.0
    async with client.stream("POST", f"{url}/completions", json=body) as response:
        response.raise_for_status()
        async for line in response.aiter_lines():
            if line.startswith("data: ") and not first:
                first = time.perf_counter() - began
    return first
