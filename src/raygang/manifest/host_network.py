"""Worker pods on the network of their nodes: names, ports and an address that they do not share with others there.

Ray 2.60, `ray start --help` and _private/parameter.py: most of its ports are random otherwise, and the agent's default
52365 is within the range that Linux hands out (32768-60999). All that is fixed here stays below it, and below the node
ports of Services (30000-32767), which kube-proxy takes from whoever listens there: Serve's default for replicas that
HAProxy reaches directly is 30000-31000. What vLLM, NCCL and Gloo listen on, they are handed out by Linux.

KubeRay 1.4-1.7: the worker waits for the head by the name of its Service; the port `metrics` of the container and
--metrics-export-port are two settings. Kubernetes makes a container's port one of the node's, so that the scheduler
puts no other pod with it there.
"""

from __future__ import annotations

from typing import Any

from raygang.manifest.noted import Noted
from raygang.spec import Spec

LABEL = "raygang.dev/host-network"
HOSTNAME = "kubernetes.io/hostname"
METRICS_PORT, AGENT_PORT = 28002, 28003
FIXED = {
    "node-manager-port": 28000,
    "object-manager-port": 28001,
    "metrics-export-port": METRICS_PORT,
    "dashboard-agent-listen-port": AGENT_PORT,
    "dashboard-agent-grpc-port": 28004,
    "runtime-env-agent-port": 28005,
    "min-worker-port": 28100,
    "max-worker-port": 29099,
}
SERVE_PORTS = (29100, 29199)
_WHY = {
    "node-manager-port": "fixed ports, outside of those that Linux or Services hand out on a node",
    "metrics-export-port": "the same as the container's port metrics: Ray and KubeRay do not compare them",
    "dashboard-agent-listen-port": "the probes ask it; Ray's default is a port that Linux may have given away",
    "max-worker-port": "one for each process of Ray on the node",
}


def start_params(spec: Spec) -> dict[str, Noted | str]:
    """What `ray start` of a worker is told."""
    if not spec.fabric.host_network:
        return {}
    own = Noted("$VLLM_HOST_IP", "a node has several addresses: Ray and vLLM take the same one")
    ports = {key: Noted(str(port), _WHY[key]) if key in _WHY else str(port) for key, port in FIXED.items()}
    return {"node-ip-address": own, **ports}


def environment(spec: Spec) -> dict[str, Noted | str]:
    """What Serve's controller and its replicas are told."""
    if not spec.fabric.host_network:
        return {}
    first, last = SERVE_PORTS
    why = "of the replica, on its node; Serve's default is among the node ports of Services"
    return {
        "RAY_SERVE_DIRECT_INGRESS_MIN_HTTP_PORT": Noted(str(first), why),
        "RAY_SERVE_DIRECT_INGRESS_MAX_HTTP_PORT": str(last),
    }


def labels(spec: Spec) -> dict[str, Noted]:
    """Labels of a worker pod."""
    return {LABEL: Noted("true", "no two such pods on a node")} if spec.fabric.host_network else {}


def pod_fields(spec: Spec) -> dict[str, Any]:
    """Fields of a worker pod's spec."""
    if not spec.fabric.host_network:
        return {}
    others = {"labelSelector": {"matchLabels": {LABEL: "true"}}, "namespaceSelector": {}, "topologyKey": HOSTNAME}
    apart = {"requiredDuringSchedulingIgnoredDuringExecution": [others]}
    return {
        "hostNetwork": Noted(True, "fabric.host_network"),
        "dnsPolicy": Noted("ClusterFirstWithHostNet", "otherwise a worker does not find the head by its Service"),
        "affinity": {
            "podAntiAffinity": Noted(apart, "one pod for each node, of all deployments: they share its ports")
        },
    }


def needs(spec: Spec) -> tuple[str, ...]:
    """What the cluster must have for it."""
    if not spec.fabric.host_network:
        return ()
    return (
        "nodes whose network only trusted machines reach: no NetworkPolicy holds for pods on it, so none is written, "
        "and what ranks send each other is not authenticated",
        "a namespace whose Pod Security level is privileged: hostNetwork is refused below it",
        f"on every node the interface {spec.fabric.interface}, and free ports {min(FIXED.values())}-{SERVE_PORTS[1]}",
        "no service mesh around the heads: a pod on the node's network has no sidecar that could talk to theirs",
    )
