"""SRV: replicas and queues of deployments: of `deployments` and of a model's deployment_config."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from raygang.lint.model import Case, Found, Report, Rule
from raygang.lint.rules.serve_words import model, service
from raygang.lint.serve import serve
from raygang.objects import Path, at, count, mapping, sequence

Options = tuple[Mapping[str, Any], Path]
_LEAST = {  # values below are refused; Ray 2.60 ray/serve/schema.py:382-570, ray/serve/_private/config.py:177-215
    "max_ongoing_requests": 1, "graceful_shutdown_timeout_s": 0, "graceful_shutdown_wait_loop_s": 0,
}  # fmt: skip
_ABOVE_ZERO = ("health_check_period_s", "health_check_timeout_s")


def _deployments(case: Case) -> Iterator[Options]:
    for application in serve(case).applications:
        for index, item in enumerate(sequence(application.data.get("deployments"))):
            yield mapping(item), application.at("deployments", index)
    for llm in serve(case).llms:
        yield llm.deployment, llm.at("deployment_config")


def _replicas(case: Case) -> Report:
    for data, path in _deployments(case):
        fixed, auto = data.get("num_replicas"), data.get("autoscaling_config")
        yield from _fixed(fixed, auto is not None, (*path, "num_replicas"))
        yield from _range(mapping(auto), (*path, "autoscaling_config"))
        for name, least in _LEAST.items():
            if _below(data.get(name), least):
                yield Found((*path, name), f"{name} is {data[name]}", f"write {least} or more")
        for name in _ABOVE_ZERO:
            if isinstance(data.get(name), int | float) and data[name] <= 0:
                yield Found((*path, name), f"{name} is {data[name]}", "write seconds above 0")
        queued = data.get("max_queued_requests")
        if _below(queued, 1) and queued != -1:
            yield Found(
                (*path, "max_queued_requests"), f"max_queued_requests is {queued}", "write -1 or a number above 0"
            )


def _fixed(fixed: Any, auto: bool, path: Path) -> Report:
    if fixed is None or fixed == "auto":
        return
    if not isinstance(fixed, int) or isinstance(fixed, bool):
        yield Found(path, f"num_replicas is {fixed!r}", 'write a number or "auto"')
    elif auto:
        write = 'remove one of them, or write num_replicas: "auto"'
        yield Found(path, f"num_replicas is {fixed}, and there is an autoscaling_config", write)
    elif fixed < 1:
        yield Found(path, f"num_replicas is {fixed}", "write 1 or more")


def _range(auto: Mapping[str, Any], path: Path) -> Report:
    least, most, first = (auto.get(name) for name in ("min_replicas", "max_replicas", "initial_replicas"))
    low, high = count(least, 1), count(most, 1)
    if count(most, 1) < 1:
        yield Found((*path, "max_replicas"), f"max_replicas is {most}", "write 1 or more")
    elif low > high:
        name = "min_replicas" if most is not None else "autoscaling_config"
        what = f"min_replicas {low} is above max_replicas {high}" + ("" if most is not None else ", its default")
        yield Found(
            (*path, "min_replicas") if name == "min_replicas" else path, what, f"write max_replicas: {low} or more"
        )
    elif isinstance(first, int) and not low <= first <= high:
        what = f"initial_replicas {first} is not between min_replicas {low} and max_replicas {high}"
        yield Found((*path, "initial_replicas"), what, f"write a number from {low} to {high}")
    target = auto.get("target_ongoing_requests")
    if isinstance(target, int | float) and target <= 0:
        yield Found(
            (*path, "target_ongoing_requests"), f"target_ongoing_requests is {target}", "write a number above 0"
        )


def _below(value: Any, least: int) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value < least


def _zero(case: Case) -> Report:
    for llm in serve(case).llms:
        if at(llm.deployment, "autoscaling_config", "min_replicas") == 0:
            yield Found(llm.at("deployment_config", "autoscaling_config", "min_replicas"), f"{llm.name} may scale to 0")


def _queue(case: Case) -> Report:
    for llm in serve(case).llms:
        lets, batch = llm.deployment.get("max_ongoing_requests"), llm.engine.get("max_num_seqs")
        if count(lets, 0) and count(lets, 0) < count(batch, 0):
            what = f"max_ongoing_requests {lets} of {llm.name} is below its max_num_seqs {batch}"
            yield Found(llm.at("deployment_config", "max_ongoing_requests"), what, f"write {batch} or more")
        target = at(llm.deployment, "autoscaling_config", "target_ongoing_requests")
        if count(lets, 0) and isinstance(target, int) and target > count(lets, 0):
            what = f"target_ongoing_requests {target} of {llm.name} is above its max_ongoing_requests {lets}"
            because = "a replica never has that many requests, so no further replica is ever started"
            path = llm.at("deployment_config", "autoscaling_config", "target_ongoing_requests")
            yield Found(path, what, f"write less than {lets}", because)


_DEPLOYMENT = "applications:\n- name: llm\n  import_path: app:llm\n  deployments:\n  - name: Model\n"

RULES = (
    Rule(
        code="SRV010", name="replicas-refused", severity="error",
        title="counts of replicas or requests that Ray refuses",
        because="Ray refuses the configuration: no application starts, and the RayService never becomes ready",
        why="num_replicas is a number, or \"auto\" with an autoscaling_config; not both. max_replicas is 1 where it is "
        "not written, and min_replicas may not be above it.",
        write="write counts that agree",
        since="Ray 2.10-2.60", source="Ray 2.60 ray/serve/schema.py:571-592, ray/serve/config.py:713-737",
        bad=service(_DEPLOYMENT + "    num_replicas: 2\n    autoscaling_config: {max_replicas: 4}\n"),
        good=service(_DEPLOYMENT + "    num_replicas: auto\n    autoscaling_config: {max_replicas: 4}\n"),
        check=_replicas,
    ),
    Rule(
        code="SRV011", name="scale-to-zero", severity="info", title="a large model that may scale to zero",
        because="the first request after a pause waits for the whole start: minutes for several nodes, and clients "
        "give up",
        why="With min_replicas 0 the engine ends when there is no traffic. Its pods keep their GPUs unless Ray's "
        "autoscaler may remove them, so without it nothing is saved either.",
        write="write min_replicas: 1",
        since="Ray 2.x", source="Ray 2.60 ray/serve/config.py:618-626",
        bad=model("deployment_config:\n  autoscaling_config: {min_replicas: 0, max_replicas: 1}\n"),
        good=model("deployment_config:\n  autoscaling_config: {min_replicas: 1, max_replicas: 1}\n"),
        check=_zero,
    ),
    Rule(
        code="SRV012", name="requests-below-batch", severity="warning",
        title="Serve lets fewer requests through than the engine could batch",
        because="the engine's batch never fills: GPUs wait while requests queue in front of them",
        why="max_ongoing_requests is how many requests Serve gives a replica at a time; the others wait in Serve, "
        "where "
        "vLLM cannot batch them. vLLM queues by itself, so ray.serve.llm's default is practically no limit.",
        write="write max_ongoing_requests of at least max_num_seqs, or remove it",
        since="Ray 2.44-2.60", source="Ray 2.60 ray/llm/_internal/serve/constants.py:42-48",
        bad=model("deployment_config:\n  num_replicas: 1\n  max_ongoing_requests: 5\n", "max_num_seqs: 256\n"),
        good=model("deployment_config:\n  num_replicas: 1\n  max_ongoing_requests: 256\n", "max_num_seqs: 256\n"),
        check=_queue,
    ),
)  # fmt: skip
