"""Objects as files: kustomize reads them, an earlier rendering is replaced, foreign files stay."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from raygang.manifest import render, write_directory
from raygang.spec import UserError
from tests.manifest.planned import planned


def objects(directory: Path) -> list[object]:
    listed = yaml.safe_load((directory / "kustomization.yaml").read_text())
    assert listed["kind"] == "Kustomization"
    return [yaml.safe_load((directory / name).read_text()) for name in listed["resources"]]


def test_the_kustomization_lists_every_object_in_order(tmp_path: Path) -> None:
    rendered = render(planned("volcano", replicas=2))
    changes = write_directory(tmp_path / "out", rendered)
    assert objects(tmp_path / "out") == list(rendered.objects)
    assert len(changes) == len(rendered.objects) + 1
    assert all(change.startswith("written ") for change in changes)


def test_the_same_again_changes_nothing(tmp_path: Path) -> None:
    write_directory(tmp_path, render(planned("native")))
    before = {path: path.stat().st_mtime_ns for path in tmp_path.iterdir()}
    assert write_directory(tmp_path, render(planned("native"))) == []
    assert {path: path.stat().st_mtime_ns for path in tmp_path.iterdir()} == before


def test_what_is_no_longer_rendered_goes(tmp_path: Path) -> None:
    write_directory(tmp_path, render(planned("native", replicas=2)))
    (tmp_path / "notes.yaml").write_text("mine: true\n")
    changes = write_directory(tmp_path, render(planned("native", replicas=1)))
    gone = [Path(change.removeprefix("removed ")).name for change in changes if change.startswith("removed ")]
    assert sorted(name.split("-", 1)[1] for name in gone) == [
        "networkpolicy-llama-1.yaml", "podgroup-llama-1.yaml", "rayservice-llama-1.yaml",
    ]  # fmt: skip
    assert objects(tmp_path) == list(render(planned("native", replicas=1)).objects)
    assert (tmp_path / "notes.yaml").read_text() == "mine: true\n"


def test_a_foreign_file_of_the_same_name_stops_it_before_anything_is_written(tmp_path: Path) -> None:
    (tmp_path / "kustomization.yaml").write_text("resources: []\n")
    with pytest.raises(UserError, match=r"kustomization\.yaml: was not written by raygang"):
        write_directory(tmp_path, render(planned()))
    assert [path.name for path in tmp_path.iterdir()] == ["kustomization.yaml"]
