"""Linting: every rule over every object, findings in the order of their places."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from raygang.gang import Context
from raygang.lint._yaml import Place
from raygang.lint.ignore import Ignore, ignores
from raygang.lint.model import Case, Finding, Found, Outcome, Report, Rule, Unchecked
from raygang.lint.registry import RULES, page, rule_of
from raygang.lint.source import Document, Read, Source, Unreadable, parse
from raygang.objects import Bundle, Manifest, Path, RayWorkload, ray_workloads

Wanted = Callable[[str], bool]


@dataclass
class _Run:
    """What one linting has gathered so far."""

    context: Context
    rules: tuple[Rule, ...]
    findings: list[Finding] = field(default_factory=list)
    unchecked: set[str] = field(default_factory=set)


def lint(
    texts: Iterable[Source | Unreadable],
    context: Context | None = None,
    *,
    wanted: Wanted = lambda code: True,
    there: Sequence[Mapping[str, Any]] = (),
) -> Outcome:
    """Everything that is wrong with the Ray workloads of some texts, as one bundle.

    Args:
        texts: what to read (`raygang.lint.sources` gives those of files).
        context: what is known of the cluster.
        wanted: whether a rule's code was asked for.
        there: objects that the cluster has already, as plain data: rules look at them, and find nothing in them.
    """
    run = _Run(context or Context(), tuple(rule for rule in RULES.values() if wanted(rule.code)))
    found, count = [], 0
    for text in texts:
        if isinstance(text, Unreadable):
            run.findings.append(_unreadable(text))
            continue
        read = parse(text, count)
        count += len(read.documents)
        found.append(read)
    documents = [document for read in found for document in read.documents]
    bundle = _with(there, tuple(document.manifest for document in documents))
    workloads = [workload for workload in ray_workloads(bundle) if workload.manifest.index < count]
    for read in found:
        _text(run, read)
    _objects(run, documents, bundle, workloads)
    kept, ignored = _ignored(run, found)
    kept = [finding for finding in kept if wanted(finding.code)]
    return Outcome(
        tuple(sorted(set(kept))), tuple(sorted(run.unchecked)), len(found), len(documents), len(workloads), ignored
    )


def _with(there: Sequence[Mapping[str, Any]], given: tuple[Manifest, ...]) -> Bundle:
    """What was given, and behind it what the cluster has beside it."""
    known = {(m.group, m.kind, m.namespace, m.name) for m in given}
    others = [Manifest(data, len(given) + index) for index, data in enumerate(there)]
    return Bundle((*given, *(m for m in others if (m.group, m.kind, m.namespace, m.name) not in known)))


def _objects(run: _Run, documents: list[Document], bundle: Bundle, workloads: list[RayWorkload]) -> None:
    for document in documents:
        for rule in run.rules:
            if rule.check_manifest:
                _report(run, rule, document, rule.check_manifest(document.manifest, bundle, run.context), documents)
    for workload in workloads:
        case = Case(workload, bundle, run.context)
        document = documents[workload.manifest.index]
        for rule in run.rules:
            if rule.check:
                _report(run, rule, document, rule.check(case), documents)


def _report(run: _Run, rule: Rule, document: Document, report: Report, documents: list[Document]) -> None:
    for item in report:
        if isinstance(item, Unchecked):
            run.unchecked.add(f"{rule.code} ({rule.title}): not checked, needs {item.needs}")
            continue
        run.findings.append(_finding(rule, *_blamed(document, item, documents)))


def _blamed(document: Document, item: Found, documents: list[Document]) -> tuple[Document, Found]:
    """Where the fault stands; one in an object of the cluster is told of the workload that meets it."""
    other = item.manifest
    if other is None:
        return document, item
    if other.index < len(documents):
        return documents[other.index], item
    what = f"{item.what} ({other.kind} {other.name} of the cluster, {dotted(item.path)})"
    return document, replace(item, path=(), what=what, fix=())


def _finding(rule: Rule, document: Document, item: Found) -> Finding:
    place = document.place(item.path, key=item.key)
    manifest = document.manifest
    return Finding(
        file=document.source.name,
        line=place.line,
        column=place.column,
        code=rule.code,
        name=rule.name,
        severity=item.severity or rule.severity,
        object=f"{manifest.kind}/{manifest.name}",
        path=dotted(item.path),
        what=item.what,
        because=item.because or rule.because,
        write=item.write or rule.write,
        page=page(rule),
        end_line=document.span(item.path)[1] if item.path else place.line,
        fix=tuple(item.fix),
        document=manifest.index,
    )


def dotted(path: Path) -> str:
    """A path as people write it: spec.workerGroupSpecs[0].replicas."""
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f"[{part}]"
        elif part.replace("_", "").replace("-", "").isalnum():
            text += f".{part}" if text else part
        else:
            text += f"[{part!r}]"
    return text


def _plain(name: str, file: str, place: Place, what: str) -> Finding:
    rule = rule_of(name)
    return Finding(
        file, place.line, place.column, rule.code, rule.name, rule.severity, "", "", what, rule.because, rule.write,
        page(rule), place.line,
    )  # fmt: skip


def _unreadable(text: Unreadable) -> Finding:
    return _plain("unreadable", text.name, Place(1, 1), text.why)


def _text(run: _Run, read: Read) -> None:
    """What is wrong with a text itself."""
    name = read.source.name
    run.findings += [_plain("not-yaml", name, t.place, t.what) for t in read.troubles]
    run.findings += [_plain("duplicate-key", name, t.place, t.what) for t in read.duplicates]
    run.findings += [_plain("not-an-object", name, place, what) for place, what in read.others]
    if not (read.documents or read.others or read.troubles):
        run.findings.append(_plain("empty-file", name, Place(1, 1), "has no object in it"))


def _ignored(run: _Run, found: list[Read]) -> tuple[list[Finding], int]:
    """The findings that no comment ignores; comments that ignore nothing, or without a reason, are findings too."""
    comments = {read.source.name: ignores(read.source.text) for read in found}
    covering: dict[tuple[str, int, str], Ignore] = {}
    for name, those in comments.items():
        for ignore in those:
            for code in ignore.codes:
                covering.setdefault((name, ignore.covers, code), ignore)
    kept = []
    for finding in run.findings:
        hit = covering.get((finding.file, finding.line, finding.code))
        if hit is None:
            kept.append(finding)
        else:
            hit.used.add(finding.code)
    ignored = len(run.findings) - len(kept)
    active = {rule.code for rule in run.rules}
    for name, those in comments.items():
        kept += [f for ignore in those for f in _about(name, ignore, active)]
    return kept, ignored


def _about(file: str, ignore: Ignore, active: set[str]) -> Iterator[Finding]:
    place = Place(ignore.line, ignore.column)
    if not ignore.codes:
        yield _plain("ignore-without-code", file, place, "names no rule in brackets: ignore[RAY001] reason")
    if ignore.codes and not ignore.reason:
        yield _plain("ignore-without-reason", file, place, f"says not why {', '.join(ignore.codes)} is ignored")
    known = {rule.code for rule in RULES.values()}
    for code in ignore.codes:
        if code not in known:
            yield _plain("ignore-unused", file, place, f"there is no rule {code}")
        elif code in active and code not in ignore.used:
            yield _plain("ignore-unused", file, place, f"{code} finds nothing on line {ignore.covers}")
