"""Start, throughput, time to first token and memory of raygang against serve.llm and vLLM's own server.

python -m benchmarks [--models tiny smollm2] [--concurrency 1 4 16 64] [--targets raygang ...] [--rounds 3]

All targets are up together and are measured in turns; a ratio is the median over the rounds of the ratio within a
round, with the lowest and the highest behind it. Prints Markdown. Absolute figures are this machine's.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import statistics
import tempfile
from pathlib import Path

from tests.support.tiny import make_tiny_llama

from benchmarks.load import Result, measure
from benchmarks.targets import NAME, PLACES, TARGETS, Served
from raygang.checkpoint import obtain
from raygang.spec import ModelSource, ModelSpec

Rounds = dict[str, dict[int, list[Result]]]  # target -> concurrency -> one result for each round


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", nargs="+", default=["tiny", "smollm2"])
    parser.add_argument("--concurrency", nargs="+", type=int, default=[1, 4, 16, 64])
    parser.add_argument("--targets", nargs="+", default=list(TARGETS), choices=list(TARGETS))
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as cache:
        os.environ["RAYGANG_CACHE"] = cache
        for name in options.models:
            model, dtype = prepare(name, Path(cache))
            served, rounds = run(options.targets, model, dtype, options.concurrency, options.rounds)
            report(name, dtype, served, rounds)


def prepare(name: str, cache: Path) -> tuple[Path, str]:
    if name == "tiny":
        return make_tiny_llama(cache / "tiny"), "float32"
    spec = ModelSpec(source=ModelSource.parse(f"demo:{name}"))
    return obtain(spec, base=cache, cache=cache, dtype="float32"), "float32"


def run(
    targets: list[str], model: Path, dtype: str, concurrency: list[int], rounds: int
) -> tuple[dict[str, Served], Rounds]:
    """Start all targets, one after the other, then measure them in turns: what the machine does besides hits all."""
    found: Rounds = {target: {c: [] for c in concurrency} for target in targets}
    with contextlib.ExitStack() as stack:
        served = {t: stack.enter_context(TARGETS[t](model, dtype, PLACES[t])) for t in targets}
        for turn in range(rounds):
            for c in concurrency:
                for target in targets[turn % len(targets) :] + targets[: turn % len(targets)]:
                    found[target][c].append(measure(served[target].url, NAME, c))
    return served, found


def report(name: str, dtype: str, served: dict[str, Served], rounds: Rounds) -> None:
    concurrency = list(next(iter(rounds.values())))
    print(f"\n### {name}, {dtype}, pipeline parallel over two Ray nodes\n")
    print("| | start, s | memory, GiB | " + " | ".join(f"{c} streams: tok/s, TTFT ms" for c in concurrency) + " |")
    print("|---|---|---|" + "---|" * len(concurrency))
    for target, up in served.items():
        cells = [middle(rounds[target][c]) for c in concurrency]
        print(f"| {target} | {up.start_s:.1f} | {up.memory_bytes / 2**30:.1f} | " + " | ".join(cells) + " |")
    if "raygang" not in served:
        return
    ours = served["raygang"]
    for target, up in served.items():
        if target != "raygang":
            cells = [ratios(rounds["raygang"][c], rounds[target][c]) for c in concurrency]
            start, memory = ours.start_s / up.start_s, ours.memory_bytes / up.memory_bytes
            print(f"| **raygang / {target}** | {start:.2f} | {memory:.2f} | " + " | ".join(cells) + " |")


def middle(results: list[Result]) -> str:
    speed, first = (
        statistics.median(values) for values in ([r.tokens_per_s for r in results], [r.ttft_s for r in results])
    )
    return f"{speed:.0f}, {first * 1000:.0f}"


def ratios(ours: list[Result], theirs: list[Result]) -> str:
    speed = [a.tokens_per_s / b.tokens_per_s for a, b in zip(ours, theirs, strict=True)]
    first = [a.ttft_s / b.ttft_s for a, b in zip(ours, theirs, strict=True)]
    return ", ".join(f"{statistics.median(v):.2f} ({min(v):.2f}-{max(v):.2f})" for v in (speed, first))


if __name__ == "__main__":
    main()
