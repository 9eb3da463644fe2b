"""Transcripts of the documentation: what a page shows is what the command prints.

python -m tests.docs.transcripts    writes them anew, with the output of today

A block ```yaml title="NAME"``` is a file NAME. A ```console block has one command, run where those files are, and
behind it what it prints, standard error included; a line `...` stands for any number of lines.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from tests.support.cli import COMMAND

DOCS = Path(__file__).parents[2] / "docs"
PAGES = ("seed.md", "render.md", "fabric.md")
REPORT = "fabric-report.log"  # the example of a network check; python -m tests.fabric.reports writes it
GAP = "..."
_BLOCK = re.compile(r'^```(\w+)(?: title="([^"]+)")?\n(.*?)^```$', re.MULTILINE | re.DOTALL)
# What the model directories of the pages hold: the shape of Llama 3.3 70B, without its weights.
MODEL = {
    "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 8192, "intermediate_size": 28672,
    "num_hidden_layers": 80, "num_attention_heads": 64, "num_key_value_heads": 8, "vocab_size": 128256,
    "torch_dtype": "bfloat16", "max_position_embeddings": 131072,
}  # fmt: skip


@dataclass(frozen=True)
class Transcript:
    """A command, what the page says that it prints, and where in the page that stands."""

    command: str
    shown: str
    start: int
    end: int


def files(text: str) -> dict[str, str]:
    """The files of a page: name -> text."""
    return {m[2]: m[3] for m in _BLOCK.finditer(text) if m[2]}


def transcripts(text: str) -> list[Transcript]:
    """The commands of a page that are raygang's."""
    found = []
    for block in _BLOCK.finditer(text):
        command, _, shown = block[3].partition("\n")
        if block[1] == "console" and command.startswith("$ raygang ") and shown:
            start = block.start(3) + len(command) + 1
            found.append(Transcript(command.removeprefix("$ "), shown, start, block.end(3)))
    return found


def lay_out(text: str, directory: Path) -> None:
    """Write a page's files, the model that its specifications name, and the report of a network check."""
    for name, content in files(text).items():
        (directory / name).write_text(content)
    (directory / REPORT).write_text((DOCS / REPORT).read_text())
    model = directory / "models" / "llama-3.3-70b"
    model.mkdir(parents=True)
    (model / "config.json").write_text(json.dumps(MODEL))


def output(command: str, directory: Path) -> str:
    """What a command prints there, with `raygang` standing for this checkout's."""
    program = " ".join(COMMAND)
    done = subprocess.run(
        ["bash", "-c", re.sub(r"(^|[|&] *)raygang\b", rf"\1{program}", command)],
        cwd=directory,
        env={**os.environ, "PYTHONPATH": str(DOCS.parent), "COLUMNS": "120"},
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=120,
        check=False,
    )
    return "".join(f"{line.rstrip()}\n" for line in done.stdout.splitlines())


def agrees(shown: str, real: str) -> bool:
    """Whether the output is what is shown, with anything in the gaps."""
    parts = re.split(rf"^{re.escape(GAP)}\n", shown, flags=re.MULTILINE)
    return re.fullmatch(".*".join(map(re.escape, parts)), real, re.DOTALL) is not None


def renew(text: str) -> str:
    """The page with the output of today; what has gaps and still agrees stays."""
    with tempfile.TemporaryDirectory() as name:
        lay_out(text, Path(name))
        changes = [(one, output(one.command, Path(name))) for one in transcripts(text)]
    for one, real in reversed(changes):
        if not agrees(one.shown, real):
            text = text[: one.start] + real + text[one.end :]
    return text


def main() -> None:
    for page in PAGES:
        path = DOCS / page
        path.write_text(renew(path.read_text()))
        sys.stdout.write(f"{path}\n")


if __name__ == "__main__":
    main()
