"""The commands and their options. Each imports what it needs when it runs, so that `--help` is instant."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from raygang.cli._fabric import fabric

app = typer.Typer(
    name="raygang",
    help="One spec to a multi-node OpenAI endpoint on Ray Serve and vLLM.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
local = typer.Typer(name="local", help="Runs of this machine that were started with --detach.", no_args_is_help=True)
app.add_typer(local)
app.add_typer(fabric)


class Output(StrEnum):
    """How a command prints its result."""

    text = "text"
    json = "json"


class RenderFormat(StrEnum):
    """How `raygang render` prints objects."""

    yaml = "yaml"
    json = "json"


class LintOutput(StrEnum):
    """How `raygang lint` prints what it finds."""

    text = "text"
    json = "json"
    sarif = "sarif"
    github = "github"


class FailOn(StrEnum):
    """The severity from which on findings are a failure."""

    error = "error"
    warning = "warning"
    info = "info"


SpecArgument = Annotated[
    str, typer.Argument(metavar="SPEC", help="The specification, a YAML file; - for standard input.")
]
OutputOption = Annotated[Output, typer.Option("-o", "--output", help="text, or json for programs.")]
Verbose = Annotated[int, typer.Option("-v", "--verbose", count=True, help="Tell more; twice, tell everything.")]


def _version(wanted: bool) -> None:
    if wanted:
        from raygang import __version__

        typer.echo(f"raygang {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    pass


@app.command()
def run(
    spec: SpecArgument,
    port: Annotated[int, typer.Option(min=1, max=65535, help="Port of the OpenAI API.")] = 8000,
    host: Annotated[
        str, typer.Option(help="Address of the OpenAI API; 0.0.0.0 opens it to the network.")
    ] = "127.0.0.1",
    ask: Annotated[list[str] | None, typer.Option(help="Ask this when it is ready; may be repeated.")] = None,
    once: Annotated[
        bool, typer.Option("--once", help="End after it was ready and the questions were answered.")
    ] = False,
    detach: Annotated[bool, typer.Option("--detach", help="Go on in the background; see `raygang local`.")] = False,
    dashboard: Annotated[bool, typer.Option("--dashboard", help="Start Ray's dashboard too.")] = False,
    output: OutputOption = Output.text,
    verbose: Verbose = 0,
) -> None:
    """Serve SPEC on this machine: real Ray nodes, real vLLM, an OpenAI API."""
    from raygang.cli._console import set_verbosity
    from raygang.cli._run import Options, run

    set_verbosity(verbose)
    options = Options(spec, host, port, tuple(ask or ()), once, dashboard, output == Output.json)
    raise typer.Exit(run(options, detach=detach))


@app.command()
def plan(spec: SpecArgument, output: OutputOption = Output.text, verbose: Verbose = 0) -> None:
    """Show the shape of SPEC's gang and the memory of each rank, from the checkpoint."""
    from raygang.cli._console import set_verbosity
    from raygang.cli._plan import show

    set_verbosity(verbose)
    show(spec, as_json=output == Output.json)


@app.command()
def render(
    spec: SpecArgument,
    target: Annotated[
        str, typer.Option("-o", "--output", metavar="DIR", help="A directory to write into; - prints all of it.")
    ] = "-",
    form: Annotated[RenderFormat, typer.Option("--format", help="yaml with comments, or json.")] = RenderFormat.yaml,
    verbose: Verbose = 0,
) -> None:
    """Print SPEC's Kubernetes objects: a RayService for each replica, its gang, and what stands around them."""
    from raygang.cli._console import set_verbosity
    from raygang.cli._render import run

    set_verbosity(verbose)
    run(spec, target, as_json=form == RenderFormat.json)


@app.command()
def schema() -> None:
    """Print the JSON schema of a specification, for editors."""
    import json

    from raygang.spec import json_schema

    typer.echo(json.dumps(json_schema(), indent=2))


@app.command()
def lint(
    paths: Annotated[
        list[str], typer.Argument(metavar="PATHS", help="Manifests: files, directories, - for standard input.")
    ],
    scheduler: Annotated[
        str | None, typer.Option(metavar="NAME", help="The gang scheduler of the cluster; none when it has none.")
    ] = None,
    kuberay: Annotated[str | None, typer.Option(metavar="VERSION", help="The cluster's KubeRay.")] = None,
    kubernetes: Annotated[str | None, typer.Option(metavar="VERSION", help="The cluster's Kubernetes.")] = None,
    context: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="Ask the cluster of this kubeconfig context what the options above do not say."
        ),
    ] = None,
    select: Annotated[
        list[str] | None,
        typer.Option(metavar="RULES", help="Only these: codes, names, topics (GANG); with commas, or repeated."),
    ] = None,
    ignore: Annotated[list[str] | None, typer.Option(metavar="RULES", help="Not these; likewise.")] = None,
    fail_on: Annotated[FailOn, typer.Option(help="The least severity that makes the exit code 1.")] = FailOn.error,
    output: Annotated[
        LintOutput, typer.Option("-o", "--output", help="For people, for programs, or for code scanning.")
    ] = LintOutput.text,
    fix: Annotated[
        bool, typer.Option("--fix", help="Show the diff that mends what is certain, and what remains.")
    ] = False,
    write: Annotated[
        bool, typer.Option("--write", help="With --fix: write the files; standard input goes to standard output.")
    ] = False,
) -> None:
    """Find what is wrong with Ray manifests, also those that raygang did not write."""
    from raygang.cli._lint import Options, run

    options = Options(
        tuple(paths), scheduler, kuberay, kubernetes, context, tuple(select or ()), tuple(ignore or ()),
        fail_on.value, output.value, fix, write,
    )  # fmt: skip
    raise typer.Exit(run(options))


@app.command()
def rule(code: Annotated[str, typer.Argument(metavar="RULE", help="Its code or its name.")]) -> None:
    """Explain a rule of the linter: what it finds, why, and what to write instead."""
    from raygang.cli._rule import show

    show(code)


@app.command()
def rules(output: OutputOption = Output.text) -> None:
    """List the rules of the linter, by topic."""
    from raygang.cli._rule import show_all

    show_all(as_json=output == Output.json)


@local.command("status")
def local_status(output: OutputOption = Output.text) -> None:
    """What runs here: endpoint, health, nodes, memory."""
    from raygang.cli._local import status

    raise typer.Exit(status(as_json=output == Output.json))


@local.command("stop")
def local_stop(
    name: Annotated[str | None, typer.Argument(help="The run's name; not needed when there is one.")] = None,
) -> None:
    """End a run and everything that it started."""
    from raygang.cli._local import stop

    stop(name)
