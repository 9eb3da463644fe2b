"""Worker pods on the network of their nodes: they find the head, and take nothing that others have there."""

from __future__ import annotations

from typing import Any

import pytest

from raygang.manifest import render
from raygang.manifest.host_network import FIXED, SERVE_PORTS
from raygang.plan import Plan
from tests.manifest.planned import planned
from tests.manifest.test_render import cluster, env, worker

HOST = {"type": "infiniband", "resource": "rdma/ib", "interface": "bond0", "host_network": True}
PORTS = range(min(FIXED.values()), SERVE_PORTS[1] + 1)


def on_host(**fields: Any) -> Plan:
    return planned(fabric={**HOST, **fields.pop("fabric", {})}, **fields)


def group(plan: Plan) -> Any:
    return cluster(plan)["workerGroupSpecs"][0]


def test_workers_are_on_the_nodes_network_and_find_the_head_by_its_service() -> None:
    pod = worker(on_host())
    assert (pod["hostNetwork"], pod["dnsPolicy"]) == (True, "ClusterFirstWithHostNet")
    head = cluster(on_host())["headGroupSpec"]["template"]["spec"]
    assert {"hostNetwork", "dnsPolicy", "affinity"}.isdisjoint(head)
    assert {"hostNetwork", "dnsPolicy", "affinity"}.isdisjoint(worker(planned()))


def test_a_node_holds_one_such_pod_whatever_deployment_it_is_of() -> None:
    plan = on_host()
    (term,) = worker(plan)["affinity"]["podAntiAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    own = group(plan)["template"]["metadata"]["labels"]
    assert term["labelSelector"]["matchLabels"].items() <= own.items()
    assert set(term["labelSelector"]["matchLabels"]) == {"raygang.dev/host-network"}
    assert (term["topologyKey"], term["namespaceSelector"]) == ("kubernetes.io/hostname", {})
    head = cluster(plan)["headGroupSpec"]["template"]["metadata"]["labels"]
    assert "raygang.dev/host-network" not in head


def test_ray_takes_the_address_that_vllm_takes() -> None:
    plan = on_host()
    assert group(plan)["rayStartParams"]["node-ip-address"] == "$VLLM_HOST_IP"
    assert env(worker(plan)["containers"][0])["VLLM_HOST_IP"] == {"fieldRef": {"fieldPath": "status.podIP"}}


def test_the_probes_and_the_metrics_of_a_worker_are_where_ray_listens() -> None:
    plan = on_host()
    container, started = worker(plan)["containers"][0], group(plan)["rayStartParams"]
    (metrics,) = container["ports"]
    assert (metrics["name"], str(metrics["containerPort"])) == ("metrics", started["metrics-export-port"])
    for probe in ("readinessProbe", "livenessProbe"):
        assert str(container[probe]["httpGet"]["port"]) == started["dashboard-agent-listen-port"]


def test_the_fixed_ports_are_none_that_a_node_gives_away() -> None:
    assert all(port < 30000 for port in PORTS), "Services get 30000-32767, connections 32768-60999"
    usual = {2379, 6443, 9100, 9400, *range(10248, 10260), *range(9000, 10000), 22623, 22624, 8080, 8265, 10001}
    assert usual.isdisjoint(PORTS)


def test_ray_accepts_the_ports_together() -> None:
    parameter = pytest.importorskip("ray._private.parameter")
    given = {key.replace("-", "_"): port for key, port in FIXED.items()}
    given["metrics_agent_port"] = given.pop("dashboard_agent_grpc_port")  # as scripts.py passes it on
    parameter.RayParams(**given).update_pre_selected_port()
    given["node_manager_port"] = given["object_manager_port"]
    with pytest.raises(ValueError, match="used by other components"):
        parameter.RayParams(**given).update_pre_selected_port()


def test_serve_opens_no_node_port_of_a_service() -> None:
    plan = on_host()
    head = cluster(plan)["headGroupSpec"]["template"]["spec"]["containers"][0]
    for container in (head, worker(plan)["containers"][0]):
        found = env(container)
        ports = [int(found[f"RAY_SERVE_DIRECT_INGRESS_{which}_HTTP_PORT"]) for which in ("MIN", "MAX")]
        assert ports == list(SERVE_PORTS)
    taken = {*FIXED.values(), *range(FIXED["min-worker-port"], FIXED["max-worker-port"] + 1)}
    assert taken.isdisjoint(range(SERVE_PORTS[0], SERVE_PORTS[1] + 1))


def test_no_policy_pretends_to_hold_and_what_has_to_hold_instead_is_said() -> None:
    rendered = render(on_host())
    assert "NetworkPolicy" not in {obj["kind"] for obj in rendered.objects}
    said = "\n".join(rendered.needs)
    assert "no NetworkPolicy holds" in said and "Pod Security level is privileged: hostNetwork" in said
    assert "the interface bond0, and free ports 28000-29199" in said
    assert cluster(on_host())["authOptions"] == {"mode": "token"}


def test_nccl_and_gloo_take_the_interface_that_is_named() -> None:
    found = env(worker(on_host())["containers"][0])
    assert (found["NCCL_SOCKET_IFNAME"], found["GLOO_SOCKET_IFNAME"]) == ("=bond0", "bond0")
