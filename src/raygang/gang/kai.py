"""KAI Scheduler (0.10-0.14, pkg/podgrouper/podgrouper/plugins/ray), with or without KubeRay's integration (1.5-1.7).

KAI's own pod grouper makes the PodGroup; a pod needs `schedulerName: kai-scheduler` and the queue's label, which
KubeRay's integration stamps and a template can have as well. Since KAI 0.13 each group of pods is a sub-group with a
minimum of its own; before, one minimum over all let a whole group be missing.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from raygang.gang import _explain_kai
from raygang.gang import _kuberay as kuberay
from raygang.gang.model import Cause, Context, Request, Sign, Verdict, gang_of
from raygang.gang.state import Explanation, State
from raygang.objects import Bundle, Entry, Group, RayWorkload, Version, at, count
from raygang.objects.words import agreed
from raygang.plan import Gang

if TYPE_CHECKING:
    from raygang.spec import Spec

NAME = "kai"
FLAG = SCHEDULER = "kai-scheduler"
DOMAIN = "kai.scheduler"
QUEUE = f"{DOMAIN}/queue"
TOPOLOGY = f"{DOMAIN}/topology"
REQUIRED, PREFERRED = f"{DOMAIN}/topology-required-placement", f"{DOMAIN}/topology-preferred-placement"
INFERENCE = "inference"  # KAI's default priority for Ray is train, which is preemptible (docs/priority)
DEFAULT_QUEUE = "default-queue"  # made by KAI's chart, unless defaultQueue.createDefaultQueue is off
INTEGRATED_SINCE = Version(1, 5)  # KubeRay 1.4 has no kai_scheduler.go
JOBS_SINCE = Version(1, 6)  # KubeRay 1.5's integration refuses every RayJob, 1.6's those in K8sJobMode
SUB_GROUPS = "KAI Scheduler 0.13 or later runs in the cluster"


def request(gang: Gang, spec: Spec) -> Request:
    """Queue, priority and scheduler's name; the topology on each pod template."""
    if gang.queue is None:
        why = f"KAI puts a gang without a queue into {DEFAULT_QUEUE}, and where there is none it waits for ever"
        raise spec.problem("scheduler.queue", f"is needed: {why}")
    topology = spec.scheduler.topology
    annotations: tuple[Entry, ...] = ()
    if topology:
        if topology.name is None:
            raise spec.problem("scheduler.topology.name", "KAI needs the name of the Topology object with this level")
        key, word = (REQUIRED, "waits for") if topology.required else (PREFERRED, "prefers")
        annotations = (
            Entry(TOPOLOGY, topology.name, "the Topology object that has the level"),
            Entry(key, topology.level, f"each group of pods {word} one domain of this level"),
        )
    priority = spec.scheduler.priority_class or INFERENCE
    queue = Entry(QUEUE, gang.queue, "KAI's queue")
    return Request(
        labels=(queue, Entry(kuberay.PRIORITY, priority, "KAI's default for Ray, train, can be preempted")),
        pod_labels=(queue,),
        pod_annotations=annotations,
        pod_fields=(Entry("schedulerName", SCHEDULER, "works with and without KubeRay's own integration"),),
        needs=(f"KAI Scheduler 0.13 or later, with the queue {gang.queue}",),
    )


def signs(workload: RayWorkload, bundle: Bundle) -> tuple[Sign, ...]:
    """KAI's labels and annotations, and its name in pod templates."""
    found = [*kuberay.scheduler_names(workload, SCHEDULER), *kuberay.label_signs(workload, DOMAIN)]
    return (*found, *kuberay.template_signs(workload, DOMAIN))


def effective(workload: RayWorkload, bundle: Bundle, context: Context) -> Verdict:
    """The PodGroup that KAI's pod grouper would make."""
    runs, queue = context.runs(NAME), _queue(workload)
    causes = (*_priority(workload), *_placement(workload), *_upgrade(workload))
    named = all(group.pod.get("schedulerName") == SCHEDULER for group in workload.groups)
    if not named and (runs is False or (runs is None and queue is None)):
        path = next((sign.path for sign in signs(workload, bundle)), kuberay.LABELS)
        cause = kuberay.not_told(workload, "KAI", FLAG, kuberay.taken(workload), path)
        return Verdict(NAME, None, (cause, *causes))
    if named and runs is False:
        return Verdict(NAME, None, (_absent(workload, bundle), *causes))
    if not named and kuberay.before(context, INTEGRATED_SINCE):
        cause = kuberay.too_old(workload, context, "KAI", INTEGRATED_SINCE)
        return Verdict(NAME, None, (cause, *causes))
    assumes = () if runs else (SUB_GROUPS,)
    if not (runs or named):
        assumes = (*assumes, kuberay.needs_operator(FLAG))
    refused = (*_refused_job(workload, context, integrated=bool(runs) or not named), *_refused(workload))
    if refused:
        return Verdict(NAME, None, (*refused, *causes), assumes)
    return _grouped(workload, queue, causes, assumes)


def explain(state: State) -> Explanation:
    """From the PodGroup's scheduling conditions and events, or from the pod grouper's complaints."""
    return _explain_kai.explain(state)


def _queue(workload: RayWorkload) -> str | None:
    """The owner's label, else the pods' (default_grouper.go:134-146)."""
    own = kuberay.value(workload.manifest.labels, QUEUE)
    pods = {kuberay.value(group.template_labels(), QUEUE) for group in workload.groups}
    return own or (pods.pop() if len(pods) == 1 else None)


def _grouped(workload: RayWorkload, queue: str | None, causes: tuple[Cause, ...], assumes: tuple[str, ...]) -> Verdict:
    minimum = {group.name: _members(workload, group) for group in workload.groups}
    low = [group for group in workload.groups if minimum[group.name] < group.pods]
    why = "KAI counts minReplicas where it is above zero"
    if workload.autoscaling:
        why = "with the autoscaler on, KAI counts minReplicas"
    if queue is None:
        causes = (_no_queue(workload), *causes)
    causes = (*(kuberay.minimum_below_replicas(workload, g, minimum[g.name], why) for g in low), *causes)
    return Verdict(NAME, gang_of(workload, queue, minimum), causes, assumes)


def _members(workload: RayWorkload, group: Group) -> int:
    """`minReplicas` if above zero, else `replicas`, times hosts; with the autoscaler always `minReplicas`."""
    if group.head or workload.autoscaling or group.min_pods:
        return min(group.min_pods, group.pods)
    return min(count(group.data.get("replicas"), 0) * group.hosts, group.pods)


def _refused_job(workload: RayWorkload, context: Context, *, integrated: bool) -> Iterator[Cause]:
    if workload.kind != "RayJob" or not integrated:
        return
    mode = at(workload.manifest.data, "spec", "submissionMode")
    path = ("spec", "submissionMode")
    if kuberay.before(context, JOBS_SINCE):
        why = f"KubeRay {context.kuberay} refuses every RayJob together with KAI: this one never starts"
        yield Cause("rayjob-unsupported", path, why, "use KubeRay 1.6 or later, or a RayCluster")
    elif mode in (None, "K8sJobMode"):
        why = "KubeRay refuses a RayJob in K8sJobMode, the default, together with KAI: this one never starts"
        yield Cause("rayjob-unsupported", path, why, "set submissionMode: HTTPMode")


def _refused(workload: RayWorkload) -> Iterator[Cause]:
    """What the pod grouper fails at: it makes no PodGroup, and the pods stay pending."""
    for group in workload.groups[1:]:
        replicas, minimum = count(group.data.get("replicas"), 0), group.min_pods // group.hosts
        if minimum > replicas:
            why = (
                f"minReplicas {minimum} of {group.name} is above replicas {replicas}: KAI's pod grouper fails, and the "
                "pods stay pending"
            )
            advice = f"write replicas: {minimum} or more"
            yield Cause("replicas-outside-range", group.at("minReplicas"), why, advice)
        if replicas and group.data.get("suspend") is True:
            why = f"KAI counts {group.name} although it is suspended: its minimum is never met, and all pods wait"
            yield Cause("suspended-group-counted", group.at("suspend"), why, "set replicas: 0 and minReplicas: 0")
    for group in workload.groups:
        found = group.template_annotations()
        if (REQUIRED in found or PREFERRED in found) and TOPOLOGY not in found:
            key = REQUIRED if REQUIRED in found else PREFERRED
            why = f"a placement without {TOPOLOGY} is an error in KAI: the pods stay pending"
            path = group.at("template", "metadata", "annotations", key)
            yield Cause("kai-topology-missing", path, why, f"add {TOPOLOGY} with the name of the Topology object")


def _absent(workload: RayWorkload, bundle: Bundle) -> Cause:
    path = next(kuberay.scheduler_names(workload, SCHEDULER)).path
    why = f"no scheduler named {SCHEDULER} runs in the cluster: {kuberay.these_pods(workload)} will be pending for ever"
    return Cause("scheduler-mismatch", path, why, "install KAI, or ask for the scheduler that the cluster has")


def _no_queue(workload: RayWorkload) -> Cause:
    why = (
        f"without the label {QUEUE} KAI puts the gang into {DEFAULT_QUEUE}, and where the cluster has no queue of that "
        f"name {agreed(workload.pods, 'its pod stays', f'all {workload.pods} pods stay')} pending"
    )
    advice = f"add the label {QUEUE} to the {workload.kind}"
    return Cause("kai-queue-missing", kuberay.LABELS, why, advice, "warning")


def _priority(workload: RayWorkload) -> Iterator[Cause]:
    if kuberay.PRIORITY not in workload.manifest.labels and workload.kind == "RayService":
        why = "KAI gives Ray workloads the priority train, which is preemptible: others may take its GPUs"
        advice = f"add the label {kuberay.PRIORITY}: {INFERENCE}"
        yield Cause("kai-train-priority", kuberay.LABELS, why, advice, "warning")


def _placement(workload: RayWorkload) -> Iterator[Cause]:
    for key in (TOPOLOGY, REQUIRED, PREFERRED):
        if key in workload.manifest.annotations:
            why = "KAI reads the topology from pod templates: here it does nothing"
            advice = "move it to template.metadata.annotations of each group"
            yield Cause("kai-topology-level", (*kuberay.ANNOTATIONS, key), why, advice, "warning")


def _upgrade(workload: RayWorkload) -> Iterator[Cause]:
    """KubeRay makes the new cluster without replicas (rayservice_controller.go:1525), which counts as 0."""
    path = ("spec", "upgradeStrategy", "type")
    if at(workload.manifest.data, *path) != "NewClusterWithIncrementalUpgrade":
        return
    if any(group.min_pods for group in workload.groups[1:]):
        why = (
            "an incremental upgrade makes the new cluster without replicas, and KAI's pod grouper fails where "
            "minReplicas is above replicas: the new pods stay pending"
        )
        yield Cause("kai-incremental-upgrade", path, why, "use upgradeStrategy.type: None or NewCluster", "warning")
