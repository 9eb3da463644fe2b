"""Kueue: admits all pods of a Ray workload or none, by its quota (Kueue 0.17-0.20, pkg/controller/jobs/raycluster and
rayservice). It suspends the workload until there is quota; placement is the default scheduler's, unless the flavour has
a topology.
"""

from __future__ import annotations

from collections.abc import Iterator

from raygang.gang import _kuberay as kuberay
from raygang.gang.model import Cause, Context, Entry, Request, Sign, Verdict, gang_of, largest
from raygang.objects import Bundle, RayWorkload, count
from raygang.plan import Gang
from raygang.spec import Spec

NAME = "kueue"
DOMAIN = "kueue.x-k8s.io"
QUEUE = f"{DOMAIN}/queue-name"
PRIORITY = f"{DOMAIN}/priority-class"
REQUIRED, PREFERRED = f"{DOMAIN}/podset-required-topology", f"{DOMAIN}/podset-preferred-topology"
TOGETHER = f"{DOMAIN}/podset-group-name"
ELASTIC = f"{DOMAIN}/elastic-job"
MAX_GROUPS = 17  # Kueue 0.17-0.20, raycluster_webhook.go: 18 pod sets, one of them the head
RESERVED = "head"


def request(gang: Gang, spec: Spec) -> Request:
    """The queue's label, and the topology on each pod template."""
    if gang.queue is None:
        raise spec.problem("scheduler.queue", "Kueue takes only what names a LocalQueue of its namespace")
    labels = (Entry(QUEUE, gang.queue, "LocalQueue; Kueue keeps the workload suspended until all of it has quota"),)
    topology = spec.scheduler.topology
    annotations: tuple[Entry, ...] = ()
    if topology:
        key, word = (REQUIRED, "waits for") if topology.required else (PREFERRED, "prefers")
        why = f"the gang {word} one domain of this level; read from pod templates only"
        annotations = (
            Entry(key, topology.level, why),
            Entry(TOGETHER, gang.name, "head and workers in the same domain"),
        )
    priority = spec.scheduler.priority_class
    fields = (Entry("priorityClassName", priority, "priority of the pods"),) if priority else ()
    needs = f"Kueue 0.17 or later, with the LocalQueue {gang.queue} and the integration ray.io/rayservice"
    return Request(labels=labels, pod_annotations=annotations, pod_fields=fields, needs=(needs,))


def signs(workload: RayWorkload, bundle: Bundle) -> tuple[Sign, ...]:
    """Kueue's labels and annotations."""
    return (*kuberay.label_signs(workload, DOMAIN), *kuberay.template_signs(workload, DOMAIN))


def effective(workload: RayWorkload, bundle: Bundle, context: Context) -> Verdict:
    """All pods, admitted together, if Kueue takes the workload."""
    queue = kuberay.value(workload.manifest.labels, QUEUE)
    runs = context.runs(NAME)
    assumes = () if runs else ("Kueue runs in the cluster, with its integration of this kind",)
    misplaced = tuple(_misplaced_topology(workload))
    if runs is False:
        why = f"no Kueue runs in the cluster: these {workload.pods} pods are scheduled one by one"
        return Verdict(NAME, None, (Cause("kueue-absent", kuberay.LABELS, why, "install Kueue"), *misplaced))
    if queue is None:
        return Verdict(NAME, None, (_no_queue(workload), *misplaced))
    refused = tuple(_refused(workload))
    gang = None if refused else gang_of(workload, queue, {})
    return Verdict(NAME, gang, (*refused, *_counts(workload), *misplaced), assumes)


def _no_queue(workload: RayWorkload) -> Cause:
    if QUEUE in workload.manifest.annotations:
        return Cause(
            "kueue-queue-annotation",
            (*kuberay.ANNOTATIONS, QUEUE),
            "Kueue reads the queue's name from a label: it leaves this workload alone, and its pods are scheduled one "
            "by one",
            f"write it as a label: metadata.labels[{QUEUE!r}]",
        )
    return Cause(
        "kueue-queue-missing",
        kuberay.LABELS,
        f"Kueue leaves this workload alone, and its {workload.pods} pods are scheduled one by one: no label {QUEUE}",
        f"add the label {QUEUE} with the name of a LocalQueue",
    )


def _refused(workload: RayWorkload) -> Iterator[Cause]:
    """What Kueue's webhook does not take."""
    if workload.autoscaling and workload.manifest.annotations.get(ELASTIC) != "true":
        path = (*workload.path, "enableInTreeAutoscaling")
        why = "Kueue refuses a workload with Ray's autoscaler unless it is elastic"
        advice = f'switch the autoscaler off, or annotate {ELASTIC}: "true" (gate ElasticJobsViaWorkloadSlices)'
        yield Cause("kueue-autoscaling", path, why, advice)
    if len(workload.groups) - 1 > MAX_GROUPS:
        path = (*workload.path, "workerGroupSpecs")
        why = f"Kueue takes at most {MAX_GROUPS} worker groups, and here are {len(workload.groups) - 1}"
        yield Cause("kueue-groups", path, why, "merge groups of equal pods")
    for group in workload.groups[1:]:
        if group.name == RESERVED:
            why = "Kueue keeps the group name head for Ray's head and refuses it for workers"
            yield Cause("kueue-groups", group.at("groupName"), why, "rename the group")


def _counts(workload: RayWorkload) -> Iterator[Cause]:
    """Kueue counts `replicas` as written, 1 where nothing is; KubeRay clamps it."""
    for group in workload.groups[1:]:
        counted = count(group.data.get("replicas"), 1) * group.hosts
        if counted != group.pods:
            why = f"Kueue reserves quota for {counted} pods of {group.name}, and KubeRay makes {group.pods}"
            path = group.at("replicas" if "replicas" in group.data else "groupName")
            yield Cause("replicas-outside-range", path, why, "write replicas between minReplicas and maxReplicas")


def _misplaced_topology(workload: RayWorkload) -> Iterator[Cause]:
    for key in (REQUIRED, PREFERRED):
        if key in workload.manifest.annotations:
            why = "Kueue reads the topology from pod templates: here it does nothing"
            where = ".".join(map(str, largest(workload).at("template", "metadata", "annotations")))
            yield Cause("kueue-topology-level", (*kuberay.ANNOTATIONS, key), why, f"move it to {where}", "warning")
