"""DNS: whether a pod finds the head's Service by its name."""

from __future__ import annotations

from raygang.lint.model import Case, Edit, Found, Report, Rule
from raygang.lint.rules.pods_view import can_have_pods, label

_CLUSTER, _HOST = "ClusterFirst", "ClusterFirstWithHostNet"
_BECAUSE = "workers do not find the head's Service: `ray start` cannot connect, and the pods start again and again"


def _host(case: Case) -> Report:
    for group in case.workers:
        policy = group.pod.get("dnsPolicy", _CLUSTER)
        if group.pod.get("hostNetwork") is True and policy not in (_HOST, "None") and can_have_pods(case, group):
            path = group.at("template", "spec")
            here = "dnsPolicy" in group.pod
            what = f"{label(group)} has hostNetwork and dnsPolicy {policy}" + ("" if here else ", the default")
            fix = (Edit("set", (*path, "dnsPolicy"), _HOST),)
            yield Found((*path, "dnsPolicy" if here else "hostNetwork"), what, fix=fix)


def _nodes_dns(case: Case) -> Report:
    for group in case.workers:
        if group.pod.get("hostNetwork") is not True and group.pod.get("dnsPolicy") == "Default":
            path = group.at("template", "spec", "dnsPolicy")
            yield Found(path, f"{label(group)} has dnsPolicy Default", fix=(Edit("delete", path),))


_POD = "kind: RayCluster\nspec:\n  workerGroupSpecs:\n  - template:\n      spec: {%s}\n"
_SOURCE = "KubeRay 1.6 ray-operator/controllers/ray/common/pod.go:606-657; Kubernetes 1.37 pkg/kubelet/network/dns"

RULES = (
    Rule(
        code="DNS001",
        name="host-network-dns",
        severity="error",
        title="the node's network without the cluster's DNS",
        because=_BECAUSE,
        why="A pod on the node's network gets the node's resolv.conf, unless its policy is ClusterFirstWithHostNet. "
        "KubeRay lets workers wait for the head by the name of its Service, which only the cluster's DNS knows.",
        write="write dnsPolicy: ClusterFirstWithHostNet",
        since="Kubernetes, all versions; KubeRay 1.4-1.7",
        source=_SOURCE,
        bad=_POD % "hostNetwork: true",
        good=_POD % "hostNetwork: true, dnsPolicy: ClusterFirstWithHostNet",
        check=_host,
    ),
    Rule(
        code="DNS002",
        name="dns-default",
        severity="error",
        title="a pod with the node's DNS",
        because=_BECAUSE,
        why="Default is not the default: it means the node's resolv.conf. ClusterFirst, the cluster's DNS, is what a "
        "pod has without a policy.",
        write="remove it",
        since="Kubernetes, all versions; KubeRay 1.4-1.7",
        source=_SOURCE,
        bad=_POD % "dnsPolicy: Default",
        good=_POD % "dnsPolicy: ClusterFirst",
        check=_nodes_dns,
    ),
)
