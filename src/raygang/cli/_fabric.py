"""`raygang fabric` and its commands' options. Each imports what it needs when it runs."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

fabric = typer.Typer(name="fabric", help="The network between ranks: check it, and read checks.", no_args_is_help=True)


class ReportForm(StrEnum):
    """How a report is shown."""

    text = "text"
    json = "json"
    html = "html"
    svg = "svg"


class ObjectForm(StrEnum):
    """How `raygang fabric render` prints objects."""

    yaml = "yaml"
    json = "json"


class ChoiceForm(StrEnum):
    """How `raygang fabric auto` prints what fits."""

    text = "text"
    json = "json"


FormOption = Annotated[
    ReportForm,
    typer.Option("-o", "--format", help="text, json for programs, html for a page, svg for the picture of the links."),
]
TargetOption = Annotated[Path | None, typer.Option("--output", metavar="PATH", help="Write it there.")]


@fabric.command()
def show(
    source: Annotated[str, typer.Argument(metavar="FILE", help="A report, or a log with one; - for standard input.")],
    form: FormOption = ReportForm.text,
    output: TargetOption = None,
) -> None:
    """Show the report of a check: the verdict, its first cause, ranks, links. Exit code 1 when it failed."""
    from raygang.cli._fabric_show import read, show

    raise typer.Exit(show(read(source), form.value, output))


@fabric.command()
def probe(
    local: Annotated[bool, typer.Option("--local", help="This machine alone, without Ray.")] = False,
    expect: Annotated[str | None, typer.Option(metavar="FABRIC", help="The fabric that must be usable.")] = None,
    spec: Annotated[
        str | None, typer.Option(metavar="SPEC", help="The specification whose fabric must be usable.")
    ] = None,
    address: Annotated[
        str | None, typer.Option(metavar="ADDRESS", help="Of the Ray cluster; the running one by default.")
    ] = None,
    nodes: Annotated[int | None, typer.Option(min=1, help="Nodes of the Ray cluster that are checked.")] = None,
    ranks_per_node: Annotated[int | None, typer.Option(min=1, help="Ranks of each node, one for each GPU.")] = None,
    root: Annotated[Path, typer.Option(metavar="DIR", help="Where sys and dev are; a host's that is mounted.")] = Path(
        "/"
    ),
    form: FormOption = ReportForm.text,
    output: TargetOption = None,
) -> None:
    """Check this machine, or the nodes of a running Ray cluster that serves nothing."""
    from raygang.cli._fabric_probe import Options, run

    options = Options(local, expect, spec, address, nodes, ranks_per_node, root, form.value, output)
    raise typer.Exit(run(options))


@fabric.command()
def render(
    spec: Annotated[str, typer.Argument(metavar="SPEC", help="The specification; - for standard input.")],
    form: Annotated[ObjectForm, typer.Option("-o", "--format", help="yaml with comments, or json.")] = ObjectForm.yaml,
) -> None:
    """Print the Kubernetes objects of a check alone: the pods of SPEC's gang, without model and engine."""
    from raygang.cli._fabric_render import run

    run(spec, as_json=form == ObjectForm.json)


@fabric.command()
def auto(
    nodes: Annotated[
        str, typer.Option(metavar="FILE", help="What `kubectl get nodes -o json` prints; - for standard input.")
    ],
    form: Annotated[ChoiceForm, typer.Option("-o", "--format", help="text, or json for programs.")] = ChoiceForm.text,
) -> None:
    """Print which fabric the nodes of a cluster have, as a section of a specification, and why."""
    from raygang.cli._fabric_auto import run

    run(nodes, as_json=form == ChoiceForm.json)
