"""ENG: placement groups and replicas that fit on no pod."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from raygang.lint.model import Case, Found, Report, Rule
from raygang.lint.rules.serve_shape import MANY, Bundle, Engine, Node, engines, nodes
from raygang.lint.rules.serve_words import model, service
from raygang.lint.serve import DATA_PARALLEL, serve
from raygang.objects import Path, at, mapping, sequence, text
from raygang.objects.words import agreed, counted

_FOR_EVER = "Ray waits for a node that can hold it, without an error, and the RayService never becomes ready"
_GPU_NAMES = re.compile(r"(?<![A-Z0-9])(GB\d{3}|[ABHLTV]\d{1,3}[SG]?|H20|MI\d{3}X?)(?![A-Z0-9])", re.ASCII)
_PRODUCT_LABELS = ("nvidia.com/gpu.product", "cloud.google.com/gke-accelerator", "node.kubernetes.io/instance-gpu-name",
                   "karpenter.k8s.aws/instance-gpu-name", "gpu.nvidia.com/class")  # fmt: skip


def _misfit(bundle: Bundle, offered: tuple[Node, ...]) -> str:
    """The resource for which no pod has room for a bundle; empty where one has, or may have."""
    lacks = [node.lacks(bundle) for node in offered]
    if not lacks or not all(lacks):
        return ""
    nearly = [node for node in offered if node.gpus] or list(offered)
    return nearly[-1].lacks(bundle)


def _shown(bundle: Mapping[str, float]) -> str:
    return "{" + ", ".join(f"{name}: {amount:g}" for name, amount in bundle.items() if amount) + "}"


def _bundles(case: Case) -> Report:
    offered = nodes(case)
    for engine in engines(case):
        if not engine.llm.builder:
            continue  # a placement group of its own
        for index, bundle in enumerate(engine.own_bundles):
            lack = _misfit(bundle, offered)
            if lack:
                what = f"no pod has room for the bundle {_shown(bundle)} of {engine.llm.name}: too little {lack}"
                yield Found(_where(engine, index), what, _advice(lack, offered, bundle))
                break
        else:
            yield from _first(engine, offered)


def _several_gpus(case: Case) -> Report:
    for engine in engines(case):
        if not engine.llm.builder or engine.llm.engine.get("distributed_executor_backend", "ray") != "ray":
            continue
        for index, bundle in enumerate(engine.own_bundles):
            gpus = bundle.get("GPU", 0)
            if gpus > 1:
                what = f"a bundle of {engine.llm.name} has {gpus:g} GPUs, and vLLM takes one bundle for each rank"
                write = f"write {counted(engine.ranks, 'bundle')} of one GPU, or bundle_per_worker: {{CPU: 1, GPU: 1}}"
                yield Found(_where(engine, index), what, write)
                break


def _first(engine: Engine, offered: tuple[Node, ...]) -> Report:
    """The replica itself comes on top of the first bundle."""
    bundle = engine.bundles[0]
    lack = _misfit(bundle, offered)
    if lack and _any_cpu(offered):
        what = f"no pod has room for {_shown(bundle)}: the first bundle of {engine.llm.name} with the replica itself"
        yield Found(_where(engine, 0), what, _advice(lack, offered, bundle))


def _any_cpu(offered: tuple[Node, ...]) -> bool:
    return any(node.cpus is None or node.cpus > 0 for node in offered)  # where not, RAY004 says so


def _where(engine: Engine, index: int) -> Path:
    path = engine.llm.at("placement_group_config")
    if "bundle_per_worker" in engine.placement:
        return (*path, "bundle_per_worker")
    if sequence(engine.placement.get("bundles")):
        return (*path, "bundles", index)
    return engine.llm.at("engine_kwargs")


def _advice(lack: str, offered: tuple[Node, ...], bundle: Bundle) -> str:
    if lack == "CPU":
        return f"let the pods with GPUs have CPUs: remove num-cpus, or ask for at least {bundle['CPU']:g}"
    best = max((node.has(lack) or 0 for node in offered), default=0)
    return (
        f"write bundles of at most {best:g} {lack}" if best else f"give the pods {lack}, or take it out of the bundle"
    )


def _strategy(case: Case) -> Report:
    offered = nodes(case)
    for engine in (engine for engine in engines(case) if engine.llm.builder):
        path = engine.llm.at("placement_group_config", "strategy")
        if engine.strategy == "STRICT_PACK" and len(engine.bundles) > 1 and engine.llm.builder != DATA_PARALLEL:
            whole: dict[str, float] = {}
            for bundle in engine.bundles:
                for name, amount in bundle.items():
                    whole[name] = whole.get(name, 0) + amount
            if _misfit(whole, offered):
                what = f"STRICT_PACK puts all {len(engine.bundles)} bundles of {engine.llm.name} on one node, and no "
                yield Found(path, what + f"pod has room for {_shown(whole)}", "write PACK")
        if engine.strategy == "STRICT_SPREAD" and engine.llm.builder != DATA_PARALLEL:
            pods = sum(min(node.pods, MANY) for node in offered if not node.lacks(engine.own_bundles[-1]))
            if pods < len(engine.bundles):
                what = (
                    f"STRICT_SPREAD puts each of the {len(engine.bundles)} bundles of {engine.llm.name} on a node of "
                )
                yield Found(
                    path,
                    what + f"its own, and {counted(pods, 'pod')} {agreed(pods, 'has', 'have')} room for one",
                    "write PACK",
                )


def _replicas(case: Case) -> Report:
    """Replicas of one's own applications, as far as `deployments` says what they take."""
    offered = nodes(case)
    for application in serve(case).applications:
        for index, item in enumerate(sequence(application.data.get("deployments"))):
            path = application.at("deployments", index)
            options = mapping(at(item, "ray_actor_options"))
            bundle = _numbers({"CPU": options.get("num_cpus", 0), "GPU": options.get("num_gpus", 0),
                               **mapping(options.get("resources"))})  # fmt: skip
            name = text(at(item, "name")) or f"number {index + 1}"
            lack = _misfit(bundle, offered)
            if lack:
                what = f"a replica of {name} takes {_shown(bundle)}, and no pod has room for it: too little {lack}"
                yield Found((*path, "ray_actor_options"), what, _advice(lack, offered, bundle))
            for number, listed in enumerate(sequence(at(item, "placement_group_bundles"))):
                lack = _misfit(_numbers(mapping(listed)), offered)
                if lack:
                    wanted = _shown(_numbers(mapping(listed)))
                    what = f"no pod has room for the bundle {wanted} of {name}: too little {lack}"
                    yield Found(
                        (*path, "placement_group_bundles", number), what, _advice(lack, offered, mapping(listed))
                    )


def _numbers(values: Mapping[str, Any]) -> dict[str, float]:
    return {str(k): float(v) for k, v in values.items() if isinstance(v, int | float) and not isinstance(v, bool)}


def _accelerator(case: Case) -> Report:
    """Ray names a node's accelerator by its GPUs; the node selector says which GPUs those are."""
    kinds = [kind for node in nodes(case) if node.gpus != 0 for kind in _selected(node)]
    if not kinds or not all(kinds):
        return
    for llm in serve(case).llms:
        wanted = str(llm.data.get("accelerator_type") or "")
        family = wanted.split("-", maxsplit=1)[0].upper()
        if family and _GPU_NAMES.fullmatch(family) and not any(_same(family, kind) for kind in kinds):
            what = f"accelerator_type is {wanted}, and the pods go to nodes with {' and '.join(sorted(set(kinds)))}"
            yield Found(llm.at("accelerator_type"), what, f"write accelerator_type: {kinds[0]}, or select other nodes")


def _selected(node: Node) -> Iterator[str]:
    """The GPU that a group's node selector names; empty where it names none."""
    selector = mapping(node.group.pod.get("nodeSelector"))
    said = " ".join(str(selector[name]) for name in _PRODUCT_LABELS if name in selector)
    found = _GPU_NAMES.search(said.upper())
    yield found[1] if found else ""


def _same(one: str, other: str) -> bool:
    return one == other or {one, other} == {"A10", "A10G"}


_RAY = "Ray 2.60 ray/llm/_internal/serve/engines/vllm/vllm_models.py:293-345, core/server/llm_server.py:110-140"
_PLACE = "placement_group_config:\n  bundle_per_worker: {CPU: 1, GPU: 1}\n  strategy: %s\n"
_OWN = "applications:\n- name: app\n  import_path: app:app\n  deployments:\n  - name: Model\n" \
    "    ray_actor_options: {num_gpus: %s}\n"  # fmt: skip

RULES = (
    Rule(
        code="ENG006", name="bundle-fits-nowhere", severity="error", title="a bundle that no pod can hold",
        because=_FOR_EVER,
        why="Each bundle of a placement group has to fit on one node. The first one also takes the replica itself, one "
        "CPU by default: workers whose num-cpus is 0 can hold none, however many GPUs they have.",
        write="write bundles that a pod can hold",
        since="Ray 2.44-2.60", source=_RAY,
        bad=model("placement_group_config:\n  bundles:\n  - {GPU: 16}\n"), good=model(_PLACE % "PACK"),
        check=_bundles,
    ),
    Rule(
        code="ENG018", name="bundle-of-several-gpus", severity="error", title="a bundle with more than one GPU",
        because="the engine refuses the placement group: the replica fails when it starts, again and again",
        why="With Ray as its executor vLLM puts one rank into each bundle that has a GPU.",
        write="write a bundle with one GPU for each rank",
        since="vLLM 0.8-0.32", source="vLLM 0.32 vllm/v1/executor/ray_utils.py:590-597",
        bad=model("placement_group_config:\n  bundles:\n  - {CPU: 1, GPU: 8}\n  - {CPU: 1, GPU: 8}\n"),
        good=model(_PLACE % "PACK"),
        check=_several_gpus,
    ),
    Rule(
        code="ENG007", name="strategy-impossible", severity="error", title="a placement strategy that cannot be met",
        because=_FOR_EVER,
        why="STRICT_PACK wants all bundles on one node, STRICT_SPREAD each on a node of its own. An engine over "
        "several "
        "pods with several ranks in each is neither.",
        write="write PACK",
        since="Ray 2.x", source="Ray 2.60 ray/util/placement_group.py; " + _RAY,
        bad=model(_PLACE % "STRICT_PACK"), good=model(_PLACE % "PACK"),
        check=_strategy,
    ),
    Rule(
        code="ENG008", name="replica-fits-nowhere", severity="error", title="a replica that no pod can hold",
        because=_FOR_EVER,
        why="A replica is one process: what its ray_actor_options take has to be on one node.",
        write="write what a pod has",
        since="Ray 2.x", source="Ray 2.60 ray/serve/schema.py:276-335",
        bad=service(_OWN % 16), good=service(_OWN % 8),
        check=_replicas,
    ),
    Rule(
        code="ENG009", name="accelerator-not-there", severity="error",
        title="accelerator_type is not what the nodes have",
        because=_FOR_EVER,
        why="accelerator_type adds the resource accelerator_type:NAME to each bundle. Ray gives it to a node by the "
        "GPUs "
        "that it finds.",
        write="write the accelerator of the nodes, or leave it out",
        since="Ray 2.44-2.60", source=_RAY,
        bad=model("accelerator_type: A100\n")
        + "  rayClusterConfig:\n    workerGroupSpecs:\n    - template:\n        spec:\n          nodeSelector:\n"
        "            nvidia.com/gpu.product: NVIDIA-H100-80GB-HBM3\n",
        good=model("accelerator_type: H100\n"),
        check=_accelerator,
    ),
)  # fmt: skip
