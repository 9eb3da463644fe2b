"""Kueue: admits all pods of a Ray workload or none, by its quota (Kueue 0.17-0.20, pkg/controller/jobs/raycluster and
rayservice). It suspends the workload until there is quota; placement is the default scheduler's, unless the flavour has
a topology.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from raygang.gang import _explain_kueue
from raygang.gang import _kuberay as kuberay
from raygang.gang._kueue_topology import PREFERRED, REQUIRED, TOGETHER, refused_topology
from raygang.gang.model import Cause, Change, Context, Request, Sign, Verdict, gang_of, largest
from raygang.gang.state import Explanation, State
from raygang.objects import Bundle, Entry, RayWorkload, count
from raygang.objects.words import counted
from raygang.plan import Gang

if TYPE_CHECKING:
    from raygang.spec import Spec

NAME = "kueue"
DOMAIN = "kueue.x-k8s.io"
QUEUE = f"{DOMAIN}/queue-name"
ELASTIC = f"{DOMAIN}/elastic-job"
# Pod sets of a Workload less one for the head: 0.17.0 raycluster_webhook.go:146, then jobframework/constants.go:21
WORKER_GROUPS = {"0.17": 7, "0.18": 9, "0.19": 17}
RESERVED = "head"


def request(gang: Gang, spec: Spec) -> Request:
    """The queue's label, and the topology on each pod template."""
    if gang.queue is None:
        raise spec.problem("scheduler.queue", "Kueue takes only what names a LocalQueue of its namespace")
    labels = (Entry(QUEUE, gang.queue, "LocalQueue; Kueue keeps the workload suspended until all of it has quota"),)
    priority = spec.scheduler.priority_class
    fields = (Entry("priorityClassName", priority, "priority of the pods"),) if priority else ()
    needs = f"Kueue 0.17 or later, with the LocalQueue {gang.queue} and the integration ray.io/rayservice"
    return Request(labels=labels, pod_annotations=_topology(gang, spec), pod_fields=fields, needs=(needs,))


def _topology(gang: Gang, spec: Spec) -> tuple[Entry, ...]:
    """One domain for head and workers: Kueue joins exactly two pod sets (tas_validation.go:205-240)."""
    topology = spec.scheduler.topology
    if topology is None:
        return ()
    key, word = (REQUIRED, "waits for") if topology.required else (PREFERRED, "prefers")
    level = Entry(key, topology.level, f"the gang {word} one domain of this level; read from pod templates only")
    if len(gang.members) == 2:
        return (level, Entry(TOGETHER, gang.name, "head and workers in the same domain"))
    if topology.required:
        raise spec.problem(
            "scheduler.topology",
            f"Kueue keeps the head and one group of equal nodes in one domain, and this gang has {len(gang.members)} "
            "groups: its nodes hold unequal numbers of ranks",
            allowed="required: false, or a parallelism that fills all nodes alike",
        )
    return (level,)


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
        why = f"no Kueue runs in the cluster: {kuberay.nobody(workload)}"
        path = next((sign.path for sign in signs(workload, bundle)), kuberay.LABELS)
        advice = "install Kueue, or ask for the scheduler that the cluster has"
        return Verdict(NAME, None, (Cause("scheduler-mismatch", path, why, advice), *misplaced))
    if queue is None:
        return Verdict(NAME, None, (_no_queue(workload), *misplaced))
    refused = (*_refused(workload), *refused_topology(workload))
    gang = None if refused else gang_of(workload, queue, {})
    assumes = (*assumes, *_versions(workload))
    return Verdict(NAME, gang, (*refused, *_counts(workload), *misplaced), assumes)


def explain(state: State) -> Explanation:
    """From the Workload, its LocalQueue and ClusterQueue."""
    return _explain_kueue.explain(state)


def _no_queue(workload: RayWorkload) -> Cause:
    if QUEUE in workload.manifest.annotations:
        path = (*kuberay.ANNOTATIONS, QUEUE)
        return Cause(
            "kueue-queue-annotation",
            path,
            "Kueue reads the queue's name from a label: it leaves this workload alone, and its pods are scheduled one "
            "by one",
            f"write it as a label: metadata.labels[{QUEUE!r}]",
            fix=(Change("move", path, (*kuberay.LABELS, QUEUE)),),
        )
    return Cause(
        "kueue-queue-missing",
        kuberay.LABELS,
        f"Kueue leaves this workload alone, and {kuberay.nobody(workload)}: there is no label {QUEUE}",
        f"add the label {QUEUE} with the name of a LocalQueue",
    )


def _refused(workload: RayWorkload) -> Iterator[Cause]:
    """What Kueue's webhook does not take."""
    if workload.autoscaling and workload.manifest.annotations.get(ELASTIC) != "true":
        path = (*workload.path, "enableInTreeAutoscaling")
        why = "Kueue refuses a workload with Ray's autoscaler unless it is elastic"
        advice = f'switch the autoscaler off, or annotate {ELASTIC}: "true" (gate ElasticJobsViaWorkloadSlices)'
        yield Cause("kueue-autoscaling", path, why, advice)
    groups, most = len(workload.groups) - 1, max(WORKER_GROUPS.values())
    if groups > most:
        path = (*workload.path, "workerGroupSpecs")
        why = f"Kueue takes at most {most} worker groups, and here are {groups}"
        yield Cause("kueue-groups", path, why, "merge groups of equal pods")
    for group in workload.groups[1:]:
        if group.name == RESERVED:
            why = "Kueue keeps the group name head for Ray's head and refuses it for workers"
            yield Cause("kueue-groups", group.at("groupName"), why, "rename the group")


def _versions(workload: RayWorkload) -> Iterator[str]:
    """What only newer Kueues take."""
    groups = len(workload.groups) - 1
    enough = next((version for version, most in WORKER_GROUPS.items() if groups <= most), None)
    if enough not in (None, next(iter(WORKER_GROUPS))):
        yield f"Kueue {enough} or later runs: before it {groups} worker groups are refused"


def _counts(workload: RayWorkload) -> Iterator[Cause]:
    """Kueue counts `replicas` as written, 1 where nothing is; KubeRay clamps it, and suspended groups have no pods."""
    for group in workload.groups[1:]:
        reserved = count(group.data.get("replicas"), 1) * group.hosts
        if reserved == group.pods:
            continue
        why = f"Kueue reserves quota for {counted(reserved, 'pod')} of {group.name}, and KubeRay makes {group.pods}"
        if group.data.get("suspend") is True:
            yield Cause("suspended-group-counted", group.at("suspend"), why, "remove the group", "warning")
        else:
            advice = "write replicas between minReplicas and maxReplicas"
            yield Cause("replicas-outside-range", group.at("replicas"), why, advice)


def _misplaced_topology(workload: RayWorkload) -> Iterator[Cause]:
    for key in (REQUIRED, PREFERRED):
        if key in workload.manifest.annotations:
            why = "Kueue reads the topology from pod templates: here it does nothing"
            where = ".".join(map(str, largest(workload).at("template", "metadata", "annotations")))
            yield Cause("kueue-topology-level", (*kuberay.ANNOTATIONS, key), why, f"move it to {where}", "warning")
