"""`raygang lint --fix`: the diff of what is certain, and with --write the files.

Standard output has nothing but the diff (`| git apply`), or with --write the mended text of standard input; what was
done and what remains goes to standard error.
"""

from __future__ import annotations

import contextlib
import difflib
import os
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from rich.text import Text

from raygang.cli._console import err, out
from raygang.cli._lint_known import Known
from raygang.lint import Outcome, Source, Unreadable
from raygang.lint._edits_write import write as write_file
from raygang.lint.fix import Fixed

STDIN = "<stdin>"
_COLOURS = (("---", "bold"), ("+++", "bold"), ("@@", "cyan"), ("-", "red"), ("+", "green"))
_LINES = re.compile(r"[^\n]*\n|[^\n]+")


def fix_command(texts: Sequence[Source | Unreadable], how: Known, *, write: bool) -> tuple[Outcome, list[Fixed]]:
    """Show or write what can be mended. Gives what would remain, and what became of each text.

    Raises:
        UserError: a file cannot be written, or has changed since it was read.
    """
    mended = how.fix(texts)
    for one in mended:
        if write and one.name == STDIN:
            _plain(one.new)
        elif one.new != one.old and write:
            write_file(one.name, one.old, one.new)
        elif one.new != one.old:
            _show(diff(one))
    _say(mended, write=write)
    after = [Source(one.name, one.new) for one in mended]
    missed = [text for text in texts if isinstance(text, Unreadable)]
    return how.lint([*after, *missed]), mended


def diff(one: Fixed) -> Iterator[str]:
    """A unified diff, line by line, with the ends that the lines have."""
    old, new = _LINES.findall(one.old), _LINES.findall(one.new)
    name = "stdin" if one.name == STDIN else os.path.relpath(one.name)
    # A path that leads up would lose its first part in `git apply`, and name another file.
    outside = str(Path.cwd() / one.name)
    names = (outside, outside) if name.startswith("..") else (f"a/{name}", f"b/{name}")
    for line in difflib.unified_diff(old, new, *names):
        yield line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"


def _show(lines: Iterable[str]) -> None:
    if not out.is_terminal:
        _plain("".join(lines))
        return
    for line in lines:
        style = next((style for start, style in _COLOURS if line.startswith(start)), "")
        out.print(Text(line.rstrip("\r\n"), style))


def _plain(text: str) -> None:
    """A text as it is: the terminal's encoding and ends of lines would change it."""
    sys.stdout.flush()
    raw = text.encode()
    with contextlib.suppress(AttributeError):
        sys.stdout.buffer.write(raw)
        sys.stdout.buffer.flush()
        return
    sys.stdout.write(text)


def _say(mended: Sequence[Fixed], *, write: bool) -> None:
    done = [one for one in mended if one.new != one.old]
    for one in done:
        what = f"{len(one.fixed)} finding{'' if len(one.fixed) == 1 else 's'}"
        codes = ", ".join(sorted({finding.code for finding in one.fixed}))
        err.print(Text(f"{one.name}: {what} {'fixed' if write else 'can be fixed'} ({codes})"))
    for finding, why in (refusal for one in mended for refusal in one.refused):
        err.print(Text(f"{finding.file}:{finding.line}: {finding.code} was not fixed: {why}"))
    if done and not write:
        err.print(Text("nothing was written; --write writes it"))
    if not done:
        err.print(Text("nothing to fix"))
