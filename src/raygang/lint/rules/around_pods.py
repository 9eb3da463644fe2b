"""BUN: objects beside a workload that select its pods: Services, disruption budgets, autoscalers."""

from __future__ import annotations

from typing import Any

from raygang.gang import Context
from raygang.lint.model import Found, Report, Rule
from raygang.lint.rules.around_labels import selects
from raygang.lint.rules.around_view import CLUSTER, There, all_pods
from raygang.objects import Bundle, Manifest, RayWorkload, at, mapping, ray_workloads, text
from raygang.objects.fields import digits

_RAY_KINDS = ("RayCluster", "RayService", "RayJob")
_KNOWN = ("ray.io/cluster", "ray.io/node-type", "ray.io/group", "ray.io/serve", "ray.io/is-ray-node")


def _service(manifest: Manifest, bundle: Bundle, context: Context) -> Report:
    if manifest.kind != "Service" or manifest.group:
        return
    selector = {key: value for key, value in mapping(at(manifest.data, "spec", "selector")).items() if key in _KNOWN}
    there = all_pods(bundle, manifest)
    if not selector or not there.pods:
        return
    if _may_select(selector, there):
        made = _generated(selector, there)
        if made is None:
            return
        what = f"the selector asks for {CLUSTER}: {made.name}, and the cluster of a {made.kind} has a generated name"
        write = "select the labels of its pod templates"
        write = f"use the Service {made.name}-serve-svc, or {write}" if made.kind == "RayService" else write
        yield Found(("spec", "selector", CLUSTER), what, write)
        return
    if CLUSTER in selector and text(selector[CLUSTER]) not in there.workloads:
        return  # of a cluster that is not in the bundle
    key = next((key for key in selector if not _may_select({key: selector[key]}, there)), None)
    if key is not None:
        known = sorted(value for value in there.labelled.values(key) if isinstance(value, str))
        what = f"no pod has {key}: {selector[key]}" + (f"; there are {', '.join(known)}" if known else "")
        yield Found(("spec", "selector", key), what, severity="warning")


def _may_select(labels: dict[str, Any], there: There) -> bool:
    selector = {"matchLabels": labels}
    return any(selects(selector, found.labels) is not False for found in there.labelled.may_have(selector))


def _generated(selector: dict[str, Any], there: There) -> RayWorkload | None:
    """The RayService or RayJob whose own name a selector takes for that of its cluster."""
    named = [
        found.workload for found in there.workloads.get(text(selector.get(CLUSTER)) or "", ()) if CLUSTER in selector
    ]
    return named[0] if named and all(workload.kind != "RayCluster" for workload in named) else None


def _budget(manifest: Manifest, bundle: Bundle, context: Context) -> Report:
    if manifest.kind != "PodDisruptionBudget":
        return
    spec = mapping(manifest.data.get("spec"))
    matched, ranks = all_pods(bundle, manifest).count(spec.get("selector"))
    lets = _disruptions(spec, matched)
    if ranks > 1 and lets:
        name = "minAvailable" if "minAvailable" in spec else "maxUnavailable"
        what = f"{name} {spec.get(name)} lets {lets} of the {matched} pods be evicted at a time"
        yield Found(("spec", name), what, "write maxUnavailable: 0")


def _disruptions(spec: Any, matched: int) -> int:
    if "minAvailable" in spec:
        least = _share(spec["minAvailable"], matched)
        return 0 if least is None else max(0, matched - least)
    return _share(spec.get("maxUnavailable"), matched) or 0


def _share(value: Any, of: int) -> int | None:
    """A number, or a percentage, rounded up as Kubernetes does."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    percent = digits((text(value) or "").removesuffix("%"))
    return None if percent is None else -(-of * percent // 100)


def _scaler(manifest: Manifest, bundle: Bundle, context: Context) -> Report:
    if manifest.kind not in ("HorizontalPodAutoscaler", "ScaledObject"):
        return
    target = mapping(at(manifest.data, "spec", "scaleTargetRef"))
    if target.get("kind") in _RAY_KINDS and str(target.get("apiVersion", "ray.io/")).startswith("ray.io/"):
        what = f"it scales the {target['kind']} {target.get('name')}, which has no scale subresource"
        yield Found(("spec", "scaleTargetRef", "kind"), what)


def _twins(manifest: Manifest, bundle: Bundle, context: Context) -> Report:
    """A Service of one's own with a name that KubeRay gives one of its own."""
    if manifest.kind != "Service" or manifest.group:
        return
    for workload in bundle.once(_services).get((manifest.namespace, manifest.name), ()):
        what = f"KubeRay makes a Service {manifest.name} for the {workload.kind} {workload.name} itself"
        yield Found(("metadata", "name"), what, "give it another name")


def _services(bundle: Bundle) -> dict[tuple[str | None, str], list[RayWorkload]]:
    """Namespaces and names of the Services that KubeRay makes, and of which workload."""
    found: dict[tuple[str | None, str], list[RayWorkload]] = {}
    for workload in ray_workloads(bundle):
        for end in ("head-svc", "serve-svc") if workload.kind == "RayService" else ("head-svc",):
            if workload.name:
                found.setdefault((workload.manifest.namespace, f"{workload.name}-{end}"), []).append(workload)
    return found


def _with(text_: str) -> str:
    return "kind: RayService\n---\n" + text_


_PDB = "apiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {name: ranks, namespace: models}\nspec:\n" \
    "  maxUnavailable: %s\n  selector: {matchLabels: {ray.io/node-type: worker}}\n"  # fmt: skip
_SERVICE = "apiVersion: v1\nkind: Service\nmetadata: {name: %s, namespace: models}\nspec:\n  ports: [{port: 8000}]\n" \
    "  selector: {%s}\n"  # fmt: skip
_HPA = "apiVersion: autoscaling/v2\nkind: HorizontalPodAutoscaler\nmetadata: {name: a, namespace: models}\nspec:\n" \
    "  maxReplicas: 2\n  scaleTargetRef: {apiVersion: %s, kind: %s, name: llama}\n"  # fmt: skip
_LABELS = "KubeRay 1.6 ray-operator/controllers/ray/common/pod.go:776-800"

RULES = (
    Rule(
        code="BUN001", name="service-selects-nothing", severity="error", title="a Service that selects no pod",
        because="it has no endpoint: every request to it is refused",
        why="KubeRay labels its pods with ray.io/cluster, ray.io/node-type (head or worker), ray.io/group and, in a "
        "RayService, ray.io/serve (true or false). The cluster of a RayService or RayJob has five random characters "
        "behind the name, other ones after an upgrade.",
        write="select labels that the pods have",
        since="KubeRay 1.1-1.7", source=f"{_LABELS}; utils/util.go:367",
        bad=_with(_SERVICE % ("front", "ray.io/cluster: llama")),
        good=_with(_SERVICE % ("front", "ray.io/serve: 'true'")),
        check_manifest=_service,
    ),
    Rule(
        code="BUN002", name="budget-splits-gang", severity="warning",
        title="a disruption budget lets a rank be evicted",
        because="draining one node evicts one rank, and the engine fails on all others with it",
        why="A budget counts pods, and an engine over several pods needs every one. Losing one is as bad as losing "
        "all.",
        write="write maxUnavailable: 0, and drain by deleting the whole replica",
        since="Kubernetes, all versions", source="k8s.io/api 0.34-0.37 policy/v1/types.go PodDisruptionBudgetSpec",
        bad=_with(_PDB % 1), good=_with(_PDB % 0),
        check_manifest=_budget,
    ),
    Rule(
        code="BUN003", name="scaler-without-scale", severity="error",
        title="an autoscaler for a kind that has no scale",
        because="it reports an error at every attempt and never changes anything",
        why="A HorizontalPodAutoscaler works by the scale subresource, which none of KubeRay's kinds has. Serve scales "
        "replicas and Ray's autoscaler pods; a gang is scaled by whole replicas.",
        write="use Serve's autoscaling_config, or more RayServices",
        since="KubeRay 1.4-1.7", source="KubeRay 1.4-1.7 ray-operator/config/crd/bases: subresources has status only",
        bad=_with(_HPA % ("ray.io/v1", "RayService")), good=_with(_HPA % ("apps/v1", "Deployment")),
        check_manifest=_scaler,
    ),
    Rule(
        code="BUN004", name="service-name-taken", severity="warning", title="a Service with a name that KubeRay uses",
        because="KubeRay and who applies this Service overwrite each other's, and traffic goes to whichever came last",
        why="KubeRay makes NAME-head-svc for each cluster and NAME-serve-svc for a RayService.",
        write="give it another name",
        since="KubeRay 1.1-1.7", source="KubeRay 1.6 ray-operator/controllers/ray/utils/util.go:314-350",
        bad=_with(_SERVICE % ("llama-serve-svc", "ray.io/serve: 'true'")),
        good=_with(_SERVICE % ("llama", "ray.io/serve: 'true'")),
        check_manifest=_twins,
    ),
)  # fmt: skip
