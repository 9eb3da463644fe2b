"""`raygang lint`, `raygang rule` and `raygang rules`, run as a user runs them."""

import json
import os
import re
import subprocess
from pathlib import Path

import pytest

from raygang.lint import RULES
from tests.support.cli import COMMAND, raygang

ROOT = Path(__file__).parents[2]
CLEAN = "apiVersion: v1\nkind: ServiceAccount\nmetadata:\n  name: x\n"
WARNING = "# nothing\n"  # empty-file
ERROR = "metadata:\n  name: x\n"  # not-an-object
CLUSTER = """\
apiVersion: ray.io/v1
kind: RayCluster
metadata:
  name: llama
spec:
  rayVersion: 2.60.0
  headGroupSpec:
    rayStartParams: {}
    template:
      spec:
        schedulerName: volcano
        containers:
        - name: ray-head
          image: rayproject/ray:2.60.0-py311-cpu
"""


@pytest.fixture
def manifests(tmp_path: Path) -> Path:
    for name, text in {"clean": CLEAN, "warning": WARNING, "error": ERROR, "cluster": CLUSTER}.items():
        (tmp_path / f"{name}.yaml").write_text(text)
    return tmp_path


def lint(*arguments: str, cwd: Path, stdin: str | bytes = b"") -> subprocess.CompletedProcess[str]:
    given = stdin.encode() if isinstance(stdin, str) else stdin
    command = [*COMMAND, "lint", *arguments]
    done = subprocess.run(command, cwd=cwd, input=given, capture_output=True, timeout=60, check=False)
    assert b"Traceback" not in done.stderr, done.stderr
    return subprocess.CompletedProcess(command, done.returncode, done.stdout.decode(), done.stderr.decode())


def codes(*arguments: str, cwd: Path, stdin: str = "") -> set[str]:
    done = lint("-o", "json", *arguments, cwd=cwd, stdin=stdin)
    return {finding["code"] for finding in json.loads(done.stdout)["findings"]}


# --- exit codes


@pytest.mark.parametrize(
    ("file", "fail_on", "code"),
    [
        ("clean", "info", 0),
        ("warning", "error", 0),
        ("warning", "warning", 1),
        ("warning", "info", 1),
        ("error", "error", 1),
        ("error", "info", 1),
    ],
)
def test_findings_are_exit_code_1_from_a_severity_on(manifests: Path, file: str, fail_on: str, code: int) -> None:
    assert lint(f"{file}.yaml", "--fail-on", fail_on, cwd=manifests).returncode == code


def test_only_errors_fail_without_an_option(manifests: Path) -> None:
    assert lint("warning.yaml", cwd=manifests).returncode == 0
    assert lint("error.yaml", cwd=manifests).returncode == 1


@pytest.mark.parametrize("output", ["text", "json", "sarif", "github"])
def test_a_named_file_that_cannot_be_read_is_exit_code_2_and_the_others_are_checked(
    manifests: Path, output: str
) -> None:
    done = lint("nothing.yaml", "error.yaml", "-o", output, cwd=manifests)
    assert done.returncode == 2
    assert "TEXT001" in done.stdout
    assert "TEXT003" in done.stdout
    assert ("nothing.yaml: no such file or directory" in done.stderr) == (output != "text")


@pytest.mark.parametrize("choice", [("--ignore", "TEXT001"), ("--select", "GANG")])
def test_it_is_told_whatever_rules_were_chosen(manifests: Path, choice: tuple[str, str]) -> None:
    done = lint("nothing.yaml", *choice, cwd=manifests)
    assert done.returncode == 2
    assert "no such file or directory" in done.stdout + done.stderr


def test_a_directory_without_manifests_cannot_be_linted(tmp_path: Path) -> None:
    done = lint(".", cwd=tmp_path)
    assert done.returncode == 2
    assert "no file below it ends in .yaml, .yml, .json" in done.stdout


def test_a_file_of_a_directory_that_is_no_text_is_a_finding_and_no_usage_error(manifests: Path) -> None:
    (manifests / "error.yaml").write_bytes(b"a: \xff")
    assert lint(".", cwd=manifests).returncode == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--scheduler", "volcanno"), "--scheduler volcanno: there is no such scheduler\nhint: did you mean volcano?"),
        (("--scheduler", "slurm"), "hint: allowed: volcano, kueue"),
        (("--kuberay", "new"), "--kuberay new: is no version\nhint: write a version such as"),
        (("--kubernetes", "1"), "--kubernetes 1: is no version"),
        (("--select", "GANG999"), "there is no rule GANG999\nhint: GANG is a topic; `raygang rules` lists its rules"),
        (("--ignore", "no-gangs"), "there is no rule no-gangs\nhint: did you mean no-gang?"),
        (("--select", ","), "--select names no rule"),
        (("--select", "GANG026", "--ignore", "GANG"), "--select GANG026 contradicts --ignore GANG"),
        (("--ignore", ",".join({rule.topic for rule in RULES.values()})), "--ignore leaves no rule"),
        (("--fail-on", "fatal"), "'fatal' is not one of"),
        (("-o", "yaml"), "'yaml' is not one of"),
    ],
)
def test_wrong_usage_is_exit_code_2_and_says_what_to_write(
    manifests: Path, arguments: tuple[str, ...], message: str
) -> None:
    done = lint("error.yaml", *arguments, cwd=manifests)
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr


def test_no_path_is_wrong_usage(tmp_path: Path) -> None:
    assert lint(cwd=tmp_path).returncode == 2


# --- what is read


def test_standard_input_is_a_file(tmp_path: Path) -> None:
    done = lint("-", cwd=tmp_path, stdin=ERROR)
    assert done.returncode == 1
    assert done.stdout.startswith("<stdin>:1:1 TEXT003 error ")


def test_standard_input_that_is_no_text_is_exit_code_2(tmp_path: Path) -> None:
    done = lint("-", cwd=tmp_path, stdin=b"\xff\xfe\xff")
    assert done.returncode == 2
    assert "is no text" in done.stdout


def test_a_file_is_read_once_however_often_it_is_named(manifests: Path) -> None:
    done = lint("clean.yaml", "./clean.yaml", str(manifests / "clean.yaml"), "-", "-", cwd=manifests, stdin=CLUSTER)
    assert "\n2 files, 2 objects, 1 Ray workload:" in done.stdout


def test_files_are_one_bundle(manifests: Path) -> None:
    (manifests / "again.yaml").write_text(CLUSTER)
    assert "NAME001" in codes("again.yaml", "cluster.yaml", cwd=manifests)
    assert "NAME001" not in codes("cluster.yaml", cwd=manifests)


def test_a_name_that_is_no_utf_8_can_be_linted(tmp_path: Path) -> None:
    (tmp_path / os.fsdecode(b"\xff.yaml")).write_text(ERROR)
    for output in ("text", "json", "sarif", "github"):
        assert lint(".", "-o", output, cwd=tmp_path).returncode == 1


# --- the cluster


def test_what_needs_the_version_of_kuberay_is_checked_when_it_is_given(tmp_path: Path) -> None:
    text = CLUSTER.replace("spec:\n", "spec:\n  authOptions: {mode: token}\n", 1)  # since KubeRay 1.5.1
    unknown = lint("-", cwd=tmp_path, stdin=text).stdout
    assert re.search(r"(?m)^not checked: SCHEMA001 .*--kuberay", unknown)
    known = ("--scheduler", "volcano", "--kuberay", "v1.4.2", "-")
    assert "not checked: SCHEMA001" not in lint(*known, cwd=tmp_path, stdin=text).stdout
    assert "SCHEMA001" in codes(*known, cwd=tmp_path, stdin=text)


def test_the_scheduler_of_the_cluster_decides(manifests: Path) -> None:
    options = ("cluster.yaml", "--kubernetes", "1.37", "--select", "schedulername-only")
    assert "GANG002" in codes(*options, "--scheduler", "none", cwd=manifests)
    assert "GANG002" not in codes(*options, "--scheduler", "volcano", cwd=manifests)


# --- the choice of rules


@pytest.mark.parametrize("word", ["TEXT003", "text003", "not-an-object", "TEXT", "GANG, TEXT003"])
def test_rules_are_chosen_by_code_name_and_topic(manifests: Path, word: str) -> None:
    files = ("error.yaml", "cluster.yaml")
    assert "TEXT003" in codes("--select", word, *files, cwd=manifests)
    assert "TEXT003" not in codes("--ignore", word, *files, cwd=manifests)


def test_nothing_else_is_found_than_what_was_selected(manifests: Path) -> None:
    assert codes("--select", "TEXT003", "--select", "VER", ".", cwd=manifests) == {"TEXT003"}
    assert codes("--select", "TEXT", "--ignore", "TEXT003", ".", cwd=manifests) == {"TEXT004"}


def test_what_is_no_yaml_is_found_with_every_selection(tmp_path: Path) -> None:
    (tmp_path / "bad.yaml").write_text("a: [\n")
    done = lint("--select", "GANG", "bad.yaml", cwd=tmp_path)
    assert done.returncode == 1
    assert "TEXT002" in done.stdout


def test_a_comment_with_a_reason_ignores_a_finding_of_its_line(manifests: Path) -> None:
    text = CLUSTER.replace("spec:\n", "# raygang: ignore[NAME001] generated twice\nspec:\n", 1)
    assert "IGN003" in codes("-", cwd=manifests, stdin=text)
    (manifests / "error.yaml").write_text("# raygang: ignore[TEXT003] values of Helm\n" + ERROR)
    done = lint("error.yaml", cwd=manifests)
    assert done.returncode == 0
    assert done.stdout.splitlines()[0].endswith("0 errors, 0 warnings, 0 infos, 1 ignored")


# --- how it looks


def test_a_file_gets_no_colours(manifests: Path) -> None:
    assert "\x1b" not in lint("error.yaml", cwd=manifests).stdout


def test_a_terminal_gets_colours(manifests: Path) -> None:
    parent, child = os.openpty()
    environment = {**os.environ, "TERM": "xterm-256color"}
    environment.pop("NO_COLOR", None)
    with subprocess.Popen([*COMMAND, "lint", "error.yaml"], cwd=manifests, stdout=child, env=environment) as process:
        os.close(child)
        shown = b""
        while part := _read(parent):
            shown += part
    os.close(parent)
    assert process.returncode == 1
    assert b"\x1b[1;31merror" in shown
    assert b"TEXT003" in shown


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65536)
    except OSError:  # Linux' end of a terminal whose other side is closed
        return b""


def test_a_reader_that_goes_away_is_no_traceback(manifests: Path) -> None:
    (manifests / "big.yaml").write_text("---\n".join([ERROR] * 5000))
    with subprocess.Popen(
        [*COMMAND, "lint", "big.yaml"], cwd=manifests, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == b""


@pytest.mark.parametrize("output", ["json", "sarif"])
def test_programs_get_json_and_nothing_else(manifests: Path, output: str) -> None:
    done = lint(".", "-o", output, cwd=manifests)
    assert json.loads(done.stdout)
    assert done.stderr == ""


# --- rules


@pytest.mark.parametrize("word", ["RAY001", "ray001", "resources-unquoted"])
def test_a_rules_page_is_markdown(tmp_path: Path, word: str) -> None:
    done = raygang("rule", word, cache=tmp_path)
    assert done.returncode == 0
    assert done.stdout.startswith("# RAY001: ")
    assert "\x1b" not in done.stdout


@pytest.mark.parametrize(
    ("word", "hint"),
    [
        ("gang-026", "did you mean GANG026?"),
        ("resource-unquoted", "did you mean resources-unquoted?"),
        ("GANG", "GANG is a topic; `raygang rules` lists its rules"),
        ("%%%", "`raygang rules` lists all rules"),
    ],
)
def test_an_unknown_rule_is_exit_code_2_and_the_nearest_is_named(tmp_path: Path, word: str, hint: str) -> None:
    done = raygang("rule", word, cache=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert f"error: there is no rule {word}\nhint: {hint}" in done.stderr


def test_all_rules_are_listed(tmp_path: Path) -> None:
    listed = raygang("rules", cache=tmp_path).stdout
    assert set(re.findall(r"(?m)^  ([A-Z]+\d+) ", listed)) == set(RULES)
    facts = json.loads(raygang("rules", "-o", "json", cache=tmp_path).stdout)
    assert [fact["code"] for fact in facts] == list(RULES)
    assert {"name", "topic", "severity", "title", "page"} <= set(facts[0])


# --- start-up


def test_help_does_not_import_the_linter() -> None:
    code = (
        "import sys; sys.argv = ['raygang', 'lint', '--help']\n"
        "from raygang.cli import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "assert not [m for m in sys.modules if m.startswith(('raygang.lint', 'raygang.gang', 'yaml'))]\n"
    )
    done = subprocess.run([COMMAND[0], "-c", code], cwd=ROOT, text=True, capture_output=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr


# --- odd places


def test_a_loop_of_links_and_a_pipe_are_told_and_the_others_are_checked(manifests: Path) -> None:
    (manifests / "loop.yaml").symlink_to("loop.yaml")
    os.mkfifo(manifests / "pipe.yaml")
    done = lint("-o", "json", ".", cwd=manifests)
    found = json.loads(done.stdout)
    assert {f["file"] for f in found["findings"] if f["code"] == "TEXT001"} == {"loop.yaml", "pipe.yaml"}
    assert found["summary"]["files"] >= 4


def test_closed_standard_input_and_an_empty_path_are_wrong_usage(manifests: Path) -> None:
    closed = subprocess.run(
        ["bash", "-c", f"exec {' '.join(COMMAND)} lint - <&-"],
        cwd=manifests,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (closed.returncode, "standard input is closed" in closed.stdout) == (2, True), closed.stderr
    empty = lint("--fix", "--write", "", cwd=manifests)
    assert (empty.returncode, "an empty path" in empty.stdout + empty.stderr) == (2, True)


def test_a_name_cannot_speak_to_the_runner_of_a_pipeline(tmp_path: Path) -> None:
    done = lint("-o", "github", "nope\n::error file=x::y.yaml", cwd=tmp_path)
    assert not any(line.startswith("::error file=x") for line in (done.stdout + done.stderr).splitlines())


def test_a_patch_for_a_path_that_leads_up_names_the_whole_of_it(manifests: Path) -> None:
    (manifests / "deep").mkdir()
    (manifests / "x.yaml").write_text(CLUSTER.replace("image:", "imagePullPolicy: Always\n          image:"))
    done = lint("--fix", "../error.yaml", "../x.yaml", cwd=manifests / "deep")
    assert not any(line.startswith(("--- ..", "+++ ..")) for line in done.stdout.splitlines())
