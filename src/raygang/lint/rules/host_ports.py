"""HOST, DNS, SEC: what changes for pods that are on the node's network."""

from __future__ import annotations

from raygang.gang import Context
from raygang.lint.model import Case, Found, Report, Rule
from raygang.lint.rules.around_labels import selects
from raygang.lint.rules.around_view import all_pods
from raygang.lint.rules.network_words import pods
from raygang.lint.rules.pods_view import can_have_pods, gpus, label, params, ray_container
from raygang.objects import Bundle, Group, Manifest, at, sequence, text

_METRICS, _PORT = "metrics-export-port", 8080
_NODE = 8  # GPUs of a node as a rule: a pod with all of them has it for itself anyway


def _on_host(case: Case) -> list[Group]:
    return [g for g in case.groups if g.pod.get("hostNetwork") is True and can_have_pods(case, g)]


def _metrics(case: Case) -> Report:
    for group in _on_host(case):
        if _METRICS not in params(group):
            what = f"{label(group)} has hostNetwork, and Ray's metrics take the node's port {_PORT}"
            yield Found(group.at("template", "spec", "hostNetwork"), what)


def _sysctls(case: Case) -> Report:
    for group in _on_host(case):
        for index, entry in enumerate(sequence(at(group.pod, "securityContext", "sysctls"))):
            name = text(at(entry, "name")) or ""
            if name.replace("/", ".").startswith("net."):
                path = group.at("template", "spec", "securityContext", "sysctls", index, "name")
                yield Found(path, f"{label(group)} has hostNetwork, and sets {name}")


def _one_each(case: Case) -> Report:
    for group in _on_host(case):
        container = ray_container(group)
        held = gpus(container) if container else 0
        if group.pods > 1 and 0 < held < _NODE:
            what = f"each of the {group.pods} pods of {label(group)} needs a node of its own, for its "
            what += "one GPU" if held == 1 else f"{held} GPUs"
            yield Found(group.at("template", "spec", "hostNetwork"), what)


def _policy(manifest: Manifest, bundle: Bundle, context: Context) -> Report:
    if manifest.kind != "NetworkPolicy":
        return
    selector = at(manifest.data, "spec", "podSelector")
    for there in all_pods(bundle, manifest).labelled.having(selector):
        if there.group.pod.get("hostNetwork") is True and selects(selector, there.labels):
            what = f"{label(there.group)} of {there.workload.name} has hostNetwork: the policy does not hold for it"
            yield Found(("spec", "podSelector"), what)
            return


def _no_nameserver(case: Case) -> Report:
    for group in case.groups:
        if group.pod.get("dnsPolicy") == "None" and not sequence(at(group.pod, "dnsConfig", "nameservers")):
            path = group.at("template", "spec", "dnsPolicy")
            yield Found(path, f"{label(group)} has dnsPolicy None, and no dnsConfig.nameservers")


_HOST = "hostNetwork: true"
_OTHER = "rayStartParams: {metrics-export-port: '8081'}"
_POLICY = (
    "apiVersion: networking.k8s.io/v1\nkind: NetworkPolicy\nmetadata: {name: ray, namespace: models}\n"
    "spec:\n  podSelector: {matchLabels: {ray.io/is-ray-node: 'yes'}}\n---\n"
)
_SYSCTLS = "securityContext: {sysctls: [{name: net.ipv4.ip_local_port_range, value: 20000 60999}]}"

RULES = (
    Rule(
        code="HOST001", name="host-metrics-port", severity="warning",
        title="Ray's port for metrics, on the node's network",
        because="where another program has the node's port 8080 the metrics are its own, or the pod stays pending",
        why="On the node's network a pod's ports are the node's. KubeRay writes the port `metrics` into the container, "
        "and Kubernetes makes it a host port, so that two such pods never share a node. 8080 is a popular one.",
        write="write metrics-export-port in rayStartParams and the same containerPort with the name metrics",
        since="KubeRay 1.4-1.7",
        source="KubeRay 1.6 ray-operator/controllers/ray/common/pod.go; Kubernetes pkg/apis/core/v1/defaults.go",
        bad=pods(spec=_HOST), good=pods(spec=_HOST, group=_OTHER),
        check=_metrics,
    ),
    Rule(
        code="HOST002", name="host-sysctl", severity="error",
        title="settings of the network for pods that have the node's",
        because="the API server refuses the pods that KubeRay makes",
        why="Settings that begin with net. belong to a network of the pod's own. With hostNetwork they would be the "
        "node's.",
        write="remove it, or hostNetwork", since="Kubernetes, all versions",
        source="Kubernetes 1.37 pkg/apis/core/validation/validation.go",
        bad=pods(spec=f"hostNetwork: true\n        {_SYSCTLS}"), good=pods(spec=_SYSCTLS),
        check=_sysctls,
    ),
    Rule(
        code="HOST003", name="host-pods-one-per-node", severity="info",
        title="several small pods on the nodes' network",
        because="a node takes one of them: its other GPUs, where it has some, stay idle, and pods stay pending where "
        "nodes are few",
        why="All pods of a group have the same host ports, and Kubernetes puts two pods with the same one on different "
        "nodes. vLLM also wants an address for each of its nodes.",
        write="write one pod for each node, with all its GPUs; or remove hostNetwork",
        since="Kubernetes, all versions; vLLM 0.6-0.32",
        source="Kubernetes 1.37 pkg/apis/core/v1/defaults.go; vLLM 0.32 vllm/v1/executor/ray_executor.py",
        bad=pods(limits="nvidia.com/gpu: '2'", spec=_HOST), good=pods(limits="nvidia.com/gpu: '8'", spec=_HOST),
        check=_one_each,
    ),
    Rule(
        code="SEC005", name="policy-not-on-host-network", severity="warning",
        title="a network policy for pods on the node's network",
        because="everything that reaches the node reaches Ray, whose ports run any code that they are sent",
        why="Network plugins apply policies to pods with a network of their own. Those with hostNetwork are the node, "
        "to them.",
        write="remove hostNetwork, or guard the nodes' ports otherwise",
        since="Kubernetes, all versions", source="kubernetes.io/docs/concepts/services-networking/network-policies",
        bad=_POLICY + pods(spec=_HOST), good=_POLICY + pods(spec="hostNetwork: false"),
        check_manifest=_policy,
    ),
    Rule(
        code="DNS003", name="dns-none", severity="error",
        title="no DNS at all",
        because="the API server refuses the pods that KubeRay makes",
        why="None means that dnsConfig says everything. Without a name server there it is refused.",
        write="remove it, or add dnsConfig.nameservers with the address of the cluster's DNS",
        since="Kubernetes, all versions", source="Kubernetes 1.37 pkg/apis/core/validation/validation.go",
        bad=pods(spec="dnsPolicy: None"), good=pods(spec="dnsPolicy: ClusterFirst"),
        check=_no_nameserver,
    ),
)  # fmt: skip
