"""`raygang fabric`, run as a user runs it."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests.cli.test_render import spec  # noqa: F401  (a fixture)
from tests.fabric.reports import failed, log, report
from tests.support.cli import COMMAND, raygang

FABRICS = {"tcp", "infiniband", "aks-infiniband", "sriov-roce", "sriov-infiniband", "efa", "gke-rdma"}


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    path = tmp_path / "job.log"
    path.write_text(log(failed()))
    return path


def test_a_failed_check_is_shown_and_is_a_failure(tmp_path: Path, logs: Path) -> None:
    done = raygang("fabric", "show", str(logs), cache=tmp_path)
    assert (done.returncode, done.stderr) == (1, "")
    assert done.stdout.startswith("the network check failed: the link from rank 5 on node-3")
    assert "\x1b" not in done.stdout


def test_a_check_that_passed_comes_through_a_pipe() -> None:
    done = subprocess.run(
        [*COMMAND, "fabric", "show", "-"], input=log(report()), text=True, capture_output=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("the network check passed: 8 ranks over IB")


@pytest.mark.parametrize(("form", "begins"), [("html", "<!doctype html>"), ("svg", "<svg "), ("json", '{"version":1')])
def test_each_form_goes_to_a_file_or_to_standard_output(tmp_path: Path, logs: Path, form: str, begins: str) -> None:
    printed = raygang("fabric", "show", str(logs), "-o", form, cache=tmp_path)
    written = raygang("fabric", "show", str(logs), "-o", form, "--output", str(tmp_path / "out"), cache=tmp_path)
    assert (printed.returncode, written.returncode, written.stdout) == (1, 1, "")
    assert printed.stdout == (tmp_path / "out").read_text()
    assert printed.stdout.startswith(begins)


def test_its_json_can_be_shown_again(tmp_path: Path, logs: Path) -> None:
    (tmp_path / "again").write_text(raygang("fabric", "show", str(logs), "-o", "json", cache=tmp_path).stdout)
    first, second = (raygang("fabric", "show", str(path), cache=tmp_path).stdout for path in (logs, tmp_path / "again"))
    assert first == second


@pytest.mark.parametrize(("text", "message"), [("nothing", "has no report"), (None, "no such file or directory")])
def test_what_is_no_report_is_a_mistake_of_the_user(tmp_path: Path, text: str | None, message: str) -> None:
    path = tmp_path / "job.log"
    if text is not None:
        path.write_text(text)
    done = raygang("fabric", "show", str(path), cache=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert f"error: {path}: {message}" in done.stderr


def test_a_file_that_cannot_be_written_is_named(tmp_path: Path, logs: Path) -> None:
    done = raygang("fabric", "show", str(logs), "-o", "svg", "--output", str(tmp_path / "no" / "x.svg"), cache=tmp_path)
    assert done.returncode == 2
    assert f"{tmp_path}/no/x.svg: no such file or directory" in done.stderr


def test_a_machine_without_rdma_could_use_tcp_only(tmp_path: Path) -> None:
    """Its sys and dev are an empty tree: what this machine has does not count."""
    done = raygang("fabric", "probe", "--local", "--root", str(tmp_path), "-o", "json", cache=tmp_path)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert {one["fabric"] for one in found["fabrics"]} == FABRICS
    assert [one["fabric"] for one in found["fabrics"] if one["usable"]] == ["tcp"]
    assert found["report"]["ranks"][0]["facts"]["hcas"] == []
    shown = raygang("fabric", "probe", "--local", "--root", str(tmp_path), cache=tmp_path)
    assert shown.returncode == 0
    assert "could be used" in shown.stdout
    assert "no EFA adapter" in shown.stdout


def test_a_fabric_that_must_be_usable_and_is_not_is_a_failure(tmp_path: Path) -> None:
    done = raygang("fabric", "probe", "--local", "--root", str(tmp_path), "--expect", "infiniband", cache=tmp_path)
    assert done.returncode == 1
    assert "first cause device-missing" in done.stdout


def test_the_fabric_of_a_specification_counts(tmp_path: Path) -> None:
    path = tmp_path / "x.yaml"
    path.write_text("name: x\nmodel: {source: a/b}\nfabric: {type: infiniband, resource: rdma/ib}\n")
    done = raygang(
        "fabric", "probe", "--local", "--root", str(tmp_path), "--spec", str(path), "-o", "json", cache=tmp_path
    )
    assert done.returncode == 1
    assert json.loads(done.stdout)["expected"]["fabric"] == "infiniband"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ((), "how many nodes"),
        (("--nodes", "2"), "how many nodes"),
        (("--local", "--nodes", "2"), "--nodes cannot be with it"),
        (("--local", "--expect", "tcp", "--spec", "x.yaml"), "leave one of them away"),
        (("--local", "--expect", "infinband"), "did you mean infiniband?"),
        (("--local", "--root", "/nowhere"), "/nowhere is no directory"),
    ],
)
def test_options_that_make_no_sense_are_refused(tmp_path: Path, options: tuple[str, ...], message: str) -> None:
    done = raygang("fabric", "probe", *options, cache=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr


def test_a_cluster_that_does_not_answer_is_not_waited_for(tmp_path: Path) -> None:
    with socket.socket() as closed:  # bound, and nobody listens
        closed.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{closed.getsockname()[1]}"
        asked = ("fabric", "probe", "--nodes", "2", "--ranks-per-node", "8", "--address", address)
        done = raygang(*asked, cache=tmp_path, timeout=30)
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr.startswith(f"error: no Ray cluster at {address}: Connection refused\nhint: ")


def test_without_ray_a_cluster_cannot_be_checked(tmp_path: Path) -> None:
    code = (
        "import sys; sys.modules['ray'] = None\n"
        "sys.argv = ['raygang', 'fabric', 'probe', '--nodes', '2', '--ranks-per-node', '1']\n"
        "from raygang.cli import main; main()"
    )
    done = subprocess.run([sys.executable, "-c", code], text=True, capture_output=True, timeout=60, check=False)
    assert done.returncode == 3
    assert "Ray is not installed here" in done.stderr


def test_the_checks_manifests_lint_clean_through_a_pipe(tmp_path: Path, spec: Path) -> None:  # noqa: F811
    rendered = raygang("fabric", "render", str(spec), cache=tmp_path)
    assert rendered.returncode == 0, rendered.stderr
    assert [obj["kind"] for obj in yaml.safe_load_all(rendered.stdout)] == [
        "ServiceAccount", "ConfigMap", "NetworkPolicy", "RayJob",
    ]  # fmt: skip
    (tmp_path / "out.yaml").write_text(rendered.stdout)
    at = ("--scheduler", "volcano", "--kuberay", "1.6.0", "--fail-on", "warning")
    assert raygang("lint", str(tmp_path / "out.yaml"), *at, cache=tmp_path).returncode == 0
    as_json = json.loads(raygang("fabric", "render", str(spec), "-o", "json", cache=tmp_path).stdout)
    assert as_json["items"] == list(yaml.safe_load_all(rendered.stdout))


def nodes(*devices: dict[str, str]) -> str:
    items = [
        {"metadata": {"name": f"gpu-{n}"}, "status": {"allocatable": {"nvidia.com/gpu": "8", **found}}}
        for n, found in enumerate(devices)
    ]
    return json.dumps({"kind": "NodeList", "items": items})


def test_the_fabric_of_nodes_is_a_section_of_a_specification(tmp_path: Path) -> None:
    path = tmp_path / "nodes.json"
    path.write_text(nodes({"openshift.io/roce_rail0": "8"}, {"openshift.io/roce_rail0": "8"}, {}))
    done = raygang("fabric", "auto", "--nodes", str(path), cache=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    section = done.stdout.split("still to write:")[0]
    assert yaml.safe_load(section) == {"fabric": {"type": "sriov-roce", "resource": "openshift.io/roce_rail0"}}
    assert "# 2 of 3 nodes with GPUs have openshift.io/roce_rail0" in section
    for word in ("still to write: networks", "to look up:", "nodes without it: gpu-2"):
        assert word in done.stdout
    found = json.loads(raygang("fabric", "auto", "--nodes", str(path), "-o", "json", cache=tmp_path).stdout)
    assert found["fabric"] == yaml.safe_load(section)["fabric"]
    assert [one["field"] for one in found["missing"]] == ["networks"]


def test_what_is_no_list_of_nodes_is_told(tmp_path: Path) -> None:
    path = tmp_path / "nodes.json"
    path.write_text('{"kind": "PodList", "items": []}')
    done = raygang("fabric", "auto", "--nodes", str(path), cache=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert f"{path}: " in done.stderr
