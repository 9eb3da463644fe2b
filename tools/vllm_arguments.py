"""Writes src/raygang/lint/data/vllm.json: engine arguments and environment variables, from vLLM's sources.

    tools/vllm_arguments.py 0.32.0 .venv/lib/python3.11/site-packages/vllm > src/raygang/lint/data/vllm.json

Nothing of vLLM is imported: its sources are parsed, so that any version can be read anywhere.
"""

from __future__ import annotations

import ast
import json
import sys
from collections.abc import Iterator
from pathlib import Path

ENGINE = "engine/arg_utils.py"
FRONTEND = "entrypoints/launchers/cli_args.py"
VARIABLES = "envs.py"
CHOICES = {  # where the words that an argument takes are listed
    "ModelDType": "config/model.py",
    "CacheDType": "config/cache.py",
    "TokenizerMode": "config/model.py",
    "SchedulerPolicy": "config/scheduler.py",
    "DataParallelBackend": "config/parallel.py",
    "QuantizationMethods": "model_executor/layers/quantization/__init__.py",
    "LoadFormats": "model_executor/model_loader/__init__.py",
}


def main(version: str, package: str) -> None:
    root = Path(package)
    words = {name: _words(root / file, name) for name, file in CHOICES.items()}
    engine = _fields(root / ENGINE, ("EngineArgs", "AsyncEngineArgs"))
    frontend = _fields(root / FRONTEND, ("BaseFrontendArgs", "FrontendArgs"))
    table = {
        "made_from": f"vLLM {version}: {ENGINE}, {FRONTEND}, {VARIABLES}, {', '.join(sorted(set(CHOICES.values())))}",
        "made_by": "tools/vllm_arguments.py",
        "version": version,
        "engine": {name: _kind(node, words) for name, node in sorted(engine.items())},
        "frontend": sorted(frontend),
        "choices": words,
        "variables": _variables(root / VARIABLES),
    }
    print(json.dumps(table, indent=1))


def _tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


def _fields(path: Path, classes: tuple[str, ...]) -> dict[str, ast.expr]:
    """The annotated fields of dataclasses."""
    return {
        item.target.id: item.annotation
        for node in _tree(path).body
        if isinstance(node, ast.ClassDef) and node.name in classes
        for item in node.body
        if isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name) and not item.target.id.startswith("_")
    }


def _kind(annotation: ast.expr, words: dict[str, list[str]]) -> str:
    """int, float, bool, str, the name of a list of words, or any; with a ? where None is allowed."""
    parts = [ast.unparse(part) for part in _alternatives(annotation)]
    optional = "?" if "None" in parts else ""
    parts = [part for part in parts if part != "None"]
    if len(parts) == 1 and (parts[0] in ("int", "float", "bool", "str") or parts[0] in words):
        return parts[0] + optional
    return "any"


def _alternatives(annotation: ast.expr) -> Iterator[ast.expr]:
    if isinstance(annotation, ast.BinOp):
        yield from _alternatives(annotation.left)
        yield from _alternatives(annotation.right)
    else:
        yield annotation


def _words(path: Path, name: str) -> list[str]:
    for node in _tree(path).body:
        if isinstance(node, ast.Assign) and [ast.unparse(target) for target in node.targets] == [name]:
            return [item.value for item in ast.walk(node.value) if isinstance(item, ast.Constant)]
    raise SystemExit(f"{path} has no {name}")


def _variables(path: Path) -> list[str]:
    for node in _tree(path).body:
        if isinstance(node, ast.AnnAssign) and ast.unparse(node.target) == "environment_variables":
            assert isinstance(node.value, ast.Dict)
            return sorted(key.value for key in node.value.keys if isinstance(key, ast.Constant))
    raise SystemExit(f"{path} has no environment_variables")


if __name__ == "__main__":
    main(*sys.argv[1:])
