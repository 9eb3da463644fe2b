"""A misspelt name is answered with the name that was meant."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from raygang.spec import SpecError, parse_spec
from tests.spec.strategies import SECTIONS, one_letter_typos

FIELDS = [(section, name) for section, names in SECTIONS.items() for name in names]


def suggested(section: str, typo: str) -> str | None:
    """What is suggested for a field of a section."""
    content: Any = {typo: 1}
    for part in reversed(section.split(".") if section else []):
        content = [content] if part == "0" else {part: content}
    with pytest.raises(SpecError) as e:
        parse_spec(json.dumps(content))
    path = f"{section}.{typo}".strip(".")
    return next(p.suggestion for p in e.value.problems if p.message == "unknown field" and p.field == path)


@settings(max_examples=400, deadline=None)
@given(st.sampled_from(FIELDS), st.data())
def test_one_letter_off_suggests_the_field(field: tuple[str, str], data: st.DataObject) -> None:
    section, name = field
    typo = data.draw(st.sampled_from([t for t in one_letter_typos(name) if t and t not in SECTIONS[section]]))
    meant = suggested(section, typo)
    assert meant == name or (meant in SECTIONS[section] and typo in set(one_letter_typos(str(meant)))), (
        "or another that is as near"
    )


@pytest.mark.parametrize(
    ("section", "typo", "meant"),
    [
        ("kubernetes", "imagePullSecrets", "image_pull_secrets"),
        ("limits", "start-timeout", "start_timeout"),
        ("", "modle", "model"),
        ("", "Nodes", "nodes"),
        ("", "pipeline", "parallelism.pipeline"),
        ("engine", "image", "kubernetes.image"),
        ("", "env", "engine.env"),
        ("", "zebra", None),
    ],
)
def test_other_mistakes_that_people_make(section: str, typo: str, meant: str | None) -> None:
    assert suggested(section, typo) == meant
