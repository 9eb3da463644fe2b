"""SRV: models of ray.serve.llm: the image that can run them, and what their configuration takes."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from raygang.lint.model import Case, Found, Report, Rule, Severity
from raygang.lint.rules.pods_view import can_have_pods, gpus, label, ray_containers
from raygang.lint.rules.ray_images import ray_image
from raygang.lint.rules.serve_fields import (
    ACCELERATORS,
    ACTOR,
    AUTOSCALING,
    DEPLOYMENT_CONFIG,
    LLM,
    LOADING,
    LORA,
    PLACEMENT,
    REMOTE,
    SERVING_ARGS,
    STRATEGIES,
)
from raygang.lint.rules.serve_traffic import called
from raygang.lint.rules.serve_words import model, nearest, older, ray_of, same
from raygang.lint.serve import DATA_PARALLEL, OPENAI, Application, Llm, serve
from raygang.objects import Path, Version, at, mapping, sequence, text

_LLM_SINCE = Version(2, 44)  # Ray 2.44 is the first with ray.serve.llm
_INSTALLERS = ("pip", "uv", "conda", "image_uri", "container")
_HELD = "the application fails when it is built, and the RayService never becomes ready"


def _image(case: Case) -> Report:
    applications = [application for application in serve(case).applications if application.builder]
    version = ray_of(case)
    for application in applications:
        if version is not None and version.release < _LLM_SINCE.release:
            what = f"{application.import_path} needs Ray {_LLM_SINCE} or later, and this is Ray {version}"
            yield Found(application.at("import_path"), what, "use rayproject/ray-llm of a newer Ray")
    if applications and not any(_installs(application) for application in applications):
        yield from _without_vllm(case, f"{applications[0].import_path} needs vLLM", None)
    elif case.workload.kind == "RayCluster" and (reason := called(case)):
        yield from _without_vllm(case, f"{reason}, so it is meant for a language model", "warning")


def _without_vllm(case: Case, reason: str, severity: Severity | None) -> Iterator[Found]:
    told = ray_of(case)
    tag = f"{told}-pyXYZ-cuXYZ" if told and told >= _LLM_SINCE else "VERSION-pyXYZ-cuXYZ of a newer Ray"
    for container in ray_containers(case):
        image = ray_image(container.image)
        ours = severity is None or gpus(container) > 0 or container.group.head
        if image is not None and image.name != "rayproject/ray-llm" and ours and can_have_pods(case, container.group):
            what = f"{container.image} of {label(container.group)} has no vLLM: {reason}"
            yield Found(container.at("image"), what, f"use rayproject/ray-llm:{tag}", severity=severity)


def _installs(application: Application) -> bool:
    environments = [application.data.get("runtime_env"), *(llm.data.get("runtime_env") for llm in application.llms)]
    return any(name in mapping(environment) for environment in environments for name in _INSTALLERS)


def _unknown(case: Case) -> Report:
    for application in serve(case).applications:
        if application.builder:
            args = mapping(application.data.get("args"))
            yield from _strange(case, args, application.at("args"), SERVING_ARGS[application.builder])
            for llm in application.llms:
                yield from _of_model(case, llm)


def _of_model(case: Case, llm: Llm) -> Report:
    yield from _strange(case, llm.data, llm.path, LLM)
    for name, known in (
        ("model_loading_config", LOADING),
        ("lora_config", LORA),
        ("placement_group_config", PLACEMENT),
    ):
        yield from _strange(case, mapping(llm.data.get(name)), llm.at(name), known)
    path = llm.at("deployment_config")
    yield from _strange(
        case, llm.deployment, path, DEPLOYMENT_CONFIG | {"placement_group_bundles", "placement_group_strategy"}
    )
    auto, actor = llm.deployment.get("autoscaling_config"), llm.deployment.get("ray_actor_options")
    for found in _strange(case, mapping(auto), (*path, "autoscaling_config"), AUTOSCALING):
        because = "Ray leaves it out without a word, and what it was to set keeps its default"
        yield Found(found.path, found.what, found.write, because, severity="warning", key=True)
    yield from _strange(case, mapping(actor), (*path, "ray_actor_options"), ACTOR)


def _strange(case: Case, data: Mapping[str, Any], path: Path, known: Collection[str]) -> Iterator[Found]:
    for name in data:
        if name in known:
            continue
        meant = nearest(name, known)
        if meant is None and older(case):
            continue
        severity: Severity = "error" if meant or same(case) else "warning"
        write = f"write {meant}" if meant else f"remove it; known are {', '.join(sorted(known)[:14])}"
        where = "a model" if isinstance(path[-1], int) or path[-1] == "llm_config" else str(path[-1])
        yield Found((*path, name), f"{name} is no field of {where}", write, severity=severity, key=True)


def _refused(case: Case) -> Report:
    for application in serve(case).applications:
        if not application.builder:
            continue
        yield from _models(application)
        for llm in application.llms:
            yield from _loading(llm)
            yield from _engine(llm)
            yield from _placement(llm)
            yield from _rest(llm)


def _models(application: Application) -> Report:
    args = application.data.get("args")
    needed = SERVING_ARGS[application.builder] - {"ingress_cls_config", "ingress_deployment_config"}
    for name in sorted(needed):
        if not at(args, name) and not any(nearest(other, (name,)) for other in mapping(args)):
            path = application.at("args") if "args" in application.data else application.path
            yield Found(path, f"args of {application.builder} has no {name}", f"add {name}")
    if application.builder == OPENAI and isinstance(at(args, "llm_configs"), Mapping):
        yield Found(
            application.at("args", "llm_configs"), "llm_configs is a mapping, not a list", "put a - before the model"
        )
    names: set[str] = set()
    for llm in application.llms if application.builder == OPENAI else ():
        if llm.name in names and "model_id" in llm.loading:
            yield Found(llm.at("model_loading_config", "model_id"), f"two models are called {llm.name}", "rename one")
        names.add(llm.name)


def _loading(llm: Llm) -> Report:
    if "model_loading_config" not in llm.data:
        if not any(nearest(name, ("model_loading_config",)) for name in llm.data):
            yield Found(llm.path, "the model has no model_loading_config", "add model_loading_config with model_id")
    elif not text(llm.loading.get("model_id")) and not any(nearest(name, ("model_id",)) for name in llm.loading):
        yield Found(llm.at("model_loading_config"), "model_loading_config has no model_id", "add model_id")


def _engine(llm: Llm) -> Report:
    for name in ("model", "served_model_name"):
        if name in llm.engine:
            to = "model_source" if name == "model" else "model_id"
            what = f"engine_kwargs has {name}, which ray.serve.llm sets itself"
            yield Found(llm.at("engine_kwargs", name), what, f"write model_loading_config.{to}", key=True)
    backend = llm.engine.get("distributed_executor_backend")
    if backend not in (None, "ray") and at(llm.data, "accelerator_config", "kind") != "cpu" and not _cpu_only(llm):
        what = f"distributed_executor_backend is {backend}"
        yield Found(llm.at("engine_kwargs", "distributed_executor_backend"), what, "remove it: ray.serve.llm uses ray")
    if llm.engine.get("disable_log_stats") is True and llm.data.get("log_engine_metrics", True):
        what = "disable_log_stats is true, and log_engine_metrics, true by default, needs them"
        yield Found(llm.at("engine_kwargs", "disable_log_stats"), what, "remove it, or write log_engine_metrics: false")


def _cpu_only(llm: Llm) -> bool:
    placement = mapping(llm.data.get("placement_group_config"))
    bundles = [placement.get("bundle_per_worker"), *sequence(placement.get("bundles"))]
    return bool(placement) and not any(mapping(bundle).get(name) for bundle in bundles for name in ("GPU", "TPU"))


def _placement(llm: Llm) -> Report:
    for name in ("placement_group_bundles", "placement_group_strategy"):
        if name in llm.deployment:
            what = f"deployment_config has {name}, which ray.serve.llm sets itself"
            yield Found(llm.at("deployment_config", name), what, "write placement_group_config of the model", key=True)
    placement = mapping(llm.data.get("placement_group_config"))
    path = llm.at("placement_group_config")
    if placement:
        there = [name for name in ("bundle_per_worker", "bundles") if placement.get(name) is not None]
        if len(there) != 1:
            what = "placement_group_config has " + (
                " and ".join(there) if there else "neither bundles nor bundle_per_worker"
            )
            yield Found(path, what, "write one of bundles and bundle_per_worker")
        if text(placement.get("strategy", "PACK")) not in STRATEGIES:
            yield Found(
                (*path, "strategy"), f"strategy is {placement['strategy']!r}", f"write one of {', '.join(STRATEGIES)}"
            )


def _rest(llm: Llm) -> Report:
    kind = llm.data.get("accelerator_type")
    if kind is not None and text(kind) not in ACCELERATORS:
        meant = nearest(str(kind).removeprefix("nvidia-").upper(), ACCELERATORS, 0.6)
        write = f"write {meant}, or remove it" if meant else "remove it"
        yield Found(llm.at("accelerator_type"), f"accelerator_type {kind!r} is none that Ray knows", write)
    engine = llm.data.get("llm_engine", "vLLM")
    if engine != "vLLM":
        yield Found(llm.at("llm_engine"), f"llm_engine is {engine!r}", "write vLLM, or remove it")
    adapters = at(llm.data, "lora_config", "dynamic_lora_loading_path")
    if isinstance(adapters, str) and not adapters.startswith(REMOTE):
        path = llm.at("lora_config", "dynamic_lora_loading_path")
        yield Found(
            path, f"dynamic_lora_loading_path is {adapters}", "write an address that starts with s3:// or gs://"
        )
    if "num_router_replicas" in mapping(llm.data.get("experimental_configs")):
        path = llm.at("experimental_configs", "num_router_replicas")
        yield Found(path, "num_router_replicas has been renamed", "write num_ingress_replicas", key=True)


def _data_parallel(case: Case) -> Report:
    for llm in serve(case).llms:
        size = llm.engine.get("data_parallel_size", 1)
        if llm.builder == OPENAI and isinstance(size, int) and size > 1:
            what = f"data_parallel_size is {size}, and {OPENAI} makes a placement group for one rank of it"
            write = f"use ray.serve.llm:{DATA_PARALLEL} with llm_config"
            yield Found(llm.at("engine_kwargs", "data_parallel_size"), what, write)


_BUILDERS = "Ray 2.60 ray/llm/_internal/serve/core"
_IMAGE = "kind: RayService\nspec:\n  rayClusterConfig:\n    headGroupSpec:\n      template:\n        spec:\n" \
    "          containers:\n          - image: %s\n"  # fmt: skip

RULES = (
    Rule(
        code="SRV017", name="llm-image", severity="error", title="an image without vLLM",
        because=_HELD,
        why="vLLM is in rayproject/ray-llm only. The head needs it too: Serve builds the application on any node, "
        "which "
        "imports ray.serve.llm. Images of other makers are not judged, nor those of an application that installs vLLM "
        "by its runtime_env.",
        write="use rayproject/ray-llm in all groups",
        since="Ray 2.44-2.60",
        source="Ray docker/ray-llm/Dockerfile; Ray 2.60 ray/serve/_private/application_state.py:1686",
        bad=_IMAGE % "rayproject/ray:2.60.0-py311-cu128", good=_IMAGE % "rayproject/ray-llm:2.60.0-py311-cu128",
        check=_image,
    ),
    Rule(
        code="SRV018", name="llm-unknown-field", severity="error", title="a field that ray.serve.llm does not know",
        because=_HELD,
        why="Unlike Serve's own fields, those of ray.serve.llm's args are checked: an unknown one is an error. It "
        "shows "
        "in the application's status only.",
        write="write the field's name as Ray has it",
        since="Ray 2.44-2.60",
        source=f"{_BUILDERS}/configs/llm_config.py:142-290; ray/llm/_internal/common/base_pydantic.py",
        bad=model("accelerator_typ: H100\n"), good=model("accelerator_type: H100\n"),
        check=_unknown,
    ),
    Rule(
        code="SRV019", name="llm-refused", severity="error", title="a value that ray.serve.llm refuses",
        because=_HELD,
        why="ray.serve.llm sets the model's name, the executor and the placement group itself and refuses them where "
        "they are set by hand.",
        write="write it where ray.serve.llm takes it",
        since="Ray 2.44-2.60",
        source=f"{_BUILDERS}/configs/llm_config.py:330-480, core/server/llm_server.py:788; "
        "engines/vllm/vllm_models.py:143",
        bad=model(engine="distributed_executor_backend: mp\n"),
        good=model(engine="distributed_executor_backend: ray\n"),
        check=_refused,
    ),
    Rule(
        code="SRV020", name="data-parallel-builder", severity="warning",
        title="data parallelism without its builder",
        because="the other ranks have no GPUs reserved: the engine fails at start, or takes GPUs that others count on",
        why="build_openai_app makes a placement group with tensor_parallel_size x pipeline_parallel_size bundles. "
        "build_dp_openai_app starts data_parallel_size replicas together, each with its own.",
        write=f"use ray.serve.llm:{DATA_PARALLEL}",
        since="Ray 2.44-2.60",
        source="Ray 2.60 ray/llm/_internal/serve/serving_patterns/data_parallel/dp_server.py:244-297; KubeRay issue "
        "4366",
        bad=model(engine="tensor_parallel_size: 8\ndata_parallel_size: 2\n"),
        good=model(engine="tensor_parallel_size: 8\ndata_parallel_size: 2\n", builder=DATA_PARALLEL),
        check=_data_parallel,
    ),
)  # fmt: skip
