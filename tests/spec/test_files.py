"""Reading a specification from where it is."""

import io
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from raygang.spec import UserError, load_spec
from tests.spec.test_mistakes import GOOD


def test_a_file_knows_where_it_is(tmp_path: Path) -> None:
    (tmp_path / "x.yaml").write_bytes(b"\xef\xbb\xbf" + GOOD.encode())
    spec = load_spec(tmp_path / "x.yaml")
    assert (spec.source_path, spec.base) == (tmp_path / "x.yaml", tmp_path)
    assert str(spec.problem("name", "is taken")).startswith(f"{tmp_path / 'x.yaml'}:1:1: name: is taken")


def test_a_dash_is_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(GOOD.encode() + b"replica: 1\n")))
    with pytest.raises(UserError, match="<stdin>:3:1: replica: unknown field; did you mean replicas"):
        load_spec("-")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"name: x\nmodel: \xe9\n", r"x\.yaml:2: not UTF-8 text"),
        (GOOD.encode("utf-16"), r"x\.yaml:1: not UTF-8 text"),
        (b"# " + b"x" * 2**20, r"x\.yaml: larger than 1048576 bytes"),
    ],
)
def test_a_file_of_something_else(tmp_path: Path, content: bytes, message: str) -> None:
    (tmp_path / "x.yaml").write_bytes(content)
    with pytest.raises(UserError, match=message) as e:
        load_spec(tmp_path / "x.yaml")
    assert e.value.exit_code == 2


def test_a_file_that_is_not_there_or_is_none(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"cannot read .*none\.yaml: No such file"):
        load_spec(tmp_path / "none.yaml")
    with pytest.raises(UserError, match="is a directory") as e:
        load_spec(tmp_path)
    assert e.value.hint == "name a YAML file, for example examples/smollm2.yaml"
    with pytest.raises(UserError, match="embedded null byte"):
        load_spec("a\0b")


def test_a_device_without_an_end_is_not_read_to_it() -> None:
    with pytest.raises(UserError, match="larger than"):
        load_spec("/dev/zero")


def test_a_text_that_is_too_large() -> None:
    with pytest.raises(UserError, match="larger than"):
        from raygang.spec import parse_spec

        parse_spec("# " + "x" * 2**20)
