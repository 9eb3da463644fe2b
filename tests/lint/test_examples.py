"""Every rule's page: its bad example has the finding, its good example has not, and sound manifests have none at all."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Literal

import pytest

from raygang.lint import RULES, Finding, Rule, Severity, Source, lint
from raygang.lint.model import ORDER
from raygang.lint.registry import by
from raygang.lint.rules import TOPICS
from tests.lint.base import BASES, documents

TEXT_TOPICS = ("TEXT", "IGN")  # their examples are whole texts
WITHOUT_EXAMPLE = ("TEXT001",)  # about a file that cannot be read
ON_OBJECTS = [rule for rule in RULES.values() if rule.topic not in TEXT_TOPICS]
ON_TEXTS = [rule for rule in RULES.values() if rule.topic in TEXT_TOPICS and rule.code not in WITHOUT_EXAMPLE]


def found(text: str) -> list[Finding]:
    return list(lint([Source("example.yaml", text)]).findings)


def whole(example: str) -> str:
    return "\n---\n".join(json.dumps(document) for document in documents(example))


@pytest.mark.parametrize("rule", ON_OBJECTS, ids=lambda rule: rule.code)
def test_the_bad_example_is_found_and_the_good_one_is_not(rule: Rule) -> None:
    assert rule.code in {finding.code for finding in found(whole(rule.bad))}
    assert rule.code not in {finding.code for finding in found(whole(rule.good))}


@pytest.mark.parametrize("rule", ON_TEXTS, ids=lambda rule: rule.code)
def test_the_bad_text_is_found_and_the_good_one_is_not(rule: Rule) -> None:
    assert rule.code in {finding.code for finding in found(rule.bad)}
    assert rule.code not in {finding.code for finding in found(rule.good)}


@pytest.mark.parametrize("kind", BASES)
def test_a_sound_manifest_has_no_finding(kind: str) -> None:
    assert [f"{f.code} {f.path}: {f.what}" for f in found(json.dumps(BASES[kind]))] == []


@pytest.mark.parametrize("rule", RULES.values(), ids=lambda rule: rule.code)
def test_a_rule_says_what_why_what_instead_since_when_and_where_it_is_written(rule: Rule) -> None:
    severities: tuple[Severity, ...] = ORDER
    assert rule.severity in severities
    for words in (rule.title, rule.because, rule.why, rule.write, rule.since, rule.source):
        assert words.strip() == words != ""
        assert not words.endswith((",", ";", ":"))
    assert rule.name == rule.name.lower() and " " not in rule.name


def test_codes_and_names_of_all_rules_are_there_once() -> None:
    rules = [rule for topic in TOPICS for rule in topic]
    assert len(rules) == len({rule.code for rule in rules}) == len({rule.name for rule in rules}) == len(RULES)


@pytest.mark.parametrize("field", ["code", "name"])
def test_two_rules_with_the_same_code_or_name_are_refused(field: Literal["code", "name"]) -> None:
    one, other = RULES["SEC002"], RULES["BUN007"]
    twin = replace(other, **{field: getattr(one, field)})
    with pytest.raises(ValueError, match=getattr(one, field)):
        by(field, (one, twin))
    assert list(by(field, (one, other)).values()) == [one, other]
