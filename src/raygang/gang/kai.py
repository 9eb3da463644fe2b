"""KAI Scheduler (0.13 and later, pkg/podgrouper/.../ray_grouper.go), with or without KubeRay's integration (1.5-1.7).

KAI's own pod grouper makes the PodGroup; a pod needs `schedulerName: kai-scheduler` and the queue's label, which
KubeRay's integration stamps and a template can have as well.
"""

from __future__ import annotations

from collections.abc import Iterator

from raygang.gang import _kuberay as kuberay
from raygang.gang.model import Cause, Context, Entry, Request, Sign, Verdict, gang_of
from raygang.objects import Bundle, Group, RayWorkload, count
from raygang.plan import Gang
from raygang.spec import Spec

NAME = "kai"
FLAG = SCHEDULER = "kai-scheduler"
DOMAIN = "kai.scheduler"
QUEUE = f"{DOMAIN}/queue"
TOPOLOGY = f"{DOMAIN}/topology"
REQUIRED, PREFERRED = f"{DOMAIN}/topology-required-placement", f"{DOMAIN}/topology-preferred-placement"
INFERENCE = "inference"  # KAI's default priority for Ray is train, which is preemptible (docs/priority)


def request(gang: Gang, spec: Spec) -> Request:
    """Queue, priority and scheduler's name; the topology on each pod template."""
    if gang.queue is None:
        raise spec.problem("scheduler.queue", "KAI leaves pods without a queue pending for ever")
    topology = spec.scheduler.topology
    annotations: tuple[Entry, ...] = ()
    if topology:
        if topology.name is None:
            raise spec.problem("scheduler.topology.name", "KAI needs the name of the Topology object with this level")
        key, word = (REQUIRED, "waits for") if topology.required else (PREFERRED, "prefers")
        annotations = (
            Entry(TOPOLOGY, topology.name, "the Topology object that has the level"),
            Entry(key, topology.level, f"the gang {word} one domain of this level"),
        )
    priority = spec.scheduler.priority_class or INFERENCE
    queue = Entry(QUEUE, gang.queue, "KAI's queue; without it pods stay pending")
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
    runs = context.runs(NAME)
    queue = kuberay.value(workload.manifest.labels, QUEUE)
    causes = (*_priority(workload), *_placement(workload))
    scheduled = all(group.pod.get("schedulerName") == SCHEDULER for group in workload.groups)
    if runs is False or (runs is None and not scheduled and queue is None):
        path = next((sign.path for sign in signs(workload, bundle)), kuberay.LABELS)
        then = "the default scheduler takes them"
        return Verdict(NAME, None, (kuberay.not_told(workload, "KAI", FLAG, then, path), *causes))
    refused = tuple(_refused(workload, queue))
    assumes = () if runs else ("KAI Scheduler runs in the cluster",)
    if not (runs or scheduled):
        assumes = (*assumes, kuberay.needs_operator(FLAG))
    if refused:
        return Verdict(NAME, None, (*refused, *causes), assumes)
    minimum = {group.name: _members(workload, group) for group in workload.groups}
    low = [group for group in workload.groups if minimum[group.name] < group.pods]
    why = "KAI counts minReplicas where it is above zero"
    causes = (*(kuberay.minimum_below_replicas(group, why) for group in low), *causes)
    return Verdict(NAME, gang_of(workload, queue, minimum), causes, assumes)


def _members(workload: RayWorkload, group: Group) -> int:
    """`minReplicas` if above zero, else `replicas`, times hosts; with the autoscaler always `minReplicas`."""
    if group.head or workload.autoscaling or group.min_pods:
        return min(group.min_pods, group.pods)
    return count(group.data.get("replicas"), 0) * group.hosts


def _refused(workload: RayWorkload, queue: str | None) -> Iterator[Cause]:
    if queue is None:
        why = f"without the label {QUEUE} KAI leaves all {workload.pods} pods pending for ever"
        yield Cause("kai-queue-missing", kuberay.LABELS, why, f"add the label {QUEUE} to the {workload.kind}")
    if workload.kind == "RayJob" and workload.manifest.data.get("spec", {}).get("submissionMode") in (
        None,
        "K8sJobMode",
    ):
        why = "KubeRay refuses a RayJob in K8sJobMode, the default, together with KAI"
        yield Cause("rayjob-unsupported", ("spec",), why, "set submissionMode: HTTPMode")
    for group in workload.groups[1:]:
        if group.min_pods > count(group.data.get("replicas"), 0) * group.hosts:
            why = f"minReplicas of {group.name} is above replicas: KAI's pod grouper fails, and its pods stay pending"
            yield Cause(
                "replicas-outside-range", group.at("minReplicas"), why, "write replicas of at least minReplicas"
            )
    for group in workload.groups:
        found = group.template_annotations()
        if (REQUIRED in found or PREFERRED in found) and TOPOLOGY not in found:
            key = REQUIRED if REQUIRED in found else PREFERRED
            why = f"a placement without {TOPOLOGY} is an error in KAI: the pods stay pending"
            path = group.at("template", "metadata", "annotations", key)
            yield Cause("kai-topology-missing", path, why, f"add {TOPOLOGY} with the name of the Topology object")


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
