"""The house itself: layers, size of things, the picture, the words of the documentation."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def run(*command: str, **options: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, cwd=ROOT, text=True, capture_output=True, timeout=120, check=False)


def test_each_room_imports_only_the_rooms_below_it() -> None:
    done = run(str(Path(sys.executable).with_name("lint-imports")), "--no-logo")
    assert done.returncode == 0, done.stdout


def test_the_picture_shows_the_layers_that_are_enforced() -> None:
    assert run(sys.executable, "tools/house.py", "--check").returncode == 0, "python tools/house.py"


def test_every_dependency_says_why_it_is_there() -> None:
    text = (ROOT / "pyproject.toml").read_text()
    project = tomllib.loads(text)
    groups = [*project["project"]["optional-dependencies"].values(), *project["dependency-groups"].values()]
    wanted = {d for group in [project["project"]["dependencies"], *groups] for d in group}
    explained = set(re.findall(r'^  "(.+?)",\s+# .+', text, re.MULTILINE))
    assert wanted - explained == set()


@pytest.mark.parametrize("extra", ["cpu", "gpu"])
def test_the_lock_pins_what_the_project_asks_for_and_names_no_index(extra: str) -> None:
    text = (ROOT / "locks" / f"{extra}.txt").read_text()
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = [*project["dependencies"], *project["optional-dependencies"][extra]]
    locked = set(re.findall(r"^([a-z0-9-]+)==", text, re.MULTILINE))
    assert {re.split(r"[\[<>=]", w)[0].replace(".", "-") for w in wanted} <= locked
    assert "://" not in text


def test_help_imports_nothing_heavy() -> None:
    code = (
        "import sys; sys.argv = ['raygang', '--help']\n"
        "from raygang.cli import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "heavy = {'pydantic', 'httpx', 'ray', 'vllm', 'torch', 'psutil', 'ruamel', 'huggingface_hub'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    done = run(sys.executable, "-c", code)
    assert done.returncode == 0, done.stderr


def test_links_between_documents_lead_somewhere() -> None:
    broken = []
    for page in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md")]:
        for target in re.findall(r"\]\(([^)#:]+)[^)]*\)", page.read_text()):
            if not (page.parent / target).exists():
                broken.append(f"{page.name}: {target}")
    assert broken == []
