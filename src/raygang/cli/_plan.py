"""`raygang plan`."""

from __future__ import annotations

import json

from rich.table import Table

from raygang.cli._console import bytes_text, out
from raygang.cli._prepare import make_plan, read_spec
from raygang.plan import Plan


def show(path: str, *, as_json: bool) -> None:
    plan, _ = make_plan(read_spec(path), weights=False)
    if as_json:
        out.print_json(json.dumps(facts(plan)))
    else:
        print_text(plan)


def facts(plan: Plan) -> dict[str, object]:
    return {
        "name": plan.spec.name,
        "tensor": plan.tensor,
        "pipeline": plan.pipeline,
        "nodes": len(plan.nodes),
        "weights_from": plan.checkpoint.sizes_from,
        "weight_bytes": plan.checkpoint.total_bytes,
        "kv_bytes_per_token": plan.checkpoint.kv_bytes_per_token(),
        "notes": list(plan.notes),
        "ranks": [
            {
                "rank": r.rank,
                "node": r.node,
                "tensor_rank": r.tensor_rank,
                "pipeline_rank": r.pipeline_rank,
                "layers": [r.layers.start, r.layers.stop],
                "weight_bytes": r.weight_bytes,
                "kv_bytes_per_token": r.kv_bytes_per_token,
            }
            for r in plan.ranks
        ],
    }


def summary(plan: Plan) -> str:
    c = plan.checkpoint
    return (
        f"{c.architecture}, {c.layers} layers, {bytes_text(c.total_bytes)} of weights ({c.sizes_from}): "
        f"{plan.world_size} ranks on {len(plan.nodes)} nodes, tensor {plan.tensor} x pipeline {plan.pipeline}"
    )


def print_text(plan: Plan) -> None:
    out.print(f"[bold]{plan.spec.name}[/]: {summary(plan)}")
    table = Table(box=None, pad_edge=False, header_style="dim")
    for name in ("rank", "node", "tensor", "pipeline", "layers", "weights", "KV cache per token"):
        table.add_column(name, justify="right")
    for r in plan.ranks:
        layers = f"{r.layers.start}-{r.layers.stop - 1}"
        numbers = (r.rank, r.node, r.tensor_rank, r.pipeline_rank, layers)
        table.add_row(*map(str, numbers), bytes_text(r.weight_bytes), bytes_text(r.kv_bytes_per_token))
    out.print(table)
    for note in (*plan.notes, *plan.checkpoint.notes):
        out.print(f"[dim]note:[/] {note}")
