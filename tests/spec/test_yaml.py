"""What YAML itself refuses, and what it can say but a specification cannot."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from raygang.spec import SpecError, UserError, parse_spec
from tests.spec.test_mistakes import GOOD, problems

LAUGHS = "a: &a {x: 1}\n" + "".join(
    f"{b}: &{b} {{<<: [{', '.join(['*' + a] * 9)}]}}\n" for a, b in zip("abcdef", "bcdefg", strict=True)
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("name: x\nname: y\n", "f.yaml:2:1: this key stands here twice"),
        ("name:\n\t- x\n", "f.yaml:2:1: a tab in the indentation; YAML takes spaces only"),
        ("name:\tx\n", "f.yaml:1:6: a tab; YAML takes spaces only"),
        ("name: x\n---\nname: y\n", "f.yaml:2:1: more than one document; a specification is one"),
        ("name: x: y\n", "f.yaml:1:8: a colon that starts no value; write text that holds one in quotes"),
        ("name: 'x\n", "f.yaml:1:7: a quote that is never closed"),
        ("name: x\nmodel\nnodes: y\n", "f.yaml:2:1: the colon after a field's name is missing"),
        ("name: *y\n", "f.yaml:1:7: an alias (*) without an anchor (&) above it; write text that starts with * in quotes"),
        ("name: @y\n", "f.yaml:1:7: a character that no text can start with; write it in quotes"),
        ("%YAML 3.0\n---\na: 1\n", "f.yaml:1:1: a version of YAML that is not known; it is 1.2 here"),
        ("%YAML 1.3\n---\na: 1\n", "f.yaml: a version of YAML that is not known; it is 1.2 here"),
        ("a: {<<: 3}\n", "f.yaml:1:9: only mappings can be merged with <<"),
        ("a: {<<: [3]}\n", "f.yaml:1:10: only mappings can be merged with <<"),
        ("a: [b\n", "f.yaml:1:4: not YAML: expected ',' or ']', but got '<stream end>'"),
        ("a: |\n  \x85  b\n", "f.yaml:2:6: not YAML: more indented follow up line than first in a block scalar"),
        ("name: !x!y z\n", "f.yaml:1:7: not YAML: found undefined tag handle ..."),
        ("name: x\nb: \x01\n", "f.yaml:2:4: the character U+0001, which YAML takes only in quotes and escaped"),
        ("\x00", "f.yaml:1:1: the character U+0000, which YAML takes only in quotes and escaped"),
        ('a: "\\UFFFFFFFF"\n', "f.yaml: not YAML: Python int too large to convert to C int"),
        ("", "f.yaml:1: a specification is a mapping of fields; this is empty"),
        ("# only a comment\n", "f.yaml:1: a specification is a mapping of fields; this is empty"),
        ("null\n", "f.yaml:1: a specification is a mapping of fields; this is empty"),
        ("- 1\n", "f.yaml:1: a specification is a mapping of fields; this is a list"),
        ("smollm2\n", "f.yaml:1: a specification is a mapping of fields; this is text"),
        ("1.5\n", "f.yaml:1: a specification is a mapping of fields; this is a number"),
        ("true\n", "f.yaml:1: a specification is a mapping of fields; this is true or false"),
        ("a: &a [*a]\n", "f.yaml:1:4: nested too deeply, or an alias that contains itself"),
        ("a: &a {<<: *a}\n", "f.yaml: nested too deeply"),
        ("[" * 5000, "f.yaml: nested too deeply"),
        ("a: [" + "1, " * 20_000 + "]\n", "f.yaml:1:60002: too many fields"),
    ],
)  # fmt: skip
def test_a_text_that_cannot_be_read(text: str, expected: str) -> None:
    assert problems(text) == [expected]


def test_merges_of_merges_end() -> None:
    assert "too many fields" in problems(LAUGHS)[0]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (".nan", "must be a finite number"),
        ("-.inf", "must be a finite number"),
        ("1e999", "must be a finite number"),
        ("9" * 5000, "a number of 5000 digits"),
        ("!!int x", "cannot be read as a whole number"),
        ('!!int ""', "cannot be read as a whole number"),
        ("!!float x", "cannot be read as a number"),
        ("!!bool maybe", "cannot be read as true or false"),
        ("2020-01-01", "a date; write it in quotes if text is meant"),
        ("!!set {x, y}", "a set; write it in quotes if text is meant"),
        ("!!omap [x: 1]", "an ordered mapping; write it in quotes if text is meant"),
        ("!!binary aGk=", "binary data; write it in quotes if text is meant"),
        ("!!python/object/apply:os.system [ls]", "a value with a tag; write it in quotes if text is meant"),
        ("!!map x", "a value with a tag; write it in quotes if text is meant"),
        ('"\\ud800"', "half of a character (a lone surrogate)"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("field", ["engine: {args: {a: VALUE}}", "replicas: VALUE", "fabric: {hcas: [VALUE]}"])
def test_a_value_that_json_could_not_say_is_one_problem_at_its_place(field: str, value: str, expected: str) -> None:
    (found,) = problems(GOOD + field.replace("VALUE", value) + "\n")
    assert re.fullmatch(r"f\.yaml:3:\d+: (engine\.args\.a|replicas|fabric\.hcas\.0): " + re.escape(expected), found)


@pytest.mark.parametrize(
    ("name", "shown"),
    [("1", "1"), ("~", "..."), ("true", "true"), ("? [a, b]\n", "..."), ("? {a: b}\n", "..."), ('"\\ud800"', "...")],
)
def test_a_field_whose_name_is_no_text(name: str, shown: str) -> None:
    (found,) = problems(f"{GOOD}{name}: 1\n")
    assert re.fullmatch(rf"f\.yaml:3:\d: {re.escape(shown)}: a field's name must be text", found)


def test_what_an_alias_repeats_is_wrong_in_both_places() -> None:
    found = problems(GOOD + "engine: {args: {a: &a .nan, b: *a}}\n")
    assert found == [f"f.yaml:3:{c}: engine.args.{n}: must be a finite number" for c, n in ((17, "a"), (29, "b"))]


def test_a_merged_mistake_is_blamed_where_it_is_written() -> None:
    assert problems(f"{GOOD}engine: {{env: &e {{A: []}}}}\nnodes: {{<<: *e}}\n")[0].startswith(
        "f.yaml:3:19: engine.env.A: "
    )
    assert problems(GOOD + "engine: {env: &e {A: x}}\nnodes: {<<: [*e]}\n") == ["f.yaml:3:19: nodes.A: unknown field"]


def test_a_name_that_is_no_text_is_found_where_it_is_merged_in() -> None:
    for name in ("1", "[a, b]", "{a: b}"):
        assert problems(f"{GOOD}nodes: {{<<: {{{name}: 2}}}}\n")[0].endswith("a field's name must be text")


def test_yaml_1_2_has_two_words_for_true_and_false() -> None:
    with pytest.raises(SpecError) as e:
        parse_spec(GOOD + "parallelism: {expert: yes}\n")
    assert "must be true or false, not 'yes'" in str(e.value)
    assert "allowed: true, false (YAML 1.2: yes, no, on and off are text)" in str(e.value)


def test_only_what_is_printable_reaches_the_terminal() -> None:
    with pytest.raises(SpecError) as e:
        parse_spec(GOOD + '"\\e[31mred": 1\n"a\\nb": 2\nfabric: {type: "\\e]0;x\\a"}\n')
    assert all(c.isprintable() or c == "\n" for c in str(e.value))


def test_a_long_line_is_shown_around_its_mistake() -> None:
    text = (
        "{name: x, model: {source: a/b}, engine: {args: {a: '"
        + "y" * 5000
        + "'}}, replica: 1, limits: {}"
        + " " * 500
        + "}"
    )
    with pytest.raises(SpecError) as e:
        parse_spec(text)
    _, shown, caret, _ = str(e.value).splitlines()
    assert len(shown) < 140
    assert shown[caret.index("^") :].startswith("replica: 1")


def test_many_mistakes_in_one_long_line_are_answered_in_seconds_and_bytes() -> None:
    assert sum(map(len, problems("{" + ", ".join(f"k{i}: 1" for i in range(2000)) + "}"))) < 100_000


@settings(max_examples=300, deadline=None)
@given(st.text() | st.text(alphabet="abe:{}[]&*-,'\"#\n\t ?|>!%@<.~1", max_size=60))
def test_any_text_loads_or_is_answered(text: str) -> None:
    try:
        parse_spec(text)
    except UserError as e:
        assert e.exit_code == 2


@settings(max_examples=300, deadline=None)
@given(
    st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=40) | st.sampled_from(["\x85", "\u2028", "\r", "\ufeff", "- ", "? "]),
    st.integers(0, 60),
)  # fmt: skip
def test_positions_lie_inside_the_file_and_in_its_order(noise: str, at: int) -> None:
    text = GOOD[:at] + noise + GOOD[at:]
    try:
        parse_spec(text)
    except SpecError as e:
        lines = re.split(r"\r\n|\r|\n", text.removeprefix("\ufeff"))
        places = [(p.line or 0, p.column or 0) for p in e.problems]
        assert places == sorted(places)
        for line, column in places:
            assert 0 <= line <= len(lines)
            assert column <= (len(lines[line - 1]) + 1 if line else 0)
