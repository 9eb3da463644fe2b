"""Fixes: what they mend is mended, and nothing else in the text changes."""

from __future__ import annotations

import difflib
import json
from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner, Result

from raygang.cli._app import app
from raygang.lint import RULES, Rule, Source, lint
from raygang.lint._edits_apply import Text
from raygang.lint._edits_data import EditRefusedError
from raygang.lint._edits_words import scalar
from raygang.lint._edits_write import write
from raygang.lint._yaml import Tree, read
from raygang.lint.fix import Fixed, fix
from raygang.lint.model import Edit
from raygang.spec import UserError
from tests.lint.base import documents

SEED = Path(__file__).parent / "cases" / "seed-manifest.yaml"


class _Lines(yaml.SafeDumper):
    """Writes texts with several lines in literal style, as people do."""


_Lines.add_representer(
    str, lambda d, s: d.represent_scalar("tag:yaml.org,2002:str", s, style="|" if "\n" in s else None)
)


def block(example: str) -> str:
    return yaml.dump_all(documents(example), Dumper=_Lines, sort_keys=False)


def as_json(example: str) -> str:
    return "\n---\n".join(json.dumps(document, indent=2) for document in documents(example)) + "\n"


def crlf(example: str) -> str:
    return block(example).replace("\n", "\r\n")


def mend(text: str, name: str = "x.yaml") -> Fixed:
    (fixed,) = fix([Source(name, text)])
    return fixed


def fixable(rule: Rule) -> bool:
    if rule.topic in ("TEXT", "IGN"):
        return False
    return any(f.code == rule.code and f.fix for f in lint([Source("x", block(rule.bad))]).findings)


FIXABLE = [rule for rule in RULES.values() if fixable(rule)]


def test_there_are_rules_with_fixes() -> None:
    assert len(FIXABLE) > 10


@pytest.mark.parametrize("form", [block, as_json, crlf], ids=lambda form: form.__name__)
@pytest.mark.parametrize("rule", FIXABLE, ids=lambda rule: rule.code)
def test_a_fix_mends_its_finding_and_a_second_time_changes_nothing(rule: Rule, form: object) -> None:
    text = form(rule.bad)  # type: ignore[operator]
    before = [f for f in lint([Source("x.yaml", text)]).findings if f.code == rule.code]
    fixed = mend(text)
    assert fixed.refused == ()
    assert rule.code in {finding.code for finding in fixed.fixed}
    left = [f for f in lint([Source("x.yaml", fixed.new)]).findings if f.code == rule.code]
    assert len(left) == len([f for f in before if not f.fix])
    assert mend(fixed.new).new == fixed.new
    assert changed_lines(fixed) <= 3 * sum(len(f.fix) for f in fixed.fixed) + 3


def changed_lines(fixed: Fixed) -> int:
    """How many lines are gone: layout that is written anew would make it many."""
    diff = difflib.ndiff(fixed.old.splitlines(True), fixed.new.splitlines(True))
    return sum(line.startswith("- ") for line in diff)


def test_the_seed_manifest_is_mended_with_its_comments() -> None:
    old = SEED.read_text()
    new = mend(old).new
    gone = set(old.splitlines()) - set(new.splitlines())
    assert sorted(line.strip() for line in gone) == [
        "annotations:",
        'nvidia.com/gpu: "0" # Head node doesn\'t need GPU for serving',
        "resources: '{\"custom_resource\": 1}'",
    ] or 'num-cpus: "0"' in {line.strip() for line in gone}
    assert "  # Request gang scheduling via Volcano\n  labels:\n    volcano.sh/queue-name: high-priority-queue\n" in new
    assert "        hostNetwork: true \n" in new


HEAD = "apiVersion: v1\nkind: X\n"


def after(text: str, *edits: Edit) -> str:
    """A text with edits made, one after the other."""
    now = Text(Source("x.yaml", text if "kind: X" in text else HEAD + text), 0)
    for edit in edits:
        for tree, step in now.steps(now.read.documents[0], [edit]):
            now = now.after([now.target(tree, step)])
    return now.source.text if "kind: X" in text else now.source.text.removeprefix(HEAD)


def put(*path: str | int, value: object) -> Edit:
    return Edit("set", path, value)


def gone(*path: str | int) -> Edit:
    return Edit("delete", path)


@pytest.mark.parametrize(
    ("old", "edit", "new"),
    [
        ("a: 1  # why\nb: 2", put("a", value="1"), 'a: "1"  # why\nb: 2'),
        ("a: '1'\n", put("a", value="2"), "a: '2'\n"),
        ("a:\nb: 2\n", put("a", value=True), "a: true\nb: 2\n"),
        ("a: # why\nb: 2\n", put("a", value="x"), "a: x # why\nb: 2\n"),
        ("a:  # why\nb: 2\n", put("a", "c", value="x"), "a:  # why\n  c: x\nb: 2\n"),
        ("a: null\nb: 2\n", put("a", "c", "d", value=1), "a:\n  c:\n    d: 1\nb: 2\n"),
        ("a: {}\n", put("a", "c", value="x"), "a: {c: x}\n"),
        ("a: {b: 1}\n", put("a", "c", value="on"), 'a: {b: 1, c: "on"}\n'),
        ("a: {b: 1,}\n", put("a", "c", value=1), "a: {b: 1, c: 1,}\n"),
        ('a: {"b": "x"}\n', put("a", "c", value="x"), 'a: {"b": "x", "c": "x"}\n'),
        ("a: {\n  b: 1  # one\n}\n", put("a", "c", value=2), "a: {\n  b: 1,  # one\n  c: 2\n}\n"),
        ("a:\n   b: 1 # one\n\n# end\nd: 1\n", put("a", "c", value=2), "a:\n   b: 1 # one\n   c: 2\n\n# end\nd: 1\n"),
        ("a:\n  b: 1", put("a", "c", value=2), "a:\n  b: 1\n  c: 2"),
        ("a:\n  b: |\n    x", put("a", "c", value=2), "a:\n  c: 2\n  b: |\n    x"),
        ("a:\n  b: |+\n    x\n\nd: 1\n", put("a", "c", value=2), "a:\n  c: 2\n  b: |+\n    x\n\nd: 1\n"),
        ("a:\n  b: |\n    x\n\n\nd: 1\n", put("a", "c", value=2), "a:\n  b: |\n    x\n  c: 2\n\n\nd: 1\n"),
        ("a:\n- x: 1\n", put("a", 0, "z", value=2), "a:\n- x: 1\n  z: 2\n"),
        ("a:\n- x: 1\n", put("a", 1, value={"x": 2, "y": [1]}), "a:\n- x: 1\n- x: 2\n  \"y\":\n    - 1\n"),
        ("a:\n  - {x: 1}  # one\n", put("a", 1, value={"x": 2}), "a:\n  - {x: 1}  # one\n  - {x: 2}\n"),
        ("a: [{x: 1}]\n", put("a", 1, value={"x": 2}), "a: [{x: 1}, {x: 2}]\n"),
        ("a:\n  x: 1\n  z: 2\nb: 1\n", put("a", value="x"), "a: x\nb: 1\n"),
        ("a: {x: 1}\n", put("a", value="x"), "a: x\n"),
        ("a: 1\n# of b\nb: 2 # two\n# of c\nc: 3\n", gone("b"), "a: 1\n# of b\n# of c\nc: 3\n"),
        ("a: 1\nb: 2", gone("b"), "a: 1"),
        ("a:\n  # why\n  b: 1\nc: 1\n", gone("a", "b"), "a: {}\n  # why\nc: 1\n"),
        ("a:\n- b: 1\n  c: 2\n", gone("a", 0, "b"), "a:\n- c: 2\n"),
        ("a:\n- b: 1 # one\n  # two\n  c: 2\n", gone("a", 0, "b"), "a:\n-\n  # two\n  c: 2\n"),
        ("a:\n- b: 1\n", gone("a", 0, "b"), "a:\n- {}\n"),
        ("a:\n- 1\n- 2\n", gone("a", 0), "a:\n- 2\n"),
        ("a:\n- 1\nb: 1\n", gone("a", 0), "a: []\nb: 1\n"),
        ("a: {b: 1, c: 2}\n", gone("a", "b"), "a: {c: 2}\n"),
        ("a: {b: 1, c: 2}\n", gone("a", "c"), "a: {b: 1}\n"),
        ("a: {b: 1}\n", gone("a", "b"), "a: {}\n"),
        ("a: {\n  b: 1, # one\n  c: 2\n}\n", gone("a", "c"), "a: {\n  b: 1\n}\n"),
        ("a_b: 1 # why\n", Edit("move", ("a_b",), ("a-b",)), "a-b: 1 # why\n"),
        ("a:\n  # why\n  b: 'x' # x\n  c: 1\nd: {}\n", Edit("move", ("a", "b"), ("d", "b")), "a:\n  # why\n  c: 1\nd: {b: x}\n"),
        ("a: 1\nb: 1\n", Edit("move", ("a",), ("b",)), "b: 1\n"),
        ("é: 1 # 😀\nb: 2\n", put("b", value=3), "é: 1 # 😀\nb: 3\n"),
        ("a: &x 1\nb: *x\n", put("c", value=3), "a: &x 1\nb: *x\nc: 3\n"),
        ("serveConfigV2: |\n  a: 1 # one\n\n  b:\n  - c: 2\n\nt: 1\n", put("serveConfigV2", "b", 0, "c", value="3"), 'serveConfigV2: |\n  a: 1 # one\n\n  b:\n  - c: "3"\n\nt: 1\n'),
        ("serveConfigV2: |\n  a: 1\n  b: 2\nt: 1\n", gone("serveConfigV2", "b"), "serveConfigV2: |\n  a: 1\nt: 1\n"),
        ("serveConfigV2: |\n  a: 1\n  b: 2\nt: 1\n", gone("serveConfigV2", "a"), "serveConfigV2: |\n  b: 2\nt: 1\n"),
        ("serveConfigV2: |-\n  a:\n    b: 2", put("serveConfigV2", "a", "c", value={"d": "e"}), "serveConfigV2: |-\n  a:\n    b: 2\n    c:\n      d: e"),
        ('serveConfigV2: "a: 1\\nb: 2\\n"\n', gone("serveConfigV2", "a"), 'serveConfigV2: "b: 2\\n"\n'),
    ],
)  # fmt: skip
def test_edits_keep_the_layout(old: str, edit: Edit, new: str) -> None:
    assert after(old, edit) == new
    assert after(old.replace("\n", "\r\n"), edit).replace("\r\n", "\n").replace("\\r", "") == new


def test_a_mapping_moves_with_its_comments() -> None:
    text = "apiVersion: ray.io/v1\nkind: RayService\nspec:\n  rayClusterConfig:\n    # how\n    upgradeStrategy: # it\n      # why\n      type: None # never\n    headGroupSpec: {}\n"
    (finding,) = [f for f in lint([Source("x.yaml", text)]).findings if f.fix and f.fix[0].action == "move"]
    fixed = mend(text)
    assert finding in fixed.fixed
    assert (
        "    headGroupSpec: {}\n  # how\n  upgradeStrategy:\n    # it\n    # why\n    type: None # never\n" in fixed.new
    )


@pytest.mark.parametrize(
    ("old", "edit", "why"),
    [
        ("a: &x {b: 1}\nc: *x\n", put("c", "b", value=2), "alias"),
        ("a: &x {b: 1}\nc: *x\n", put("a", "b", value=2), "every other place"),
        ("a: &x 1\nc: *x\n", put("a", value=2), "anchor"),
        ("a: &x 1\nc: *x\n", gone("a"), "every other place"),
        ("a: &x {b: 1}\nc: {<<: *x}\n", gone("c", "b"), "merge key"),
        ("a: &x {b: 1}\nc: {<<: *x}\n", put("c", "d", value=1), "merge key"),
        ("a: 1\na: 2\n", gone("a"), "twice"),
        ("a: '{{ .Values.a }}'\n", put("a", value=1), "template"),
        ("a: 1\n", gone("b"), "not there"),
        ("a: 1\n", put("a", value=1), "says so already"),
        ("a: x\n", put("a", "b", value=1), "no mapping"),
        ("a: 1\n", put("a", "b", value=1), "no mapping"),
        ("a: [1]\n", put("a", 3, value=1), "no item 3"),
        ("a: 1\nb: 2\n", Edit("move", ("a",), ("b",)), "there already"),
        ("serveConfigV2: >\n  a: 1\n\n  b: 2\n", gone("serveConfigV2", "a"), "literal"),
        ("serveConfigV2: |\n  a: 1\n  ---\n  b: 1\n", gone("serveConfigV2", "a"), "one document"),
    ],
)  # fmt: skip
def test_what_would_do_harm_is_refused(old: str, edit: Edit, why: str) -> None:
    with pytest.raises(EditRefusedError, match=why):
        after(old, edit)


TRICKY = ["yes", "No", "on", "y", "1", "1e3", "1_000", "0x1F", "012", "1:30", "null", "~", "", " a", "a ", "a: b", "a #b", "#", "-", "- a", "?", "[", "{a", "&a", "*a", "!a", "%a", "@a", "`a", "'", '"', "\\", "a\nb", "a\tb", "é", "😀", "2024-01-01", "=", "<<", ".inf", ".NaN", "0.5", "+1", "1.", "'{\"a\": 1}'", "a:", "nan"]  # fmt: skip


@pytest.mark.parametrize("value", TRICKY)
@pytest.mark.parametrize("quote", ["", "'", '"'])
def test_a_text_stays_a_text_in_every_yaml(value: str, quote: str) -> None:
    written = scalar(value, quote=quote)
    for text in (f"a: {written}\n", f"- {written}\n", f"[{written}, x]\n", f"{{a: {written}}}\n", f"{written}: 1\n"):
        (tree,) = read(text)
        assert isinstance(tree, Tree)
        assert value in (tree.data if isinstance(tree.data, dict | list) else ()) or tree.data.get("a") == value
        from ruamel.yaml import YAML

        assert (
            str(value) in str(YAML(typ="safe", pure=True).load(text))
            or not value.isprintable()
            or "'" in value
            or "\\" in value
        )
        assert yaml.safe_load(text) is not None


@given(st.text(max_size=12), st.sampled_from(["", "'", '"']))
@settings(max_examples=100, deadline=None)
def test_any_text_is_read_back_as_itself(value: str, quote: str) -> None:
    found = list(read(f"a: {scalar(value, quote=quote)}\n"))
    if isinstance(found[0], Tree):
        assert found[0].data == {"a": value}
    else:
        assert not value.isprintable()  # refused by libyaml, and so by the proof after each edit


KEYS = st.sampled_from(["a", "b", "c-d", "nvidia.com/gpu", "on"])
LEAVES = (
    st.none() | st.booleans() | st.integers(-5, 5) | st.sampled_from(["x", "1", "yes", "a b", "p: q\n", "two\nlines\n"])
)
TREES = st.recursive(
    LEAVES,
    lambda inner: st.dictionaries(KEYS, inner, max_size=3) | st.lists(inner, max_size=3),
    max_leaves=10,
)  # fmt: skip


def paths(data: object) -> list[tuple[str | int, ...]]:
    """The paths of all values in some data."""
    inside = enumerate(data) if isinstance(data, list) else data.items() if isinstance(data, dict) else ()
    return [(), *((key, *path) for key, value in inside for path in paths(value))]


@st.composite
def cases(draw: st.DrawFn) -> tuple[dict[str, object], Edit]:
    """Data, and an edit of a field that is there, or of one below it or after it."""
    data = draw(st.dictionaries(KEYS, TREES, min_size=1, max_size=3))
    path = draw(st.sampled_from(paths(data)[1:]))
    if draw(st.booleans()):
        return data, Edit("delete", path)
    here = data
    for part in path:
        here = here[part]  # type: ignore[index]
    more = {dict: KEYS, list: st.just(len(here) if isinstance(here, list) else 0), type(None): KEYS}.get(type(here))
    if more is not None and draw(st.booleans()):
        path = (*path, draw(more))
    return data, Edit("set", path, draw(TREES))


STYLES = st.sampled_from([{"default_flow_style": None}, {"default_flow_style": False}, {"default_flow_style": False, "indent": 4}, {"default_flow_style": True, "width": 20}])  # fmt: skip


@given(cases(), STYLES, st.sampled_from(["\n", "\r\n"]))
@settings(max_examples=300, deadline=None)
def test_an_edit_is_made_exactly_or_refused(
    case: tuple[dict[str, object], Edit], style: dict[str, object], end: str
) -> None:
    data, edit = case
    text = yaml.dump({"apiVersion": "v1", "kind": "X"} | data, Dumper=_Lines, sort_keys=False, **style)  # type: ignore[call-overload]
    try:
        new = after(text.replace("\n", end), edit)
    except EditRefusedError:
        return
    assert end == "\n" or "\n" not in new.replace("\r\n", "")
    assert new != text
    if style["default_flow_style"] is not True and edit.path[0] in data:
        start, stop = Text(Source("x", text), 0).trees[0].span(edit.path[:1])
        old_lines, new_lines = text.splitlines(), new.splitlines()
        assert new_lines[: start - 1] == old_lines[: start - 1]
        assert old_lines[stop:] == new_lines[len(new_lines) - len(old_lines[stop:]) :]


def test_several_documents_and_lists_are_mended_where_they_stand() -> None:
    one = SEED.read_text()
    item = "".join("  " + line for line in one.splitlines(True)[1:])
    many = f"{one}---\n# nothing\n---\napiVersion: v1\nkind: List\nitems:\n-{item[1:]}"
    fixed = mend(many)
    assert len(fixed.fixed) == 2 * len(mend(one).fixed)
    assert fixed.refused == ()


def test_a_mark_at_the_start_stays() -> None:
    assert mend("\ufeff" + SEED.read_text()).new == "\ufeff" + mend(SEED.read_text()).new


def test_texts_that_are_no_yaml_stay_as_they_are() -> None:
    for text in ("a: [", "", "# nothing\n", "a: b: c", "\x00", "- 1\n- 2\n"):
        assert mend(text).new == text


def test_an_alias_is_refused_with_a_reason() -> None:
    text = SEED.read_text().replace("rayStartParams:\n      num-cpus", "rayStartParams: &params\n      num-cpus")
    text += "x: *params\n"
    fixed = mend(text)
    assert all(why.strip() for _, why in fixed.refused)
    assert {finding.code for finding, _ in fixed.refused} != set()


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_a_file_keeps_its_encoding_its_mode_and_its_link(tmp_path: Path, encoding: str) -> None:
    path, link = tmp_path / "x.yaml", tmp_path / "link.yaml"
    path.write_bytes("a: é\r\nb: 1".encode(encoding))
    path.chmod(0o640)
    link.symlink_to(path)
    write(str(link), "a: é\r\nb: 1", "a: é\r\nb: 2")
    assert path.read_bytes() == "a: é\r\nb: 2".encode(encoding)
    assert path.stat().st_mode & 0o777 == 0o640
    assert link.is_symlink()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["link.yaml", "x.yaml"]


def test_a_file_that_has_changed_meanwhile_is_not_written(tmp_path: Path) -> None:
    path = tmp_path / "x.yaml"
    path.write_text("a: 2\n")
    with pytest.raises(UserError, match="has changed since it was read"):
        write(str(path), "a: 1\n", "a: 3\n")
    with pytest.raises(UserError, match="cannot be written: no such file"):
        write(str(tmp_path / "gone.yaml"), "a: 1\n", "a: 3\n")
    assert path.read_text() == "a: 2\n"


def run(*arguments: str, text: str | None = None) -> Result:
    return CliRunner().invoke(app, ["lint", *arguments], input=text)


def test_the_command_shows_a_diff_and_writes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "x.yaml"
    path.write_text(SEED.read_text())
    shown = run("--fix", str(path))
    assert shown.exit_code == 1
    assert f"--- {path}\n+++ {path}\n@@" in shown.stdout
    assert "-              nvidia.com/gpu: " in shown.stdout
    assert "5 findings can be fixed" in shown.stderr
    assert "SRV001" in shown.stderr
    assert path.read_text() == SEED.read_text()


def test_the_command_writes_files_and_standard_input(tmp_path: Path) -> None:
    path, new = tmp_path / "x.yaml", mend(SEED.read_text()).new
    path.write_text(SEED.read_text())
    written = run("--fix", "--write", str(path))
    assert path.read_text() == new
    assert written.stdout == ""
    assert "5 findings fixed" in written.stderr
    assert run("--fix", "--write", "-", text=SEED.read_text()).stdout == new
    assert run("--fix", "--write", "-", text=new).stdout == new
    assert json.loads(run("--fix", "--write", "-o", "json", str(path)).stdout)["version"] == 1


@pytest.mark.parametrize("arguments", [["--write", "x.yaml"], ["--fix", "-o", "json", "x.yaml"]])
def test_options_that_do_not_go_together_are_refused(arguments: list[str]) -> None:
    with pytest.raises(UserError) as refused:
        CliRunner().invoke(app, ["lint", *arguments], catch_exceptions=False)
    assert refused.value.exit_code == 2
