"""The words of the gang room: what a scheduler is asked, and what it answers."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, Protocol

from raygang.gang.state import Explanation, State
from raygang.objects import Bundle, Entry, Group, Manifest, Path, RayWorkload, Version
from raygang.plan import Gang

if TYPE_CHECKING:
    from raygang.spec import Spec

Severity = Literal["error", "warning", "info"]


@dataclass(frozen=True)
class Context:
    """What is known of the cluster. None: not known.

    Attributes:
        scheduler: the gang scheduler that the cluster runs and KubeRay's operator is set up for: a name of
            `scheduler.type`; "none" when there is none.
        kuberay: KubeRay's version.
        kubernetes: Kubernetes' version.
    """

    scheduler: str | None = None
    kuberay: Version | None = None
    kubernetes: Version | None = None

    def runs(self, scheduler: str) -> bool | None:
        """Whether the cluster is set up for a scheduler."""
        return None if self.scheduler is None else self.scheduler == scheduler


@dataclass(frozen=True)
class Request:
    """What makes a scheduler form a gang.

    Attributes:
        labels: of the Ray workload; KubeRay copies a RayService's to its RayCluster.
        annotations: of the Ray workload.
        pod_labels: of the head's and the workers' pod templates.
        pod_annotations: likewise.
        pod_fields: of their specs.
        objects: to be applied before the workload.
        needs: what the cluster must have, in sentences.
    """

    labels: tuple[Entry, ...] = ()
    annotations: tuple[Entry, ...] = ()
    pod_labels: tuple[Entry, ...] = ()
    pod_annotations: tuple[Entry, ...] = ()
    pod_fields: tuple[Entry, ...] = ()
    objects: tuple[dict[str, Any], ...] = ()
    needs: tuple[str, ...] = ()


@dataclass(frozen=True)
class Sign:
    """A field that speaks to one scheduler only."""

    path: Path
    text: str


@dataclass(frozen=True)
class Change:
    """One step of a certain fix.

    Attributes:
        action: "set" a field (and make it and its parents where they are absent), "delete" it, or "move" it.
        path: the field.
        value: for "set" the value, for "move" the new path.
    """

    action: Literal["set", "delete", "move"]
    path: Path
    value: Any = None


@dataclass(frozen=True)
class Cause:
    """Why a gang is not what it could be.

    Attributes:
        rule: the kind of mistake; a lint rule goes by the same name.
        path: the field to blame.
        why: what happens because of it, in one sentence.
        advice: what to write instead.
        severity: "error" where no whole gang forms because of it.
        manifest: whose field it is, when it is not the workload's.
        fix: the certain way to mend it, empty where there is none.
    """

    rule: str
    path: Path
    why: str
    advice: str
    severity: Severity = "error"
    manifest: Manifest | None = None
    fix: tuple[Change, ...] = ()


@dataclass(frozen=True)
class Unseen:
    """What could not be judged, because an object is not among the manifests.

    Attributes:
        rule: the kind of mistake that it might be.
        what: the object.
    """

    rule: str
    what: str


@dataclass(frozen=True)
class Verdict:
    """The gang that a workload would really get.

    Attributes:
        scheduler: who would form it.
        gang: None when its pods are scheduled one by one, or never.
        causes: why it is not what was wanted, and what else is wrong with the request.
        assumes: facts about the cluster that were not given and that the gang depends on.
        unseen: objects that the gang depends on and that are not among the manifests.
    """

    scheduler: str
    gang: Gang | None
    causes: tuple[Cause, ...] = ()
    assumes: tuple[str, ...] = ()
    unseen: tuple[Unseen, ...] = ()

    def adding(self, causes: Iterable[Cause], unseen: Iterable[Unseen] = ()) -> Verdict:
        """The same with more to say."""
        return replace(self, causes=(*self.causes, *causes), unseen=(*self.unseen, *unseen))


class Scheduler(Protocol):
    """What each module of this room answers about its scheduler."""

    NAME: str

    def request(self, gang: Gang, spec: Spec) -> Request:
        """What to write so that the gang forms.

        Raises:
            SpecError: the specification lacks something that this scheduler cannot do without.
        """

    def signs(self, workload: RayWorkload, bundle: Bundle) -> tuple[Sign, ...]:
        """Fields by which the workload asks for this scheduler and no other."""

    def effective(self, workload: RayWorkload, bundle: Bundle, context: Context) -> Verdict:
        """The gang that the workload would get in a cluster like that."""

    def explain(self, state: State) -> Explanation:
        """Why the gang is pending."""


def gang_of(workload: RayWorkload, queue: str | None, minimum: dict[str, int]) -> Gang:
    """All pods of a workload, with another minimum than all for some groups."""
    members = tuple((group.name, group.pods) for group in workload.groups if group.pods)
    return Gang(workload.name, members, sum(minimum.get(name, pods) for name, pods in members), queue)


def largest(workload: RayWorkload) -> Group:
    """The group that a message about the whole gang points at: the one with the most pods."""
    return max(workload.groups[1:] or workload.groups, key=lambda group: group.pods)
