"""Objects as files of a directory, a file for each, with a kustomization that lists them."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

from raygang.manifest.emit import to_yaml, yaml_documents
from raygang.manifest.model import Rendered
from raygang.spec import UserError

_MARK = "# Written by `raygang render`"
_KUSTOMIZATION = "kustomization.yaml"


def write_directory(directory: Path, rendered: Rendered) -> list[str]:
    """Make a directory hold the objects and nothing of an earlier rendering; says what it did, a line for each file.

    Files with equal contents stay untouched.

    Raises:
        UserError: it has a file of one of the names that raygang did not write; then nothing is written.
        OSError: it cannot be written.
    """
    wanted = dict(_files(rendered))
    earlier = _earlier(directory)
    for name in wanted:
        path = directory / name
        if path.exists() and name not in earlier:
            raise UserError(
                f"{path}: was not written by raygang", hint="name a directory of its own, or move the file away"
            )
    directory.mkdir(parents=True, exist_ok=True)
    changes = []
    for name, text in wanted.items():
        before = earlier.get(name)
        if before != text:
            _replace(directory / name, text)
            changes.append(f"{'changed' if before is not None else 'written'} {directory / name}")
    for name in sorted(set(earlier) - set(wanted)):
        (directory / name).unlink()
        changes.append(f"removed {directory / name}")
    return changes


def _files(rendered: Rendered) -> Iterator[tuple[str, str]]:
    kinds = list(dict.fromkeys(str(obj["kind"]) for obj in rendered.objects))
    names = []
    for obj, text in zip(rendered.objects, yaml_documents(rendered), strict=True):
        kind = obj["kind"]
        name = f"{kinds.index(kind):02}-{kind.lower()}-{obj['metadata']['name']}.yaml"
        names.append(name)
        yield name, f"{_MARK}; edit the specification instead.\n{text}"
    needs = "".join(f"# needs: {need}\n" for need in rendered.needs)
    listed = {"apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Kustomization", "resources": names}
    yield _KUSTOMIZATION, f"{_MARK}; edit the specification instead.\n{needs}{to_yaml(listed)}"


def _earlier(directory: Path) -> dict[str, str]:
    """The files of an earlier rendering, by name."""
    found = {}
    for path in sorted(directory.glob("*.yaml")) if directory.is_dir() else ():
        text = path.read_text(encoding="utf-8", errors="replace")
        if text.startswith(_MARK):
            found[path.name] = text
    return found


def _replace(path: Path, text: str) -> None:
    """Whole or not at all."""
    with tempfile.NamedTemporaryFile(
        "w", encoding="utf-8", dir=path.parent, prefix=f".{path.name}.", delete=False
    ) as f:
        f.write(text)
    umask = os.umask(0)
    os.umask(umask)
    Path(f.name).chmod(0o666 & ~umask)
    Path(f.name).replace(path)
