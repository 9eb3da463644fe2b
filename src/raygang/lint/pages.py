"""The documentation of rules, as Markdown, from the rules themselves."""

from __future__ import annotations

import re
from collections.abc import Iterator

from raygang.lint.model import Rule
from raygang.lint.registry import RULES

TOPICS: dict[str, str] = {
    "AUTO": "Autoscaling",
    "BUN": "Objects beside the workload",
    "DNS": "Names in the pods' network",
    "ENG": "The engine",
    "GANG": "Gang scheduling",
    "HEAD": "The head",
    "HOST": "Pods on the node's network",
    "IGN": "Comments that ignore findings",
    "JOB": "RayJobs",
    "NAME": "Names and labels",
    "NET": "Networks, NCCL and RDMA",
    "OBS": "Observability",
    "POD": "Pods",
    "PROBE": "Probes",
    "RAY": "Ray and KubeRay",
    "RES": "Resources of containers",
    "SCHEMA": "KubeRay's schema",
    "SEC": "Security",
    "SHM": "Shared memory",
    "SRV": "Ray Serve",
    "TEXT": "Files",
    "UPG": "Upgrades",
    "VER": "Versions",
}
_FRAGMENTS = "Examples are parts of manifests: they show the fields that matter to the rule."
_MARKUP = re.compile(r"(?<![A-Za-z0-9])_|[*<\\]")


def rule_page(rule: Rule, *, level: int = 1, anchor: bool = False) -> str:
    """A rule's page.

    Args:
        rule: the rule.
        level: of its heading.
        anchor: give the heading an anchor of its own, the code in small letters, as Python-Markdown's attr_list
            writes it; other readers of Markdown would show it.
    """
    mark = f" {{ #{rule.code.lower()} }}" if anchor else ""
    parts = [
        f"{'#' * level} {rule.code}: {_plain(rule.title)}{mark}",
        f"`{rule.name}`, {rule.severity}",
        f"**What happens:** {_sentence(rule.because)}",
        rule.why,
        f"**Write instead:** {_sentence(rule.write)}",
        *_examples(rule),
        f"**True of:** {_plain(rule.since)}",
        f"**Source:** {_plain(rule.source)}",
    ]
    return "\n\n".join(parts) + "\n"


def topics() -> tuple[str, ...]:
    """The letters of all topics. Raises KeyError for one that has no name in TOPICS."""
    return tuple(sorted({rule.topic for rule in RULES.values() if TOPICS[rule.topic]}))


def rules_of(topic: str) -> list[Rule]:
    """The rules of a topic, by their codes."""
    return sorted((rule for rule in RULES.values() if rule.topic == topic), key=lambda rule: rule.code)


def topic_page(topic: str) -> str:
    """The page of all rules of a topic, for the documentation's site."""
    pages = (rule_page(rule, level=2, anchor=True) for rule in rules_of(topic))
    return "\n".join([f"# {topic}: {TOPICS[topic]}\n", f"{_FRAGMENTS}\n", *pages])


def index_page() -> str:
    """The page that lists all rules and leads to them."""
    head = (
        "# Rules\n\n"
        f"{len(RULES)} rules, by topic. `raygang rule CODE` prints what stands here, and [lint](../lint.md) says how "
        "to use them.\n"
    )
    return "\n".join([head, *(_table(topic) for topic in topics())])


def _table(topic: str) -> str:
    rows = [f"## {topic}: {TOPICS[topic]}", "", "| code | name | severity | what |", "|---|---|---|---|"]
    for rule in rules_of(topic):
        link = f"[{rule.code}]({topic.lower()}.md#{rule.code.lower()})"
        rows.append(f"| {link} | `{rule.name}` | {rule.severity} | {_plain(rule.title).replace('|', '&#124;')} |")
    return "\n".join([*rows, ""])


def _examples(rule: Rule) -> Iterator[str]:
    if rule.bad:
        yield f"Found:\n\n```yaml\n{rule.bad.rstrip()}\n```"
    if rule.good:
        yield f"Better:\n\n```yaml\n{rule.good.rstrip()}\n```"


def _sentence(text: str) -> str:
    return text if text.endswith((".", "`")) else f"{text}."


def _plain(text: str) -> str:
    """A text in which no character is markup but those between backticks."""
    parts = text.split("`")
    parts[::2] = [_MARKUP.sub(lambda found: f"\\{found[0]}", part) for part in parts[::2]]
    return "`".join(parts)
