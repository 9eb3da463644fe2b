"""`raygang fabric auto`."""

from __future__ import annotations

import json
import sys

from rich.markup import escape

from raygang.cli._console import out
from raygang.cli._fabric_show import read_text
from raygang.fabric import Choice, choose
from raygang.fabric.view.words import visible
from raygang.hardware import Inventory
from raygang.manifest import Rendered, yaml_documents
from raygang.manifest.noted import Noted, split


def run(source: str, *, as_json: bool) -> None:
    """Print the section of a specification that fits the nodes of a cluster, and why."""
    text, name = read_text(source)
    choice = choose(Inventory.parse(text, file=name))
    if as_json:
        sys.stdout.write(json.dumps(facts(choice), indent=2) + "\n")
        return
    section, notes = split({"fabric": {entry.key: Noted(entry.value, entry.why) for entry in choice.fields}})
    out.print(yaml_documents(Rendered((section,), (notes,), ()))[0].rstrip(), markup=False)
    for entry in choice.missing:
        out.print(f"[yellow]still to write:[/] {entry.key}: {_safe(entry.value)} ({_safe(entry.why)})")
    for name, sentences in (("to look up", choice.check), ("also seen", choice.others)):
        for sentence in sentences:
            out.print(f"[yellow]{name}:[/] {_safe(sentence)}")
    if choice.lacking:
        out.print(f"[yellow]nodes without it:[/] {_safe(', '.join(choice.lacking))}")


def facts(choice: Choice) -> dict[str, object]:
    return {
        "fabric": {entry.key: entry.value for entry in choice.fields},
        "because": {entry.key: entry.why for entry in choice.fields},
        "missing": [{"field": entry.key, "what": entry.value, "why": entry.why} for entry in choice.missing],
        "check": list(choice.check),
        "others": list(choice.others),
        "lacking": list(choice.lacking),
    }


def _safe(text: object) -> str:
    """Names of nodes and resources are a cluster's, not ours."""
    return escape(visible(str(text)))
