"""Where manifests come from: files, directories, standard input; and the objects in them, each with its places."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path as FilePath
from typing import Any

from raygang.lint._yaml import Place, Tree, Trouble, read
from raygang.objects import Manifest, Path, at

SUFFIXES = (".yaml", ".yml", ".json")
MAX_BYTES = 64 * 1024 * 1024
STDIN = "-"
_HELM_ACTION = re.compile(r"^\s*(?:-\s*)?\{\{|:\s*\{\{", re.MULTILINE)


@dataclass(frozen=True)
class Source:
    """A text and what it is called."""

    name: str
    text: str


@dataclass(frozen=True)
class Unreadable:
    """A file that could not be read, and why."""

    name: str
    why: str


@dataclass(frozen=True)
class Document:
    """An object of a text.

    Attributes:
        source: the text.
        tree: the YAML document that it is in.
        prefix: where it stands in that document: ("items", 2) in a List, () as a rule.
        manifest: the object; its index is that of the document in its bundle.
    """

    source: Source
    tree: Tree
    manifest: Manifest
    prefix: Path = ()

    def place(self, path: Path, *, key: bool = False) -> Place:
        """Where a field of the object stands."""
        return self.tree.place((*self.prefix, *path), key=key)

    def span(self, path: Path) -> tuple[int, int]:
        """First and last line of a field of the object."""
        return self.tree.span((*self.prefix, *path))


@dataclass
class Read:
    """A text's objects, and what is wrong with the text itself."""

    source: Source
    documents: list[Document] = field(default_factory=list)
    others: list[tuple[Place, str]] = field(default_factory=list)
    troubles: list[Trouble] = field(default_factory=list)
    duplicates: list[Trouble] = field(default_factory=list)


def sources(paths: list[str]) -> Iterator[Source | Unreadable]:
    """The texts of files, of the YAML and JSON files below directories, and of standard input."""
    for name in paths:
        if not name:
            yield Unreadable(name, "an empty path names no file")
        elif name == STDIN and sys.stdin is None:
            yield Unreadable("<stdin>", "standard input is closed")
        elif name == STDIN:
            yield _decoded("<stdin>", sys.stdin.buffer.read(MAX_BYTES + 1))
        elif FilePath(name).is_dir():
            found = sorted(_below(FilePath(name)))
            if not found:
                yield Unreadable(name, f"no file below it ends in {', '.join(SUFFIXES)}")
            for path in found:
                yield _file(path) if path.is_file() or path.is_symlink() else Unreadable(str(path), "is no file")
        else:
            yield _file(FilePath(name))


def parse(source: Source, first: int = 0) -> Read:
    """The objects of a text. `first`: the index of its first object in the bundle."""
    found = Read(source)
    for tree in read(source.text):
        if isinstance(tree, Trouble):
            found.troubles.append(_explained(source, tree))
            break
        found.duplicates += tree.duplicates
        for prefix, data in _objects(tree.data):
            if not isinstance(data, dict) or not (isinstance(data.get("kind"), str) and "apiVersion" in data):
                found.others.append((tree.place(prefix), _not_object(data)))
                continue
            manifest = Manifest(data, first + len(found.documents))
            found.documents.append(Document(source, tree, manifest, prefix))
    return found


def _below(directory: FilePath) -> Iterator[FilePath]:
    for folder, folders, files in os.walk(directory):
        folders[:] = sorted(f for f in folders if not f.startswith("."))
        for name in files:
            if name.lower().endswith(SUFFIXES) and not name.startswith("."):
                yield FilePath(folder, name)


def _file(path: FilePath) -> Source | Unreadable:
    try:
        if not path.is_file() and path.exists() and not path.is_fifo():
            return Unreadable(str(path), "is no ordinary file")
        with path.open("rb") as f:
            return _decoded(str(path), f.read(MAX_BYTES + 1))
    except OSError as e:
        return Unreadable(str(path), (e.strerror or str(e)).lower())


def _decoded(name: str, raw: bytes) -> Source | Unreadable:
    if len(raw) > MAX_BYTES:
        return Unreadable(name, f"is larger than {MAX_BYTES >> 20} MiB")
    encoding = "utf-16" if raw[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
    try:
        return Source(name, raw.decode(encoding))
    except UnicodeDecodeError as e:
        return Unreadable(name, f"is no text: byte {e.start} is not {encoding.upper().removesuffix('-SIG')}")


def _objects(data: Any) -> Iterator[tuple[Path, Any]]:
    """The document itself, or the items of a List; nothing of an empty document."""
    if data is None:
        return
    items = at(data, "items")
    if isinstance(items, list) and str(at(data, "kind")).endswith("List") and at(data, "apiVersion"):
        for index, item in enumerate(items):
            yield ("items", index), item
    else:
        yield (), data


def _not_object(data: Any) -> str:
    if not isinstance(data, dict):
        kind = {list: "a list", str: "a text", bool: "a yes or no"}.get(type(data), "a number")
        return f"is {kind}, not an object of Kubernetes"
    missing = [name for name in ("apiVersion", "kind") if not data.get(name)]
    return f"has no {' and no '.join(missing)}" if missing else "has a kind that is no text"


def _explained(source: Source, trouble: Trouble) -> Trouble:
    if _HELM_ACTION.search(source.text):
        what = f"{trouble.what}; this is a template of Helm: lint what `helm template` prints"
        return Trouble(trouble.place, what)
    return trouble
