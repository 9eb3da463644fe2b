"""The runtime as a zip file in a ConfigMap: pods put it on Python's path, and no image has to be built."""

from __future__ import annotations

import base64
import hashlib
import io
import zipfile
from dataclasses import dataclass
from importlib.metadata import version
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any

from raygang.manifest.names import metadata
from raygang.plan import Plan

FILE = "raygang-runtime.zip"
MOUNT = "/opt/raygang"
PATH = f"{MOUNT}/{FILE}"
MAX_BYTES = 500 * 1024  # a ConfigMap takes 1 MiB; base64 and kubectl's annotation want their part
_EPOCH = (1980, 1, 1, 0, 0, 0)  # the earliest that a zip file knows: equal contents give equal bytes
_ENTRY_POINTS = """[vllm.platform_plugins]
raygang_cpu = raygang.runtime.plugin:cpu_platform

[vllm.general_plugins]
raygang = raygang.runtime.plugin:general
"""


@dataclass(frozen=True)
class Archive:
    """The zip file's bytes, and a name that changes with them."""

    data: bytes

    @property
    def digest(self) -> str:
        """Ten hexadecimal digits."""
        return hashlib.sha256(self.data).hexdigest()[:10]


def archive() -> Archive:
    """The package `raygang.runtime` and its entry points for vLLM, as Python imports them from a zip file."""
    root = files("raygang")
    found = {"raygang/__init__.py": root.joinpath("__init__.py").read_bytes()}
    found |= dict(_modules(root.joinpath("runtime"), "raygang/runtime"))
    number = version("raygang")
    info = f"raygang-{number}.dist-info"
    found[f"{info}/METADATA"] = f"Metadata-Version: 2.1\nName: raygang\nVersion: {number}\n".encode()
    found[f"{info}/entry_points.txt"] = _ENTRY_POINTS.encode()
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as target:
        for name in sorted(found):
            target.writestr(zipfile.ZipInfo(name, _EPOCH), found[name], zipfile.ZIP_DEFLATED, 9)
    return Archive(buffer.getvalue())


def config_map(plan: Plan, runtime: Archive) -> dict[str, Any]:
    """The ConfigMap; its name has the digest, so that pods never see a runtime change under them."""
    data = base64.b64encode(runtime.data).decode()
    meta = metadata(plan, config_map_name(plan, runtime))
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "immutable": True, "binaryData": {FILE: data}}


def config_map_name(plan: Plan, runtime: Archive) -> str:
    """The ConfigMap's name."""
    return f"{plan.spec.name}-runtime-{runtime.digest}"


def _modules(folder: Traversable, prefix: str) -> list[tuple[str, bytes]]:
    found = []
    for entry in folder.iterdir():
        if entry.is_dir() and entry.name != "__pycache__":
            found += _modules(entry, f"{prefix}/{entry.name}")
        elif entry.name.endswith(".py"):
            found.append((f"{prefix}/{entry.name}", entry.read_bytes()))
    return found
