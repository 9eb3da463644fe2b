"""How this machine is shared among the nodes of a plan."""

from pathlib import Path

from raygang.hardware import Gpu, Machine
from raygang.local.prepare import prepare
from raygang.local.session import Request
from raygang.plan import plan
from raygang.runtime.config import AppConfig
from raygang.spec import Spec
from tests.plan.test_plan import checkpoint


def request(gpus: int = 0, cpus: int = 16, **fields: object) -> Request:
    spec = Spec.model_validate({"name": "x", "model": {"source": "a/b"}, **fields})
    cards = tuple(Gpu(i, "H200", 2**37) for i in range(gpus))
    machine = Machine("h", "Linux", cpus, 2**40, 2**40, cards)
    return prepare(plan(spec, checkpoint()), Path("/m"), machine, host="127.0.0.1", port=8000)


def test_cpus_are_shared_evenly_and_never_fewer_than_the_ranks_need() -> None:
    found = request(nodes={"count": 2, "accelerator": "cpu"})
    assert [(n.ranks, n.cpus, n.threads) for n in found.nodes] == [(1, 8, 8), (1, 8, 8)]
    assert [n.cpus for n in request(cpus=1, nodes={"count": 4, "accelerators": 4, "accelerator": "cpu"}).nodes] == [
        5
    ] * 4


def test_gpus_are_dealt_out_in_order_each_to_one_node() -> None:
    found = request(gpus=8, nodes={"count": 2, "accelerators": 4})
    assert [n.devices for n in found.nodes] == [(0, 1, 2, 3), (4, 5, 6, 7)]


def test_each_replica_has_nodes_of_its_own() -> None:
    found = request(gpus=8, replicas=2, nodes={"count": 2, "accelerators": 2})
    assert [n.devices for n in found.nodes] == [(0, 1), (2, 3), (4, 5), (6, 7)]
    assert AppConfig.model_validate(found.app).replicas == 2


def test_cpu_ranks_on_a_machine_with_gpus_use_none() -> None:
    assert request(gpus=8, nodes={"accelerator": "cpu"}).nodes[0].devices == ()


def test_ranks_on_cpus_get_what_several_on_a_machine_need_and_the_user_has_the_last_word() -> None:
    cpu = {"accelerator": "cpu"}
    assert request(nodes=cpu).app["engine_args"]["enforce_eager"] is True
    assert request(nodes=cpu).app["engine_args"]["kv_cache_memory_bytes"] == 2**28
    args = {"enforce_eager": False, "gpu_memory_utilization": 0.1}
    chosen = request(nodes=cpu, engine={"args": args}).app["engine_args"]
    assert chosen["enforce_eager"] is False
    assert "kv_cache_memory_bytes" not in chosen
    assert request(gpus=1).app["engine_args"] == {}


def test_float32_is_the_default_where_the_cpu_does_not_multiply_bfloat16() -> None:
    spec = Spec.model_validate({"name": "x", "model": {"source": "a/b"}, "nodes": {"accelerator": "cpu"}})
    made = plan(spec, checkpoint())
    for has, dtype in ((True, None), (False, "float32")):
        machine = Machine("h", "Linux", 4, 2**40, 2**40, cpu_bfloat16=has)
        found = prepare(made, Path("/m"), machine, host="127.0.0.1", port=8000)
        assert found.app["engine_args"].get("dtype") == dtype


def test_the_application_gets_what_the_specification_says() -> None:
    found = request(
        gpus=8,
        parallelism={"tensor": 4, "pipeline": 2},
        nodes={"count": 2, "accelerators": 4},
        limits={"start_timeout": "10m", "request_timeout": "5s", "max_concurrent_requests": 7},
    )
    app = AppConfig.model_validate(found.app)
    assert (app.gang.tensor, app.gang.pipeline, app.gang.nodes, app.gang.strategy()) == (4, 2, 2, "PACK")
    assert (app.served_name, app.max_concurrent_requests, app.request_timeout_s) == ("x", 7, 5)
    assert found.start_timeout_s == app.start_timeout_s == 600


def test_the_network_of_this_machine_is_checked_where_a_fabric_is_named() -> None:
    nodes = {"count": 2, "accelerator": "cpu"}
    assert "fabric" not in request(nodes=nodes).app
    named = request(nodes=nodes, fabric={"type": "tcp", "interface": "lo"}).app
    assert named["fabric"] == {"fabric": "tcp", "transport": "Socket", "interface": "lo"}
