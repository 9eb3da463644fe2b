"""Fixes: what rules are certain about, written into the text with its comments and its layout kept."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from raygang.gang import Context
from raygang.lint._edits_apply import Target, Text
from raygang.lint._edits_data import EditRefusedError, Step
from raygang.lint._edits_nodes import Splice
from raygang.lint.engine import Wanted, lint
from raygang.lint.model import Finding
from raygang.lint.source import Source, Unreadable
from raygang.objects import Path

MAX_ROUNDS = 20
_BOM = "\ufeff"


@dataclass(frozen=True)
class Fixed:
    """What became of a text.

    Attributes:
        name: its name.
        old: as it was.
        new: with all fixes that could be made; lines that no fix is about are the same, byte for byte.
        fixed: the findings that were mended, in the order of their mending.
        refused: the findings that have a fix which could not be made, and why, in one sentence.
    """

    name: str
    old: str
    new: str
    fixed: tuple[Finding, ...] = ()
    refused: tuple[tuple[Finding, str], ...] = ()


_Key = tuple[int, str, str, str]  # document, code, path, what is wrong
_Job = tuple[Finding, list[tuple[int, Step]]]


@dataclass
class _Work:
    """A text on its way: what was mended in it, and what was not and why."""

    old: str
    text: Text
    fixed: list[Finding] = field(default_factory=list)
    done: set[_Key] = field(default_factory=set)
    refused: dict[_Key, str] = field(default_factory=dict)

    def mended(self, finding: Finding) -> None:
        self.fixed.append(finding)
        self.done.add(_key(finding))


def fix(
    texts: Iterable[Source | Unreadable],
    context: Context | None = None,
    *,
    wanted: Wanted = lambda code: True,
    there: Sequence[Mapping[str, Any]] = (),
) -> list[Fixed]:
    """Everything mended that rules are certain about, until nothing is left to mend. Nothing is written.

    Args:
        texts: what to read, linted as one bundle; of texts that could not be read nothing is returned.
        context: what is known of the cluster.
        wanted: whether a rule's code was asked for.
        there: objects that the cluster has already.
    """
    works = [_Work(text.text, Text(text, 0)) for text in texts if isinstance(text, Source)]
    open_findings: list[Finding] = []
    for _ in range(MAX_ROUNDS):
        first = 0
        for work in works:
            work.text = Text(Source(work.text.source.name, work.text.source.text.removeprefix(_BOM)), first)
            first += len(work.text.read.documents)
        outcome = lint([work.text.source for work in works], context, wanted=wanted, there=there)
        open_findings = [finding for finding in outcome.findings if finding.fix]
        if not sum(_round(work, open_findings) for work in works):
            break
    return [_result(work, open_findings) for work in works]


def _result(work: _Work, findings: list[Finding]) -> Fixed:
    bom = _BOM if work.old.startswith(_BOM) else ""
    mine = [finding for finding in findings if work.text.document(finding.document)]
    unsettled = f"it is not settled after {MAX_ROUNDS} rounds"
    refused = tuple((finding, work.refused.get(_key(finding), unsettled)) for finding in mine)
    return Fixed(work.text.source.name, work.old, bom + work.text.source.text, tuple(work.fixed), refused)


def _key(finding: Finding) -> _Key:
    return finding.document, finding.code, finding.path, finding.what


def _round(work: _Work, findings: list[Finding]) -> int:
    """Mend what can be mended without one fix touching the fields of another. How many were mended."""
    before, touched = len(work.fixed), _Touched()
    pending: list[_Job] = []
    for finding in findings:
        if work.text.document(finding.document) is None or _key(finding) in work.refused:
            continue
        if _key(finding) in work.done:
            work.refused[_key(finding)] = "the finding is still there after its fix"
            continue
        try:
            steps = work.text.wanted(finding)
        except EditRefusedError as e:
            work.refused[_key(finding)] = str(e)
            continue
        if touched.claim(steps):
            pending.append((finding, steps))
    while pending:
        pending = _pass(work, pending)
    return len(work.fixed) - before


def _pass(work: _Work, pending: list[_Job]) -> list[_Job]:
    """Make those whose places in the text do not touch, all in one; the others are left for the next pass."""
    batch: list[tuple[_Job, list[Target]]] = []
    alone: list[_Job] = []
    later: list[_Job] = []
    taken: list[Splice] = []
    for job in pending:
        targets = _targets(work.text, job)
        splices = [splice for target in targets for splice in target.splices]
        if not targets or not _in_order(splices):
            alone.append(job)
        elif _touching(splices, taken):
            later.append(job)
        else:
            taken += splices
            batch.append((job, targets))
    try:
        work.text = work.text.after(target for _, targets in batch for target in targets)
        for (finding, _), _targets_of_it in batch:
            work.mended(finding)
    except EditRefusedError:
        alone += [job for job, _ in batch]
    for job in alone:
        _alone(work, job)
    return later


def _targets(text: Text, job: _Job) -> list[Target]:
    """Where its steps take place; nothing where one of them needs another to be made first, or cannot be made."""
    try:
        return [text.target(tree, step) for tree, step in job[1]]
    except EditRefusedError:
        return []


def _alone(work: _Work, job: _Job) -> None:
    """Make a fix step by step, wholly or not at all."""
    finding, steps = job
    text = work.text
    try:
        for tree, step in steps:
            text = text.after([text.target(tree, step)])
    except EditRefusedError as e:
        work.refused[_key(finding)] = str(e)
        return
    work.text = text
    work.mended(finding)


def _in_order(splices: list[Splice]) -> bool:
    inside = sorted(splices, key=lambda splice: (splice.start, splice.end))
    return all(one.end <= other.start and one != other for one, other in pairwise(inside))


def _touching(splices: list[Splice], taken: list[Splice]) -> bool:
    return any(one.start <= other.end and other.start <= one.end for one in splices for other in taken)


class _Touched:
    """The fields that the fixes of a round are about."""

    def __init__(self) -> None:
        self._paths: set[tuple[str | int, ...]] = set()
        self._above: set[tuple[str | int, ...]] = set()

    def claim(self, steps: list[tuple[int, Step]]) -> bool:
        """Take the fields of a fix; False where another has them, or has taken an item out of a list above them."""
        paths = [(tree, *_scope(step)) for tree, step in steps]
        for path in paths:
            if path in self._above or any(path[:length] in self._paths for length in range(1, len(path) + 1)):
                return False
        for path in paths:
            self._paths.add(path)
            self._above.update(path[:length] for length in range(1, len(path)))
        return True


def _scope(step: Step) -> Path:
    if step.rename is not None:
        return step.path[:-1]
    return step.path[:-1] if step.delete and isinstance(step.path[-1], int) else step.path
