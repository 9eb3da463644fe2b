"""`raygang rule` and `raygang rules`."""

from __future__ import annotations

import json
import sys

from rich.markdown import Markdown

from raygang.cli._choice import rule_named
from raygang.cli._console import out
from raygang.lint import RULES, page
from raygang.lint.pages import TOPICS, rule_page, rules_of, topics


def show(word: str) -> None:
    text = rule_page(rule_named(word))
    if out.is_terminal:
        out.print(Markdown(text), soft_wrap=False)
    else:
        sys.stdout.write(text)


def show_all(*, as_json: bool) -> None:
    if as_json:
        sys.stdout.write(json.dumps([facts(code) for code in RULES], indent=2) + "\n")
        return
    width = max(len(code) for code in RULES), max(len(rule.name) for rule in RULES.values())
    for topic in topics():
        out.print(f"[bold]{topic}[/]: {TOPICS[topic]}")
        for rule in rules_of(topic):
            line = f"  {rule.code:{width[0]}}  {rule.name:{width[1]}}  {rule.severity:7}  {rule.title}"
            out.print(line, markup=False)


def facts(code: str) -> dict[str, str]:
    rule = RULES[code]
    return {
        "code": rule.code,
        "name": rule.name,
        "topic": rule.topic,
        "severity": rule.severity,
        "title": rule.title,
        "because": rule.because,
        "write": rule.write,
        "since": rule.since,
        "source": rule.source,
        "page": page(rule),
    }
