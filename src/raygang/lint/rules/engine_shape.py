"""SRV, ENG: the ranks of an engine against the GPUs of the pods."""

from __future__ import annotations

import math
from collections.abc import Iterator

from raygang.lint.model import Case, Found, Report, Rule
from raygang.lint.rules.pods_view import gpus, label, ray_container
from raygang.lint.rules.serve_shape import MANY, Engine, Node, engines, nodes, where
from raygang.lint.rules.serve_traffic import called
from raygang.lint.rules.serve_words import model
from raygang.lint.serve import serve
from raygang.objects import Group, Path
from raygang.objects.words import agreed, counted

_WAITS = (
    "Ray waits for GPUs that never come, without an error: the pods hold theirs, and the RayService never becomes ready"
)


def _offered(case: Case) -> tuple[list[Node], int] | None:
    """The groups with GPUs and how many there can be; None where a group's cannot be told."""
    found = nodes(case)
    if any(node.gpus is None for node in found):
        return None
    with_gpus = [node for node in found if node.gpus]
    total = sum(min(node.pods, MANY) * (node.gpus or 0) for node in with_gpus)
    return with_gpus, total


def _infeasible(case: Case) -> Report:
    offered = _offered(case)
    if offered is None:
        return
    total, needed = offered[1], 0.0
    whole = list(engines(case))
    for engine in whole:
        least = engine.replicas[0]
        needed += engine.gpus * (1 if least is None else least)
        if engine.gpus > total:
            yield Found(where(engine), _asks(engine, f"the pods have {total} in all"), _resize(engine, *offered))
            return
    if needed > total and whole:
        path = _replicas_path(whole[0])
        what = f"all replicas together need {counted(needed, 'GPU')}, and the pods have {total} in all"
        yield Found(path, what, f"write fewer replicas, or give the cluster {counted(needed, 'GPU')}")


def _asks(engine: Engine, than: str) -> str:
    sizes = f"tensor_parallel_size {engine.tp} x pipeline_parallel_size {engine.pp}"
    sizes += f" x data_parallel_size {engine.groups}" if engine.groups > 1 else ""
    return f"{sizes} of {engine.llm.name} needs {counted(engine.gpus, 'GPU')}, and {than}"


def _resize(engine: Engine, with_gpus: list[Node], total: int) -> str:
    if not with_gpus:
        return "give the workers GPUs"
    largest = max(with_gpus, key=lambda node: node.gpus or 0)
    pods = -(-int(engine.gpus) // (largest.gpus or 1))
    return f"write replicas: {pods} of {label(largest.group)}, or sizes whose product is at most {total}"


def _replicas_path(engine: Engine) -> tuple[str | int, ...]:
    deployment = engine.llm.deployment
    name = "num_replicas" if "num_replicas" in deployment else "autoscaling_config"
    return engine.llm.at("deployment_config", name) if name in deployment else where(engine)


def _across(case: Case) -> Report:
    offered = _offered(case)
    if offered is None or not offered[0]:
        return
    with_gpus, total = offered
    largest = max(node.gpus or 0 for node in with_gpus)
    for engine in engines(case):
        if engine.gpus > total or engine.tp == 1:
            continue
        if engine.tp > largest:
            write = _shape(engine.ranks, largest)
            what = f"tensor_parallel_size {engine.tp} of {engine.llm.name} is more than the "
            what += f"{counted(largest, 'GPU')} of a pod"
            yield Found(engine.llm.at("engine_kwargs", "tensor_parallel_size"), what, write)
        elif engine.ranks > largest and largest % engine.tp and all(node.gpus == largest for node in with_gpus):
            what = f"the {largest} GPUs of a pod are no multiple of tensor_parallel_size {engine.tp}: a stage of "
            what += f"{engine.llm.name} has ranks in two pods"
            yield Found(engine.llm.at("engine_kwargs", "tensor_parallel_size"), what, _shape(engine.ranks, largest))


def _shape(ranks: int, per_pod: int) -> str:
    """The better shape: as wide as a pod, as many stages as that leaves."""
    tp = math.gcd(per_pod, ranks)
    write = f"write tensor_parallel_size: {tp} and pipeline_parallel_size: {ranks // tp}"
    return write + (", or give each pod all GPUs of its node" if per_pod < 8 else "")


def _idle(case: Case) -> Report:
    offered = _offered(case)
    found = serve(case)
    if offered is None or not found.applications or case.workload.autoscaling or not _counts_its_gpus(case):
        return
    if not all(application.builder for application in found.applications):
        return  # what other applications take is not known
    whole = list(engines(case))
    if len(whole) != len(found.llms) or not whole:
        return
    used = 0.0
    for engine in whole:
        most = engine.replicas[1]
        if most is None:
            return
        used += engine.gpus * most
    yield from _unused(offered, used)


def _counts_its_gpus(case: Case) -> bool:
    """Whether Ray counts the GPUs that the pods hold; where num-gpus says otherwise, RAY005 tells."""
    held = ((node, ray_container(node.group)) for node in nodes(case))
    return all(container is None or node.gpus == gpus(container) for node, container in held)


def _unused(offered: tuple[list[Node], int], used: float) -> Iterator[Found]:
    with_gpus, total = offered
    free = total - used
    if used and free >= 1:
        node = with_gpus[-1]
        idle = f"{free:g} {agreed(free, 'is', 'are')} idle"
        what = f"the engine uses {used:g} of the {total} GPUs that the pods hold: {idle}"
        less = -(-int(used) // (node.gpus or 1))
        write = f"write replicas: {less} of {label(node.group)}, or larger sizes, or more replicas"
        if len(with_gpus) > 1 or less == node.pods:
            write = "write sizes that use them, or ask for fewer"
        blame = node.group.at("replicas") if less < node.pods else _sizes(node.group)
        yield Found(blame, what, write)


def _sizes(group: Group) -> Path:
    return group.at("template", "spec", "containers", 0, "resources", "limits")


def _never(case: Case) -> Report:
    offered = _offered(case)
    if offered is None or case.workload.autoscaling:
        return
    for engine in engines(case):
        least, most = engine.replicas
        auto = engine.llm.deployment.get("autoscaling_config")
        room = int(offered[1] // engine.gpus) if engine.gpus else 0
        if isinstance(auto, dict) and least is not None and most is not None and least <= room < most and room:
            what = f"max_replicas {most} of {engine.llm.name} is above the {room} for which there are GPUs"
            path = engine.llm.at("deployment_config", "autoscaling_config", "max_replicas")
            yield Found(path, what, f"write max_replicas: {room}, or add pods")


def _one_each(case: Case) -> Report:
    """Where no engine says its sizes, but the cluster is evidently for one."""
    if case.workload.kind != "RayCluster" or not called(case):
        return
    for node in nodes(case):
        if node.gpus == 1 and node.group.pods > 1 and not node.group.head:
            what = f"{node.group.pods} pods of {label(node.group)} have one GPU each"
            yield Found(_sizes(node.group), what, "write one pod for each node, with all its GPUs")


_RAY = "Ray 2.60 ray/llm/_internal/serve/core/server/llm_server.py:784-820"

RULES = (
    Rule(
        code="SRV002", name="gang-infeasible", severity="error", title="more ranks than GPUs",
        because=_WAITS,
        why="Each replica needs tensor_parallel_size x pipeline_parallel_size GPUs at once, as a placement group. "
        "One that "
        "can never be placed stays PENDING: no error is raised, and nothing but `ray status` in the head shows it.",
        write="give the workers as many GPUs as the engine has ranks",
        since="Ray 2.44-2.60", source=_RAY,
        bad=model(engine="tensor_parallel_size: 8\npipeline_parallel_size: 4\n"), good=model(),
        check=_infeasible,
    ),
    Rule(
        code="ENG003", name="tp-across-pods", severity="warning", title="tensor parallelism across pods",
        because="every layer waits for the network twice: several times slower than within a node, even over RDMA",
        why="Ranks of one tensor-parallel group exchange data in every layer, which is what NVLink within a node is "
        "for; "
        "pods on one node do not share NVLink by themselves either. Stages of a pipeline exchange little.",
        write="write tensor_parallel_size as the GPUs of a pod, and pipeline_parallel_size as the number of pods",
        since="vLLM 0.6-0.32", source="vLLM docs/serving/parallelism_scaling.md",
        bad=model(engine="tensor_parallel_size: 16\n"), good=model(),
        check=_across,
    ),
    Rule(
        code="ENG004", name="idle-gpus", severity="warning", title="GPUs that the engine does not use",
        because="the pods hold GPUs that nothing ever uses, and a gang waits for them before it starts",
        why="What the pods ask for and what the engine takes are written in two places. Where every replica at its "
        "most "
        "leaves GPUs over, nobody uses them.",
        write="ask for as many GPUs as the engine has ranks",
        since="Ray 2.44-2.60", source=_RAY,
        bad=model(engine="tensor_parallel_size: 8\n"), good=model(),
        check=_idle,
    ),
    Rule(
        code="ENG005", name="replicas-out-of-reach", severity="info", title="more replicas than there can be",
        because="under load Serve asks for replicas that never start, and goes on asking",
        why="Without Ray's autoscaler the number of pods is fixed, and max_replicas with it.",
        write="write a max_replicas for which there are GPUs",
        since="Ray 2.44-2.60", source=_RAY,
        bad=model("deployment_config:\n  autoscaling_config: {max_replicas: 2}\n"),
        good=model("deployment_config:\n  autoscaling_config: {max_replicas: 1}\n"),
        check=_never,
    ),
    Rule(
        code="ENG017", name="one-gpu-pods", severity="warning", title="a model over pods with one GPU each",
        because="tensor parallelism goes over the network, several times slower than over NVLink, also within a node",
        why="Processes of different pods have no shared memory and do not see each other's GPUs: NCCL takes the "
        "network "
        "between them even on one node. A pod with all GPUs of its node has NVLink between its ranks.",
        write="write one pod for each node, with all its GPUs",
        since="vLLM 0.6-0.32", source="vLLM docs/serving/parallelism_scaling.md; NCCL issue 1781",
        bad="kind: RayCluster\nmetadata: {name: llama-inference}\nspec:\n  workerGroupSpecs:\n  - template:\n"
        "      spec:\n"
        "        containers:\n        - resources: {requests: {nvidia.com/gpu: '1'}, limits: {nvidia.com/gpu: '1'}}\n",
        good="kind: RayCluster\nmetadata: {name: llama-inference}\n",
        check=_one_each,
    ),
)  # fmt: skip
