"""What Ray's processes are started with, and what is read from their logs."""

from pathlib import Path

import pytest

from raygang.local._nodes import Cluster, Node, last_cause
from raygang.local._paths import RunPaths


@pytest.fixture
def cluster(tmp_path: Path) -> Cluster:
    return Cluster("mark", (Node(0, "127.0.0.2", 1, 1, 1),), RunPaths(tmp_path, tmp_path / "logs"))


@pytest.mark.parametrize(
    "name", ["RAY_ADDRESS", "VLLM_API_KEY", "PYTHONWARNINGS", "CUDA_VISIBLE_DEVICES", "RAY_NAMESPACE"]
)
def test_what_would_change_the_run_behind_the_specification_is_left_out(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv(name, "surprise")
    assert "surprise" not in cluster.environment().values()
    assert "surprise" not in cluster.environment(cluster.nodes[0]).values()


def test_the_rest_of_the_environment_reaches_the_nodes(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_TOKEN", "kept")
    assert cluster.environment(cluster.nodes[0])["HF_TOKEN"] == "kept"


@pytest.mark.parametrize(
    ("log", "cause"),
    [
        ("starting\n\x1b[31mValueError: no such thing\x1b[0m\nbye\n", "ValueError: no such thing"),
        ("a\nray.exceptions.RaySystemError: port\nb\n", "ray.exceptions.RaySystemError: port"),
        ("raylet died\nSome Ray processes exited. Remaining processes will be killed.\n", "raylet died"),
        ("", "it wrote nothing"),
    ],
)
def test_the_last_error_of_a_log_is_the_cause(tmp_path: Path, log: str, cause: str) -> None:
    (tmp_path / "log").write_text(log)
    assert last_cause(tmp_path / "log") == cause


def test_a_log_that_is_not_there_is_said(tmp_path: Path) -> None:
    assert last_cause(tmp_path / "log").startswith("no log: ")
