"""KubeRay's own samples: no error in them but real faults, each with its reason."""

from __future__ import annotations

import shutil
import subprocess
from functools import cache
from pathlib import Path

import pytest

from raygang.lint import lint, sources

MODULE = "github.com/ray-project/kuberay/ray-operator"
VERSIONS = ("v1.5.0", "v1.6.0")
# file below config/samples: {code: why it is a real fault}
FAULTS: dict[str, dict[str, str]] = {}


@cache
def samples(version: str) -> Path | None:
    if shutil.which("go") is None:
        return None
    cache_of_go = subprocess.run(
        ["go", "env", "GOMODCACHE"], capture_output=True, text=True, check=False
    ).stdout.strip()
    found = Path(cache_of_go, f"{MODULE}@{version}", "config", "samples")
    return found if cache_of_go and found.is_dir() else None


def errors(path: Path) -> dict[str, str]:
    """One by one: the samples are alternatives of each other."""
    outcome = lint(sources([str(path)]))
    return {f.code: f"{f.path}: {f.what}" for f in outcome.findings if f.severity == "error"}


@pytest.mark.parametrize("version", VERSIONS)
def test_the_samples_have_no_error_but_these(version: str) -> None:
    directory = samples(version)
    if directory is None:
        pytest.skip(f"the Go module {MODULE}@{version} is not in the module cache (go mod download)")
    files = sorted(path for path in directory.rglob("*.yaml") if path.name != "kustomization.yaml")
    assert len(files) > 50
    found = {str(path.relative_to(directory)): errors(path) for path in files}
    unexpected = {
        name: {code: what for code, what in those.items() if code not in FAULTS.get(name, {})}
        for name, those in found.items()
    }
    assert {name: those for name, those in unexpected.items() if those} == {}
    if version == VERSIONS[0]:
        gone = {name: sorted(set(codes) - set(found.get(name, {}))) for name, codes in FAULTS.items()}
        assert {name: codes for name, codes in gone.items() if codes} == {}
