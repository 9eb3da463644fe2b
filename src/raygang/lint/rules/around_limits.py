"""BUN: what the namespace allows, against what a workload asks for; and networks that are cut."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from itertools import takewhile
from typing import Any

from raygang.gang import Context
from raygang.lint.model import Found, Report, Rule
from raygang.lint.rules.around_labels import Selectors, selects
from raygang.lint.rules.around_view import Pods, all_pods
from raygang.lint.rules.pods_view import label
from raygang.objects import Bundle, Manifest, at, mapping, quantity, sequence

_LIMITS = "limits."
_REQUESTS = "requests."
_DIRECTIONS = (("ingress", "Ingress"), ("egress", "Egress"))


def _quota(manifest: Manifest, bundle: Bundle, context: Context) -> Report:
    if (
        manifest.kind != "ResourceQuota"
        or at(manifest.data, "spec", "scopes")
        or at(manifest.data, "spec", "scopeSelector")
    ):
        return
    totals = all_pods(bundle, manifest).totals
    for key, value in mapping(at(manifest.data, "spec", "hard")).items():
        hard = quantity(value)
        if hard is None:
            continue
        which = "limits" if key.startswith(_LIMITS) else "requests"
        name = key.removeprefix(_LIMITS).removeprefix(_REQUESTS)
        needed = totals[which].get(name, Decimal(0))
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
        for name, value in most.items():
            for asked, pods in _above(all_pods(bundle, manifest).largest.get(name, ()), quantity(value)):
                if _one(pods, item):
                    what = f"max {name} is {value}, and a pod of {label(pods.group)} has {_size(asked, name)}"
                    yield Found(("spec", "limits", index, "max", name), what, f"write at least {_size(asked, name)}")


def _above(largest: Iterable[tuple[Decimal, Pods]], allowed: Decimal | None) -> Iterator[tuple[Decimal, Pods]]:
    """Those at the front that are above what is allowed."""
    return takewhile(lambda one: allowed is not None and one[0] > allowed, largest)


def _one(pods: Pods, item: Any) -> bool:
    """Whether the sum over containers is what the limit is about."""
    return at(item, "type") == "Pod" or len(sequence(pods.group.pod.get("containers"))) == 1


def _policy(manifest: Manifest, bundle: Bundle, context: Context) -> Report:
    if manifest.kind != "NetworkPolicy":
        return
    spec = mapping(manifest.data.get("spec"))
    selector, there = spec.get("podSelector") or {}, all_pods(bundle, manifest)
    member = next((found for found in there.labelled.having(selector) if selects(selector, found.labels)), None)
    if member is None:
        return
    peers = [peer for peer in there.workloads[member.workload.name] if peer.workload is member.workload]
    for name, kind in _DIRECTIONS:
        if not _applies(spec, kind):
            continue
        allowed = bundle.once(_allowed)[manifest.namespace, kind]
        cut = next((peer for peer in peers if not allowed.lets(peer)), None)
        if cut is not None:
            side = "from" if kind == "Ingress" else "to"
            what = f"pods of the Ray cluster may have no traffic {side} {label(cut.group)} of the same cluster on all "
            path = ("spec", name) if name in spec else ("spec",)
            write = f"add a rule {side} the pods with ray.io/cluster of this cluster, without ports"
            yield Found(path, f"{what}ports", write)


def _applies(spec: Mapping[str, Any], kind: str) -> bool:
    types = sequence(spec.get("policyTypes"))
    return kind in types if types else kind == "Ingress" or "egress" in spec


@dataclass(frozen=True)
class _Allowed:
    """What all policies of a namespace let through together: what one of them allows is allowed.

    Attributes:
        anyone: whether the traffic with any pod, or with some that cannot be told, on all ports.
        selectors: the pods whose traffic on all ports.
    """

    anyone: bool
    selectors: Selectors

    def lets(self, peer: Pods) -> bool:
        """Whether the traffic with a pod may go through on all ports."""
        return self.anyone or self.selectors.may_take(peer.labels)


def _allowed(bundle: Bundle) -> dict[tuple[str | None, str], _Allowed]:
    """By namespace and direction."""
    rules: dict[tuple[str | None, str], list[Any]] = {}
    for manifest in bundle.manifests:
        spec = mapping(manifest.data.get("spec"))
        for name, kind in _DIRECTIONS if manifest.kind == "NetworkPolicy" else ():
            if _applies(spec, kind):
                rules.setdefault((manifest.namespace, kind), []).extend(sequence(spec.get(name)))
    return {(space, kind): _of_rules(found, kind) for (space, kind), found in rules.items()}


def _of_rules(rules: list[Any], kind: str) -> _Allowed:
    anyone, selectors = False, []
    for rule in rules:
        if sequence(at(rule, "ports")) and not _all_ports(rule):
            continue
        peers = at(rule, "from" if kind == "Ingress" else "to")
        anyone = anyone or not peers or any(_elsewhere(item) for item in sequence(peers))
        selectors += [at(item, "podSelector") or {} for item in sequence(peers)]
    return _Allowed(anyone, Selectors(selectors))


def _all_ports(rule: Any) -> bool:
    """Ports that cover those that Ray picks (10002-19999 by default, others at random)."""
    for item in sequence(at(rule, "ports")):
        first, last = at(item, "port"), at(item, "endPort")
        if first is None or (isinstance(first, int) and isinstance(last, int) and first <= 1024 and last >= 60000):
            return True
        if isinstance(first, int) and isinstance(last, int) and last - first > 5000:
            return True  # Ray's own range, perhaps
    return False


def _elsewhere(item: Any) -> bool:
    """Whether a peer is told by addresses or namespaces, which may be those of the pods."""
    return at(item, "ipBlock") is not None or at(item, "namespaceSelector") is not None


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
