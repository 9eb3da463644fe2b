"""The argument names of the vLLM that is installed, read without importing it (an import takes 5-10 s)."""

from __future__ import annotations

import ast
from importlib.util import find_spec
from pathlib import Path

from raygang.spec._document import Document
from raygang.spec._errors import Problem
from raygang.spec._typos import nearest
from raygang.spec.model import Spec

# vLLM 0.32 keeps them as dataclass fields, and those of its API server beside them.
SOURCES = {
    "engine/arg_utils.py": ("EngineArgs", "AsyncEngineArgs"),
    "entrypoints/launchers/cli_args.py": ("BaseFrontendArgs", "FrontendArgs"),
}


def engine_arg_names() -> frozenset[str] | None:
    """Names of vLLM's arguments, None when vLLM is not installed or keeps them elsewhere."""
    found = find_spec("vllm")
    if found is None or not found.submodule_search_locations:
        return None
    root = Path(found.submodule_search_locations[0])
    names: set[str] = set()
    for file, classes in SOURCES.items():
        path = root / file
        if path.is_file():
            names |= _fields(path, classes)
    return frozenset(names) or None


def check_engine_args(spec: Spec) -> tuple[Problem, ...]:
    """A problem for each engine argument that the installed vLLM does not have; none when vLLM is not installed."""
    known = engine_arg_names()
    if known is None:
        return ()
    document = spec._document or Document.of_nothing()
    return tuple(
        document.problem(
            ("engine", "args", name), "the installed vLLM has no such argument", suggestion=nearest(name, known)
        )
        for name in spec.engine.args
        if name not in known
    )


def _fields(path: Path, classes: tuple[str, ...]) -> set[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    bodies = [n.body for n in tree.body if isinstance(n, ast.ClassDef) and n.name in classes]
    fields = (s for body in bodies for s in body if isinstance(s, ast.AnnAssign))
    return {s.target.id for s in fields if isinstance(s.target, ast.Name)}
