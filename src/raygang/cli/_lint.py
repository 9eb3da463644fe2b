"""`raygang lint`."""

from __future__ import annotations

import contextlib
import gc
import io
import os
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from raygang import __version__
from raygang.cli._choice import wanted
from raygang.cli._console import out, print_error
from raygang.cli._lint_known import Known, known
from raygang.lint import Outcome, Source, Unreadable, rule_of, sources
from raygang.lint.model import ORDER, Severity
from raygang.lint.report import github_report, json_report, sarif_report, text_report
from raygang.lint.report.words import visible
from raygang.spec import UserError

FORMS: dict[str, Callable[[Outcome], str]] = {
    "json": json_report,
    "sarif": partial(sarif_report, version=__version__),
    "github": github_report,
}


@dataclass(frozen=True)
class Options:
    """What was asked for on the command line."""

    paths: tuple[str, ...]
    scheduler: str | None = None
    kuberay: str | None = None
    kubernetes: str | None = None
    kubeconfig_context: str | None = None
    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    fail_on: Severity = "error"
    output: str = "text"
    fix: bool = False
    write: bool = False


@dataclass(frozen=True)
class Linted:
    """An outcome, the texts that it is of, and what was named on the command line and could not be read."""

    outcome: Outcome
    sources: tuple[Source, ...]
    missed: tuple[Unreadable, ...]


def run(options: Options) -> int:
    """The exit code: 0 clean, 1 findings at or above `fail_on`, 2 a named file could not be read."""
    _check(options)
    gc.disable()  # trees of nodes without cycles in a process that ends soon: looking for garbage is half of the time
    how = known(
        wanted(options.select, options.ignore),
        scheduler=options.scheduler,
        kuberay=options.kuberay,
        kubernetes=options.kubernetes,
        kubeconfig_context=options.kubeconfig_context,
    )
    linted = run_lint(options.paths, how)
    if options.fix:
        return _fix(options, linted, how)
    show(linted, options.output)
    if options.output != "text" or not how.wanted(rule_of("unreadable").code):  # else it is among the findings
        for text in linted.missed:
            print_error(UserError(f"{visible(text.name) or repr(text.name)}: {text.why}"))
    return exit_code(linted, options.fail_on)


def _check(options: Options) -> None:
    if options.write and not options.fix:
        raise UserError("--write: goes with --fix", hint="raygang lint --fix --write PATHS")
    if options.fix and options.output != "text" and (not options.write or "-" in options.paths):
        raise UserError(
            f"--fix -o {options.output}: standard output is taken by what is mended",
            hint=f"--fix --write -o {options.output} of files reports what remains",
        )


def _fix(options: Options, linted: Linted, how: Known) -> int:
    """The exit code of what remains; 1 too where something can be mended and was not written."""
    from raygang.cli._lint_fix import fix_command

    unread = [Unreadable(f.file, f.what) for f in linted.outcome.findings if f.name == "unreadable"]
    outcome, mended = fix_command([*linted.sources, *unread], how, write=options.write)
    remains = Linted(outcome, tuple(Source(one.name, one.new) for one in mended), linted.missed)
    with contextlib.nullcontext() if options.output != "text" else contextlib.redirect_stdout(sys.stderr):
        show(remains, options.output)
    unwritten = not options.write and any(one.new != one.old for one in mended)
    return exit_code(remains, options.fail_on) or int(unwritten)


def run_lint(paths: Iterable[str], how: Known) -> Linted:
    """Lint files, directories and standard input as one bundle; each file once, however often it is named."""
    named = list(paths)
    texts: dict[str, Source | Unreadable] = {}
    for text in sources(named):
        texts.setdefault(os.path.realpath(text.name), text)
    read = tuple(text for text in texts.values() if isinstance(text, Source))
    given = {"<stdin>", *(str(Path(name)) for name in named), *named}
    missed = tuple(text for text in texts.values() if isinstance(text, Unreadable) and text.name in given)
    return Linted(how.lint(texts.values()), read, missed)


def show(linted: Linted, output: str) -> None:
    """Print the report in a form: text, or one of FORMS."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # a manifest may hold what the terminal's encoding has not
    if output in FORMS:
        sys.stdout.write(FORMS[output](linted.outcome))
    elif out.is_terminal:
        for line in text_report(linted.outcome, linted.sources):
            out.print(line)
    else:
        sys.stdout.writelines(f"{line.plain}\n" for line in text_report(linted.outcome, linted.sources))


def exit_code(linted: Linted, fail_on: Severity) -> int:
    """0 clean, 1 findings at or above a severity, 2 something that was named could not be read."""
    if linted.missed:
        return 2
    worst = linted.outcome.worst()
    return 1 if worst is not None and ORDER.index(worst) <= ORDER.index(fail_on) else 0
