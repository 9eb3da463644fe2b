"""Start, throughput, time to first token and memory of raygang against serve.llm and vLLM's own server.

python -m benchmarks [--models tiny smollm2] [--concurrency 1 4 16 64] [--targets raygang ...]

Prints Markdown. Absolute figures are this machine's; quote the ratios, which are of one run.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from pathlib import Path

from tests.support.tiny import make_tiny_llama

from benchmarks.load import Result, measure
from benchmarks.targets import NAME, TARGETS, Served
from raygang.checkpoint import obtain
from raygang.spec import ModelSource, ModelSpec

Row = tuple[Served, dict[int, Result]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", nargs="+", default=["tiny", "smollm2"])
    parser.add_argument("--concurrency", nargs="+", type=int, default=[1, 4, 16, 64])
    parser.add_argument("--targets", nargs="+", default=list(TARGETS), choices=list(TARGETS))
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as cache:
        os.environ["RAYGANG_CACHE"] = cache
        for name in options.models:
            model, dtype = prepare(name, Path(cache))
            rows = {target: run(target, model, dtype, options.concurrency) for target in options.targets}
            report(name, dtype, rows, options.concurrency)


def prepare(name: str, cache: Path) -> tuple[Path, str]:
    if name == "tiny":
        return make_tiny_llama(cache / "tiny"), "float32"
    spec = ModelSpec(source=ModelSource.parse(f"demo:{name}"))
    return obtain(spec, base=cache, cache=cache, dtype="float32"), "float32"


def run(target: str, model: Path, dtype: str, concurrency: list[int]) -> Row:
    with TARGETS[target](model, dtype) as served:
        return served, {c: measure(served.url, NAME, c) for c in concurrency}


def report(name: str, dtype: str, rows: dict[str, Row], concurrency: list[int]) -> None:
    print(f"\n### {name}, {dtype}, pipeline parallel over two Ray nodes\n")
    print("| | start, s | memory, GiB | " + " | ".join(f"{c} streams: tok/s, TTFT ms" for c in concurrency) + " |")
    print("|---|---|---|" + "---|" * len(concurrency))
    for target, (served, results) in rows.items():
        cells = [f"{results[c].tokens_per_s:.0f}, {results[c].ttft_s * 1000:.0f}" for c in concurrency]
        print(f"| {target} | {served.start_s:.1f} | {served.memory_bytes / 2**30:.1f} | " + " | ".join(cells) + " |")
    ours = rows.get("raygang")
    for target, (served, results) in rows.items():
        if ours and target != "raygang":
            cells = [ratio(ours[1][c], results[c]) for c in concurrency]
            start, memory = ours[0].start_s / served.start_s, ours[0].memory_bytes / served.memory_bytes
            print(f"| **raygang / {target}** | {start:.2f} | {memory:.2f} | " + " | ".join(cells) + " |")


def ratio(ours: Result, theirs: Result) -> str:
    return f"{ours.tokens_per_s / theirs.tokens_per_s:.2f}, {ours.ttft_s / theirs.ttft_s:.2f}"


if __name__ == "__main__":
    main()
