"""Kubernetes' own gang scheduling, 1.36 (scheduling.k8s.io/v1alpha2) and 1.37 (v1beta1), with any KubeRay.

raygang writes the PodGroup itself, and a MutatingAdmissionPolicy (admissionregistration.k8s.io/v1 since 1.36) that sets
`spec.schedulingGroup.podGroupName` of each pod with the gang's label: KubeRay before 1.7 would prune that field from
the template, and KubeRay 1.7's own integration knows v1alpha2 only. Seen working with KubeRay 1.5.0 on 1.36.3, 1.37.2.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from raygang.gang import _kuberay as kuberay
from raygang.gang.model import Cause, Context, Entry, Request, Sign, Verdict, gang_of
from raygang.objects import Bundle, Manifest, RayWorkload, Version, at, count
from raygang.plan import Gang
from raygang.spec import Spec

NAME = "native"
GROUP = "scheduling.k8s.io"
ADMISSION = "admissionregistration.k8s.io"
LABEL = "raygang.dev/gang"
POLICY = "raygang-gang"
APIS = {(1, 36): "v1alpha2", (1, 37): "v1beta1"}  # release of Kubernetes -> version of the API group
GATES = {
    (1, 36): "GenericWorkload on API server, controller manager and scheduler, and GangScheduling on the scheduler",
    (1, 37): "GenericWorkload on API server, controller manager and scheduler",
}
TOPOLOGY_GATE = "TopologyAwareWorkloadScheduling"
_EXPRESSION = (
    "Object{spec: Object.spec{schedulingGroup: Object.spec.schedulingGroup{"
    f'podGroupName: object.metadata.labels["{LABEL}"]}}}}}}'
)


def request(gang: Gang, spec: Spec) -> Request:
    """A PodGroup, the policy, and the label that joins pods to the group."""
    api = _api(spec)
    if gang.queue is not None:
        raise spec.problem("scheduler.queue", "Kubernetes' own gang scheduling has no queues", suggestion="remove it")
    topology, priority = spec.scheduler.topology, spec.scheduler.priority_class
    if topology and not topology.required:
        raise spec.problem("scheduler.topology.required", "Kubernetes 1.36 and 1.37 know no preferred topology")
    fields = (Entry("priorityClassName", priority, "priority of the pods"),) if priority else ()
    release = Version.parse(spec.kubernetes.version or "").release
    needs = [f"API group {GROUP}/{api} served (--runtime-config={GROUP}/{api}=true)", f"feature gates {GATES[release]}"]
    if topology:
        needs.append(f"feature gate {TOPOLOGY_GATE}: without it the API server drops the topology silently")
    return Request(
        pod_labels=(Entry(LABEL, gang.name, "the admission policy puts the pod into the PodGroup of this name"),),
        pod_fields=fields,
        objects=(*_policy(), _pod_group(gang, spec, api)),
        needs=tuple(needs),
    )


def signs(workload: RayWorkload, bundle: Bundle) -> tuple[Sign, ...]:
    """The gang's label, a scheduling group in a template, or a PodGroup of the bundle."""
    found = []
    for group in workload.groups:
        if LABEL in group.template_labels():
            found.append(Sign(group.at("template", "metadata", "labels", LABEL), LABEL))
        if "schedulingGroup" in group.pod:
            found.append(Sign(group.at("template", "spec", "schedulingGroup"), "schedulingGroup"))
    return tuple(found)


def effective(workload: RayWorkload, bundle: Bundle, context: Context) -> Verdict:
    """The PodGroup of the bundle that all pods would be put into."""
    names = {_pod_group_name(workload, index, bundle) for index in range(len(workload.groups))}
    if names == {None}:
        return Verdict(NAME, None, (_nothing(workload),))
    if len(names) > 1:
        why = "not all pods are in the same PodGroup: the gang would be only a part of them"
        return Verdict(NAME, None, (Cause("podgroup-split", _first(workload, bundle), why, _label_advice(workload)),))
    name = names.pop()
    group = next((m for m in bundle.find(GROUP, "PodGroup") if m.name == name), None)
    if group is None:
        why = f"the pods name the PodGroup {name}, which is not in these manifests: they stay pending until it is there"
        return Verdict(NAME, None, (Cause("podgroup-missing", _first(workload, bundle), why, "add the PodGroup"),))
    whole = gang_of(workload, None, {})
    minimum = count(at(group.data, "spec", "schedulingPolicy", "gang", "minCount"), 0)
    causes = (*_wrong_minimum(group, minimum, whole), *_wrong_api(group, context))
    if any(cause.rule == "native-api" for cause in causes) or minimum <= 0:
        return Verdict(NAME, None, causes)
    assumes = () if context.runs(NAME) else (f"the API group {GROUP}/{group.version} is served and its gates are on",)
    return Verdict(NAME, Gang(whole.name, whole.members, minimum), causes, assumes)


def _api(spec: Spec) -> str:
    known = ", ".join(f"{major}.{minor}" for major, minor in APIS)
    if spec.kubernetes.version is None:
        raise spec.problem(
            "kubernetes.version",
            "is needed: native gang scheduling has other field names in each release of Kubernetes",
            allowed=known,
        )
    release = Version.parse(spec.kubernetes.version).release
    if release not in APIS:
        why = "has no gang scheduling that raygang knows"
        raise spec.problem("kubernetes.version", why, given=spec.kubernetes.version, allowed=known)
    return APIS[release]


def _pod_group(gang: Gang, spec: Spec, api: str) -> dict[str, Any]:
    body: dict[str, Any] = {"schedulingPolicy": {"gang": {"minCount": gang.minimum}}}
    if spec.scheduler.topology:
        body["schedulingConstraints"] = {"topology": [{"key": spec.scheduler.topology.level}]}
    if spec.scheduler.priority_class:
        body["priorityClassName"] = spec.scheduler.priority_class
    return {"apiVersion": f"{GROUP}/{api}", "kind": "PodGroup", "metadata": {"name": gang.name}, "spec": body}


def _policy() -> tuple[dict[str, Any], ...]:
    """One for the whole cluster; it acts on nothing but pods with the label."""
    rules = [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}]
    has_label = {"matchExpressions": [{"key": LABEL, "operator": "Exists"}]}
    policy = {
        "failurePolicy": "Fail",
        "reinvocationPolicy": "Never",
        "matchConstraints": {"resourceRules": rules, "objectSelector": has_label},
        "mutations": [{"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": _EXPRESSION}}],
    }
    api = f"{ADMISSION}/v1"
    return (
        {"apiVersion": api, "kind": "MutatingAdmissionPolicy", "metadata": {"name": POLICY}, "spec": policy},
        {
            "apiVersion": api,
            "kind": "MutatingAdmissionPolicyBinding",
            "metadata": {"name": POLICY},
            "spec": {"policyName": POLICY},
        },
    )


def _pod_group_name(workload: RayWorkload, index: int, bundle: Bundle) -> str | None:
    """What a pod of a group is put into: by its own field, or by the policy, which has to be bound in the bundle."""
    group = workload.groups[index]
    own = at(group.pod, "schedulingGroup", "podGroupName")
    if isinstance(own, str):
        return own
    bound = any(at(m.data, "spec", "policyName") == POLICY for m in bundle.find(ADMISSION, f"{_KIND}Binding"))
    policy = any(m.name == POLICY for m in bundle.find(ADMISSION, _KIND))
    return kuberay.value(group.template_labels(), LABEL) if bound and policy else None


_KIND = "MutatingAdmissionPolicy"


def _first(workload: RayWorkload, bundle: Bundle) -> tuple[str | int, ...]:
    return next((sign.path for sign in signs(workload, bundle)), workload.groups[0].path)


def _label_advice(workload: RayWorkload) -> str:
    return f"label the template of every group alike: {LABEL}: {workload.name}"


def _nothing(workload: RayWorkload) -> Cause:
    why = f"the default scheduler takes these {workload.pods} pods one by one: nothing puts them into a PodGroup"
    advice = "write a PodGroup and set spec.schedulingGroup of the pods, for example with `raygang render`"
    return Cause("podgroup-missing", workload.groups[0].path, why, advice)


def _wrong_minimum(group: Manifest, minimum: int, whole: Gang) -> Iterator[Cause]:
    if minimum != whole.size:
        why = f"the PodGroup {group.name} has minCount {minimum}, and the workload has {whole.size} pods"
        yield Cause("podgroup-minimum", (), why, f"set spec.schedulingPolicy.gang.minCount to {whole.size}")


def _wrong_api(group: Manifest, context: Context) -> Iterator[Cause]:
    known = context.kubernetes and APIS.get(context.kubernetes.release)
    if context.kubernetes and known != group.version:
        what = f"serves {GROUP}/{known}" if known else "has no gang scheduling that raygang knows"
        why = f"Kubernetes {context.kubernetes} {what}, not {GROUP}/{group.version}: this PodGroup cannot be applied"
        yield Cause("native-api", (), why, f"write {GROUP}/{known}" if known else "use another scheduler")
