"""The words of the lint room: rules, what they see, what they find."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

from raygang.gang import Context, Verdict, effective
from raygang.objects import Bundle, Group, Manifest, Path, RayWorkload

Severity = Literal["error", "warning", "info"]
ORDER: tuple[Severity, ...] = ("error", "warning", "info")


@dataclass(frozen=True)
class Edit:
    """One step of a fix.

    Attributes:
        action: "set" the value of a field (and make it and its parents where they are absent), "delete" a field,
            "move" a field to another path with its value.
        path: the field.
        value: for "set", the value; for "move", the new path.
    """

    action: Literal["set", "delete", "move"]
    path: Path
    value: Any = None


@dataclass(frozen=True)
class Found:
    """What a rule's check reports.

    Attributes:
        path: the field to blame, in the manifest that the check was given.
        what: what is wrong, with the values at hand.
        write: what to write instead.
        because: what happens because of it; the rule's own sentence when empty.
        fix: the certain way to mend it, empty when there is none.
        severity: the rule's own when None.
        key: blame the field's name rather than its value.
        manifest: the manifest to blame, when it is another than the one that the check was given.
    """

    path: Path
    what: str
    write: str = ""
    because: str = ""
    fix: tuple[Edit, ...] = ()
    severity: Severity | None = None
    key: bool = False
    manifest: Manifest | None = None


@dataclass(frozen=True)
class Unchecked:
    """What a check could not know, and how to tell it: for example "KubeRay's version (--kuberay)"."""

    needs: str


@dataclass(frozen=True)
class Case:
    """A Ray workload, the bundle that it is in, and what is known of the cluster."""

    workload: RayWorkload
    bundle: Bundle
    context: Context

    @cached_property
    def verdict(self) -> Verdict:
        """The gang that it would really get."""
        return effective(self.workload, self.bundle, self.context)

    @property
    def groups(self) -> tuple[Group, ...]:
        """The head, then the groups of workers."""
        return self.workload.groups

    @property
    def workers(self) -> tuple[Group, ...]:
        """The groups of workers."""
        return self.workload.groups[1:]


Report = Iterator[Found | Unchecked]
CheckCase = Callable[[Case], Report]
CheckManifest = Callable[[Manifest, Bundle, Context], Report]


@dataclass(frozen=True)
class Rule:
    """A claim about other software, and how to see that a manifest goes against it.

    Attributes:
        code: RAY001, for example.
        name: resources-unquoted, for example.
        severity: of its findings, where the check says nothing else.
        title: what is wrong, in a few words.
        because: what happens because of it, in one sentence.
        why: what is behind it, in a paragraph or more (Markdown).
        write: what to write instead, in general.
        since: the versions that it is true of.
        source: where it can be read.
        bad: YAML that it finds.
        good: the same, mended.
        check: for each Ray workload; None when `check_manifest` or another room does it.
        check_manifest: for each manifest of any kind.
    """

    code: str
    name: str
    severity: Severity
    title: str
    because: str
    why: str
    write: str
    since: str
    source: str
    bad: str
    good: str
    check: CheckCase | None = field(default=None, repr=False, compare=False)
    check_manifest: CheckManifest | None = field(default=None, repr=False, compare=False)

    @property
    def topic(self) -> str:
        """The letters of its code."""
        return self.code.rstrip("0123456789")


@dataclass(frozen=True, order=True)
class Finding:
    """A finding, in the order of file and place."""

    file: str
    line: int
    column: int
    code: str
    name: str = field(compare=False)
    severity: Severity = field(compare=False)
    object: str = field(compare=False)
    """RayCluster/name, for example; empty where the text is no object."""
    path: str = field(compare=False)
    what: str
    because: str = field(compare=False)
    write: str = field(compare=False)
    page: str = field(compare=False)
    """Where the rule stands in the documentation's site; `raygang rule CODE` prints the same."""
    end_line: int = field(compare=False, default=0)
    fix: tuple[Edit, ...] = field(compare=False, default=(), repr=False)
    document: int = field(compare=False, default=0, repr=False)


@dataclass(frozen=True)
class Outcome:
    """All that linting gave.

    Attributes:
        findings: in the order of file and place.
        unchecked: what was not checked, one sentence each: "GANG009: needs Kubernetes' version (--kubernetes)".
        files: files that were read.
        documents: objects that were read.
        workloads: Ray workloads among them.
        ignored: findings that a comment ignores.
    """

    findings: tuple[Finding, ...]
    unchecked: tuple[str, ...] = ()
    files: int = 0
    documents: int = 0
    workloads: int = 0
    ignored: int = 0

    def worst(self) -> Severity | None:
        """The highest severity that was found."""
        return next((s for s in ORDER if any(f.severity == s for f in self.findings)), None)
