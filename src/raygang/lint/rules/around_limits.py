"""BUN: what the namespace allows, against what a workload asks for; and networks that are cut."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any

from raygang.gang import Context
from raygang.lint.model import Found, Report, Rule
from raygang.lint.rules.around_view import Pods, all_pods, amounts, selects, total
from raygang.lint.rules.pods_view import label
from raygang.objects import Bundle, Manifest, at, mapping, quantity, ray_workloads, sequence

_LIMITS = "limits."
_REQUESTS = "requests."


def _quota(manifest: Manifest, bundle: Bundle, context: Context) -> Report:
    if (
        manifest.kind != "ResourceQuota"
        or at(manifest.data, "spec", "scopes")
        or at(manifest.data, "spec", "scopeSelector")
    ):
        return
    here = [w for w in ray_workloads(bundle) if w.manifest.namespace == manifest.namespace]
    for key, value in mapping(at(manifest.data, "spec", "hard")).items():
        hard, needed = quantity(value), Decimal(0)
        if hard is None:
            continue
        which = "limits" if key.startswith(_LIMITS) else "requests"
        name = key.removeprefix(_LIMITS).removeprefix(_REQUESTS)
        needed = sum((total(workload, which).get(name, Decimal(0)) for workload in here), Decimal(0))
        if needed > hard:
            what = f"{key} is {value}, and the Ray workloads here need {_size(needed, name)}"
            yield Found(("spec", "hard", key), what, f"write at least {_size(needed, name)}")


def _size(amount: Decimal, name: str) -> str:
    if name == "memory" or name.endswith("storage"):
        return f"{(amount / 1024**3).quantize(Decimal('0.1')).normalize():f}Gi"
    return f"{amount.normalize():f}"


def _range(manifest: Manifest, bundle: Bundle, context: Context) -> Report:
    if manifest.kind != "LimitRange":
        return
    for index, item in enumerate(sequence(at(manifest.data, "spec", "limits"))):
        most = mapping(at(item, "max"))
        if at(item, "type") not in ("Container", "Pod") or not most:
            continue
        for pods in all_pods(bundle, manifest).pods:
            asked = amounts(pods.group, "limits")
            for name, value in most.items():
                allowed = quantity(value)
                if allowed is not None and asked.get(name, Decimal(0)) > allowed and _one(pods, item):
                    what = f"max {name} is {value}, and a pod of {label(pods.group)} has {_size(asked[name], name)}"
                    yield Found(
                        ("spec", "limits", index, "max", name), what, f"write at least {_size(asked[name], name)}"
                    )


def _one(pods: Pods, item: Any) -> bool:
    """Whether the sum over containers is what the limit is about."""
    return at(item, "type") == "Pod" or len(sequence(pods.group.pod.get("containers"))) == 1


def _policy(manifest: Manifest, bundle: Bundle, context: Context) -> Report:
    if manifest.kind != "NetworkPolicy":
        return
    spec = mapping(manifest.data.get("spec"))
    pods = all_pods(bundle, manifest).pods
    members = [found for found in pods if selects(spec.get("podSelector") or {}, found.labels)]
    for name, kind in (("ingress", "Ingress"), ("egress", "Egress")):
        if not members or not _applies(spec, kind):
            continue
        rules = [rule for policy in _policies(bundle, manifest, kind) for rule in sequence(policy.get(name))]
        peers = [peer for peer in pods if peer.workload is members[0].workload]
        cut = next((peer for peer in peers if not any(_lets(rule, kind, peer) for rule in rules)), None)
        if cut is not None:
            way = "from" if kind == "Ingress" else "to"
            what = (
                f"pods of the Ray cluster may have no traffic {way} {label(cut.group)} of the same cluster on all ports"
            )
            path = ("spec", name) if name in spec else ("spec",)
            side = "from" if kind == "Ingress" else "to"
            write = f"add a rule {side} the pods with ray.io/cluster of this cluster, without ports"
            yield Found(path, what, write)


def _applies(spec: Mapping[str, Any], kind: str) -> bool:
    types = spec.get("policyTypes")
    return kind in types if types else kind == "Ingress" or "egress" in spec


def _policies(bundle: Bundle, beside: Manifest, kind: str) -> Iterator[Mapping[str, Any]]:
    """All policies of the namespace: what one of them allows is allowed."""
    for manifest in bundle.manifests:
        spec = mapping(manifest.data.get("spec"))
        if manifest.kind == "NetworkPolicy" and manifest.namespace == beside.namespace and _applies(spec, kind):
            yield spec


def _lets(rule: Any, kind: str, peer: Pods) -> bool:
    """Whether a rule may let the traffic with a pod through on all ports; what cannot be told counts as yes."""
    if sequence(at(rule, "ports")) and not _all_ports(rule):
        return False
    peers = at(rule, "from" if kind == "Ingress" else "to")
    if not peers:
        return True
    return any(_may_be(item, peer) for item in sequence(peers))


def _all_ports(rule: Any) -> bool:
    """Ports that cover those that Ray picks (10002-19999 by default, others at random)."""
    for item in sequence(at(rule, "ports")):
        first, last = at(item, "port"), at(item, "endPort")
        if first is None or (isinstance(first, int) and isinstance(last, int) and first <= 1024 and last >= 60000):
            return True
        if isinstance(first, int) and isinstance(last, int) and last - first > 5000:
            return True  # Ray's own range, perhaps
    return False


def _may_be(item: Any, peer: Pods) -> bool:
    if at(item, "ipBlock") is not None or at(item, "namespaceSelector") is not None:
        return True
    return selects(at(item, "podSelector") or {}, peer.labels) is not False


def _with(text: str) -> str:
    return "kind: RayService\n---\n" + text


_QUOTA = "apiVersion: v1\nkind: ResourceQuota\nmetadata: {name: a, namespace: models}\n" \
    "spec: {hard: {requests.nvidia.com/gpu: '%s'}}\n"  # fmt: skip
_RANGE = "apiVersion: v1\nkind: LimitRange\nmetadata: {name: a, namespace: models}\n" \
    "spec: {limits: [{type: Container, max: {memory: %s}}]}\n"  # fmt: skip
_POLICY = "apiVersion: networking.k8s.io/v1\nkind: NetworkPolicy\nmetadata: {name: a, namespace: models}\nspec:\n" \
    "  podSelector: {matchLabels: {ray.io/is-ray-node: 'yes'}}\n  policyTypes: [Ingress]\n  ingress:\n" \
    "  - ports: [{port: 8000}]\n%s"  # fmt: skip

RULES = (
    Rule(
        code="BUN005", name="quota-too-small", severity="error", title="a quota below what the workload needs",
        because="Kubernetes refuses to make the last pods: without a gang the others hold their GPUs for nothing",
        why="A ResourceQuota is checked when a pod is made, pod by pod, before any scheduler sees it.",
        write="write a quota that holds the whole workload, and twice where an upgrade starts a second cluster",
        since="Kubernetes, all versions", source="kubernetes plugin/pkg/admission/resourcequota",
        bad=_with(_QUOTA % 8), good=_with(_QUOTA % 16),
        check_manifest=_quota,
    ),
    Rule(
        code="BUN006", name="limit-range-too-small", severity="error", title="a limit range below what a pod asks for",
        because="Kubernetes refuses to make the pod",
        why="A LimitRange's max holds for each container, or pod, of the namespace.",
        write="write a max that the pods keep within",
        since="Kubernetes, all versions", source="kubernetes plugin/pkg/admission/limitranger",
        bad=_with(_RANGE % "64Gi"), good=_with(_RANGE % "1Ti"),
        check_manifest=_range,
    ),
    Rule(
        code="BUN007", name="policy-cuts-cluster", severity="error", title="a network policy cuts the Ray cluster",
        because="workers cannot join, or ranks cannot reach each other: the start hangs until a time limit passes",
        why="A pod that any NetworkPolicy selects takes only what some policy allows. Nodes of a Ray cluster talk on "
        "many "
        "ports, most of them picked at start, and NCCL and Gloo pick others: pods of one cluster need all ports of "
        "each "
        "other.",
        write="add a rule for the pods of the same cluster, without ports",
        since="Kubernetes, all versions",
        source="Ray doc/source/ray-core/configure.rst, ports; k8s.io/api networking/v1",
        bad=_with(_POLICY % ""),
        good=_with(_POLICY % "  - from: [{podSelector: {matchLabels: {ray.io/is-ray-node: 'yes'}}}]\n"),
        check_manifest=_policy,
    ),
)  # fmt: skip
