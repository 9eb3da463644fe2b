"""On Kubernetes the runtime is a zip in a ConfigMap; there it has nothing but Ray, vLLM and itself."""

import io
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import raygang.runtime

PACKAGE = Path(raygang.runtime.__file__).parent
CONFIG_MAP_LIMIT = 500 * 1024


def packed() -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as z:
        z.writestr("raygang/__init__.py", "")
        for path in sorted(PACKAGE.rglob("*.py")):
            z.write(path, Path("raygang/runtime") / path.relative_to(PACKAGE))
    return buffer.getvalue()


def test_fits_a_config_map() -> None:
    assert len(packed()) < CONFIG_MAP_LIMIT


def test_builds_the_application_from_a_zip(tmp_path: Path) -> None:
    pytest.importorskip("ray")
    archive = tmp_path / "runtime.zip"
    archive.write_bytes(packed())
    code = (
        f"import sys; sys.path.insert(0, {str(archive)!r})\n"
        "from raygang.runtime.app import build\n"
        "import raygang; assert 'runtime.zip' in raygang.__file__, raygang.__file__\n"
        "build({'served_name': 'm', 'model_path': '/m', 'gang': {'pipeline': 2, 'nodes': 2}})\n"
        "heavy = [m for m in ('vllm', 'torch', 'ray.llm') if m in sys.modules]; assert not heavy, heavy\n"
    )
    subprocess.run([sys.executable, "-S", "-c", f"import site; site.main()\n{code}"], check=True, timeout=60)
