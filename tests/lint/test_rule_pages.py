"""The pages of rules: complete, the same everywhere, and up to date in the documentation."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from raygang.lint import RULES, Rule, page
from raygang.lint.pages import index_page, rule_page, rules_of, topic_page, topics

ROOT = Path(__file__).parents[2]


def test_the_documentation_is_up_to_date() -> None:
    command = (sys.executable, "tools/rule_pages.py", "--check")
    done = subprocess.run(command, cwd=ROOT, text=True, capture_output=True, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (0, ""), "python tools/rule_pages.py"


@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
def test_a_page_says_what_happens_why_and_what_to_write(rule: Rule) -> None:
    text = rule_page(rule)
    assert text.startswith(f"# {rule.code}: ")
    for part in (rule.name, rule.severity, rule.because, rule.why, rule.write, rule.bad.rstrip(), rule.good.rstrip()):
        assert part in text
    assert text.count("```") % 2 == 0
    assert "\n\n\n" not in text.replace(rule.bad, "").replace(rule.good, "")


def test_without_an_example_there_is_no_empty_one() -> None:
    assert "```" not in rule_page(RULES["TEXT001"])


def test_versions_and_sources_are_no_markup() -> None:
    text = rule_page(RULES["OBS001"])
    assert re.search(r"\*\*Source:\*\* .+", text)
    assert not re.search(r"(?<![\\\w])_", text.split("**Source:**")[1])


def test_the_address_of_a_rule_leads_to_its_heading() -> None:
    for rule in RULES.values():
        folder, _, anchor = page(rule).removeprefix("rules/").partition("/#")
        assert f"{{ #{anchor} }}" in topic_page(folder.upper())


def test_the_index_leads_to_every_rule_once() -> None:
    links = re.findall(r"\]\((\w+)\.md#(\w+)\)", index_page())
    assert sorted(anchor.upper() for _, anchor in links) == sorted(RULES)
    assert all(anchor.startswith(folder) for folder, anchor in links)


def test_every_rule_has_a_topic_with_a_name() -> None:
    assert sorted(rule.code for topic in topics() for rule in rules_of(topic)) == sorted(RULES)


def test_the_site_leads_to_every_topic() -> None:
    config = yaml.safe_load((ROOT / "mkdocs.yml").read_text())
    (listed,) = (entry["Rules"] for entry in config["nav"] if "Rules" in entry)
    assert [name for entry in listed[1:] for name in entry] == list(topics())
    assert [path for entry in listed[1:] for path in entry.values()] == [f"rules/{t.lower()}.md" for t in topics()]


def test_the_manual_of_the_linter_names_no_rule_that_is_not_there() -> None:
    text = (ROOT / "docs" / "lint.md").read_text()
    assert set(re.findall(r"\b[A-Z]{2,6}\d{3}\b", text)) <= set(RULES)
