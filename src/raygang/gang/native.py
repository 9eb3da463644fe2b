"""Kubernetes' own gang scheduling, 1.36 (scheduling.k8s.io/v1alpha2) and 1.37 (v1beta1), with any KubeRay.

raygang writes the PodGroup itself, and a MutatingAdmissionPolicy (admissionregistration.k8s.io/v1 since 1.36) that sets
`spec.schedulingGroup.podGroupName` of each pod with the gang's label: KubeRay before 1.7 would prune that field from
the template, and KubeRay 1.7's own integration knows v1alpha2 only (_native_kuberay.py). Seen working with KubeRay
1.5.0 on 1.36.3 and 1.37.2.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from raygang.gang import _explain_native, _native_kuberay
from raygang.gang import _kuberay as kuberay
from raygang.gang.model import Cause, Context, Request, Sign, Verdict, gang_of
from raygang.gang.state import Explanation, State
from raygang.objects import Bundle, Entry, Group, Manifest, Path, RayWorkload, Version, at, count
from raygang.plan import Gang

if TYPE_CHECKING:
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
FIELD_SINCE = Version(1, 7)  # KubeRay's CRD has spec.schedulingGroup of pods; older ones prune it
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
    """The gang's label, or a scheduling group in a template."""
    found = []
    for group in workload.groups:
        if LABEL in group.template_labels():
            found.append(Sign(group.at("template", "metadata", "labels", LABEL), LABEL))
        if "schedulingGroup" in group.pod:
            found.append(Sign(group.at("template", "spec", "schedulingGroup"), "schedulingGroup"))
    return tuple(found)


def effective(workload: RayWorkload, bundle: Bundle, context: Context) -> Verdict:
    """The PodGroup of the bundle that all pods would be put into, or the one of KubeRay's own integration."""
    names = {_pod_group_name(group, context) for group in workload.groups}
    if names == {None}:
        return _native_kuberay.effective(workload, context)
    if len(names) > 1:
        why = "not all pods are in the same PodGroup: the gang would be only a part of them"
        return Verdict(NAME, None, (Cause("podgroup-split", _first(workload, bundle), why, _label_advice(workload)),))
    name = names.pop()
    group = next(iter(bundle.named(GROUP, "PodGroup", name)), None)
    if group is None:
        why = f"the pods name the PodGroup {name}, which is not in these manifests: they stay pending until it is there"
        return Verdict(NAME, None, (Cause("podgroup-missing", _first(workload, bundle), why, "add the PodGroup"),))
    return _brought(workload, bundle, group, context)


def explain(state: State) -> Explanation:
    """From the PodGroup and what the pods name."""
    return _explain_native.explain(state)


def _brought(workload: RayWorkload, bundle: Bundle, group: Manifest, context: Context) -> Verdict:
    whole = gang_of(workload, None, {})
    path = ("spec", "schedulingPolicy", "gang", "minCount")
    minimum = count(at(group.data, *path), 0)
    causes = (*kuberay.own_minimum(workload, group, minimum, path), *_wrong_api(group, context))
    if any(cause.rule == "native-api" for cause in causes) or not 0 < minimum <= whole.size:
        return Verdict(NAME, None, causes)
    assumes = [] if context.runs(NAME) else [f"the API group {GROUP}/{group.version} is served and its gates are on"]
    if not bundle.once(_bound) and any("schedulingGroup" not in g.pod for g in workload.groups):
        assumes.append(f"the MutatingAdmissionPolicy {POLICY} and its binding are in the cluster (`raygang render`)")
    return Verdict(NAME, Gang(whole.name, whole.members, minimum), causes, tuple(assumes))


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


def _pod_group_name(group: Group, context: Context) -> str | None:
    """What a pod of a group is put into: by its own field, which older KubeRays prune, or by the policy."""
    own = at(group.pod, "schedulingGroup", "podGroupName")
    if isinstance(own, str) and not kuberay.before(context, FIELD_SINCE):
        return own
    return kuberay.value(group.template_labels(), LABEL)


def _bound(bundle: Bundle) -> bool:
    kind = "MutatingAdmissionPolicy"
    bound = any(at(m.data, "spec", "policyName") == POLICY for m in bundle.find(ADMISSION, f"{kind}Binding"))
    return bound and any(m.name == POLICY for m in bundle.find(ADMISSION, kind))


def _first(workload: RayWorkload, bundle: Bundle) -> Path:
    return next((sign.path for sign in signs(workload, bundle)), workload.groups[0].path)


def _label_advice(workload: RayWorkload) -> str:
    return f"label the template of every group alike: {LABEL}: {workload.name}"


def _wrong_api(group: Manifest, context: Context) -> Iterator[Cause]:
    known = APIS.get(context.kubernetes.release) if context.kubernetes else None
    if group.version == known or (context.kubernetes is None and group.version in APIS.values()):
        return
    here = f"Kubernetes {context.kubernetes} " if context.kubernetes else "no release of Kubernetes "
    what = f"serves {GROUP}/{known}" if known else "has no gang scheduling that raygang knows"
    if context.kubernetes is None:
        what = "is known that has it"
    why = f"{here}{what}, not {GROUP}/{group.version}: this PodGroup cannot be applied"
    advice = f"write {GROUP}/{known}" if known else f"write {GROUP}/{' or '.join(APIS.values())}"
    yield Cause("native-api", ("apiVersion",), why, advice, manifest=group)
