"""`raygang fabric probe`."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from rich.table import Table
from rich.text import Text

from raygang.cli._choice import nearest
from raygang.cli._console import out
from raygang.cli._fabric_cluster import connected
from raygang.cli._fabric_show import show, write
from raygang.fabric import FABRICS, prove
from raygang.fabric.here import Usable, usable
from raygang.fabric.view import facts
from raygang.fabric.view.words import visible
from raygang.runtime.fabric.expected import Expected
from raygang.runtime.fabric.report import Report
from raygang.spec import UserError, load_spec, parse_spec

AUTO = "auto"


@dataclass(frozen=True)
class Options:
    """What was asked for on the command line."""

    local: bool
    expect: str | None
    spec: str | None
    address: str | None
    nodes: int | None
    ranks_per_node: int | None
    root: Path
    form: str
    output: Path | None


def run(options: Options) -> int:
    """The exit code: 0 passed, 1 failed, 3 no Ray cluster."""
    _check(options)
    expected = _expected(options)
    if not options.local:
        return show(_cluster(options, expected or Expected()), options.form, options.output)
    from raygang.runtime.fabric import probe

    if expected is not None:
        return show(probe.local(expected, options.root, measure=True), options.form, options.output)
    fabrics = {name: expected_of(name) for name in FABRICS if name != AUTO}
    found = list(usable(fabrics, partial(probe.local, root=options.root, measure=False)))
    return _everything(found, probe.local(Expected(), options.root, measure=False), options)


def _check(options: Options) -> None:
    of_cluster = {"--address": options.address, "--nodes": options.nodes, "--ranks-per-node": options.ranks_per_node}
    given = [name for name, value in of_cluster.items() if value is not None]
    if options.expect and options.spec:
        raise UserError("--expect and --spec both say which fabric", hint="leave one of them away")
    if options.local and given:
        raise UserError(f"--local is this machine alone: {', '.join(given)} cannot be with it")
    if not options.local and None in (options.nodes, options.ranks_per_node):
        raise UserError(
            "how many nodes and ranks there are is not said",
            hint="write --nodes N --ranks-per-node M for a Ray cluster, or --local for this machine",
        )
    if not options.root.is_dir():
        raise UserError(f"--root: {options.root} is no directory")


def _expected(options: Options) -> Expected | None:
    if options.spec:
        return prove(load_spec(options.spec))
    return expected_of(options.expect) if options.expect else None


def expected_of(name: str) -> Expected:
    """What a fabric must show, of which nothing but its name is known."""
    if name not in FABRICS:
        near = nearest(name, FABRICS)
        hint = f"did you mean {near}?" if near else f"there are {', '.join(FABRICS)}"
        raise UserError(f"--expect: there is no fabric {name}", hint=hint)
    return prove(parse_spec(f"name: here\nmodel: {{source: demo:smollm2}}\nfabric: {{type: {name}}}\n", file="-"))


def _cluster(options: Options, expected: Expected) -> Report:
    from raygang.runtime.fabric import probe

    nodes = options.nodes or 1
    with connected(options.address or AUTO):
        return probe.cluster(expected, nodes, nodes * (options.ranks_per_node or 1), options.root)


def _everything(found: list[Usable], report: Report, options: Options) -> int:
    """What could be used here, and the facts."""
    if options.form == "json":
        fabrics = [{"fabric": one.fabric, "usable": not one.missing, "missing": list(one.missing)} for one in found]
        write(
            json.dumps({"fabrics": fabrics, "report": report.model_dump(mode="json")}, indent=2) + "\n", options.output
        )
        return 0
    if options.form != "text" or options.output:
        return show(report, options.form, options.output)
    table = Table(box=None, pad_edge=False, header_style="dim")
    for name in ("fabric", "here", "what is missing"):
        table.add_column(name)
    for one in found:
        answer = Text("no", style="red") if one.missing else Text("could be used", style="green")
        table.add_row(one.fabric, answer, Text(visible("".join(one.missing[:1]))))
    out.print(table)
    out.print(facts(report))
    return 0
