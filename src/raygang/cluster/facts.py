"""What the linter can learn from a cluster: its version, KubeRay's operator, queues, namespaces."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from raygang.cluster.connection import Connection, RefusedError
from raygang.gang import Context, informed, operator_of
from raygang.objects import Bundle, Manifest, Version

_OPERATORS = "app.kubernetes.io/name in (kuberay-operator,kuberay)"  # KubeRay 1.4-1.7: Helm chart, kustomize files
_LISTS = (
    ("/apis/apps/v1/deployments", "Deployment"),
    ("/api/v1/namespaces", "Namespace"),
    ("/apis/scheduling.k8s.io/v1/priorityclasses", "PriorityClass"),
    ("/apis/scheduling.volcano.sh/v1beta1/queues", "Queue"),
    ("/apis/scheduling.run.ai/v2/queues", "Queue"),
    ("/apis/kueue.x-k8s.io/v1beta1/clusterqueues", "ClusterQueue"),
    ("/apis/kueue.x-k8s.io/v1beta1/localqueues", "LocalQueue"),
    ("/apis/kueue.x-k8s.io/v1beta1/resourceflavors", "ResourceFlavor"),
    ("/apis/kueue.x-k8s.io/v1beta1/topologies", "Topology"),
)


@dataclass(frozen=True)
class ClusterFacts:
    """What a cluster says of itself.

    Attributes:
        objects: KubeRay's operator, namespaces, priority classes and queues.
        context: versions and the scheduler that the operator is told to use; None what could not be seen.
        unseen: what could not be read, a sentence each.
    """

    objects: tuple[dict[str, Any], ...]
    context: Context
    unseen: tuple[str, ...]


def cluster_facts(connection: Connection) -> ClusterFacts:
    """Read a cluster's facts; what is not allowed is left out and said.

    Raises:
        UserError: the API server does not answer; exit code 3.
    """
    objects: list[dict[str, Any]] = []
    unseen = []
    for path, kind in _LISTS:
        parameters = {"labelSelector": _OPERATORS} if kind == "Deployment" else {}
        try:
            objects += connection.objects(path, kind, **parameters)
        except RefusedError as e:
            unseen.append(f"{kind}s of context {connection.context}: {e}")
    bundle = Bundle.of(objects)
    context = informed(Context(kubernetes=_version(connection)), bundle)
    return ClusterFacts(tuple(objects), _without_a_scheduler(context, bundle), tuple(unseen))


def _version(connection: Connection) -> Version | None:
    try:
        return Version.parse(str(connection.get("/version")["gitVersion"]))
    except (RefusedError, KeyError, TypeError, ValueError):
        return None


def _without_a_scheduler(context: Context, bundle: Bundle) -> Context:
    """An operator that is told of no scheduler stands for none, unless Kueue works from outside."""
    there = any(operator_of(manifest) for manifest in bundle.manifests)
    if context.scheduler is None and there and not any(map(_of_kueue, bundle.manifests)):
        return Context("none", context.kuberay, context.kubernetes)
    return context


def _of_kueue(manifest: Manifest) -> bool:
    return manifest.group == "kueue.x-k8s.io"
