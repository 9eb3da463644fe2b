"""ENG: engine_kwargs against the arguments that vLLM has."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

from raygang.lint.model import Case, Found, Report, Rule
from raygang.lint.rules.serve_words import model, nearest, older, ray_of, same
from raygang.lint.serve import Llm, serve
from raygang.lint.vllm_table import GONE, vllm
from raygang.objects import mapping

_HELD = "the replica fails when its engine starts, Serve tries again, and the RayService never becomes ready"
_NOT_RAYS = ("model", "served_model_name")  # SRV019 says it
_POSITIVE = (
    "tensor_parallel_size", "pipeline_parallel_size", "data_parallel_size", "max_num_seqs", "max_num_batched_tokens",
    "decode_context_parallel_size", "prefill_context_parallel_size",
)  # fmt: skip
_NUMBER = re.compile(r"[-+]?\d+(?:\.\d*)?", re.ASCII)
_CALLED = {"int": "a whole number", "float": "a number", "bool": "true or false", "str": "a text"}
_KINDS: dict[str, Callable[[Any], bool]] = {
    "int": lambda value: isinstance(value, int) and not isinstance(value, bool),
    "float": lambda value: isinstance(value, int | float) and not isinstance(value, bool),
    "bool": lambda value: isinstance(value, bool),
    "str": lambda value: isinstance(value, str),
}


def _unknown(case: Case) -> Report:
    table = vllm()
    for llm in serve(case).llms:
        for name in llm.engine:
            if name in table.engine or name in table.frontend or name in _NOT_RAYS or name in GONE:
                continue
            meant = nearest(name, (*table.engine, *table.frontend))
            if meant is None and older(case):
                continue  # an argument of an older vLLM, perhaps
            sure = meant is not None or same(case)
            write = f"write {meant}" if meant else "remove it"
            path = llm.at("engine_kwargs", name)
            what = f"vLLM has no engine argument {name}"
            yield Found(path, what, write, severity="error" if sure and llm.builder else "warning", key=True)


def _gone(case: Case) -> Report:
    table = vllm()
    for llm in serve(case).llms:
        for name in llm.engine:
            if name not in GONE or name in table.engine or name in table.frontend:
                continue
            what = f"{name} is gone from vLLM's engine arguments ({table.version} no longer has it)"
            write = f"write {GONE[name]}" if GONE[name] else "remove it"
            path = llm.at("engine_kwargs", name)
            if older(case):
                because = "the next update of the image will refuse it: the replica then fails when its engine starts"
                yield Found(path, what, write, because, severity="info", key=True)
            else:
                sure = ray_of(case) is not None and bool(llm.builder)
                yield Found(path, what, write, severity="error" if sure else "warning", key=True)


def _values(case: Case) -> Report:
    for llm in serve(case).llms:
        yield from _types(llm)
        yield from _ranges(llm)
        yield from _together(llm)


def _types(llm: Llm) -> Iterator[Found]:
    table = vllm()
    for name, value in llm.engine.items():
        kind = table.engine.get(name, "any")
        kind = kind.rstrip("?")
        if kind == "any" or value is None or _lenient(name, value):
            continue
        path = llm.at("engine_kwargs", name)
        if kind in _KINDS and not _KINDS[kind](value):
            if name not in _POSITIVE and _readable(kind, value):
                continue
            yield Found(path, f"{name} is {value!r:.40}, not {_CALLED[kind]}", f"write {_CALLED[kind]}")
        elif kind in table.choices and value not in table.choices[kind]:
            yield from _choice(path, name, value, table.choices[kind])


def _readable(kind: str, value: Any) -> bool:
    """Whether pydantic makes the type of it, as it does in vLLM's configurations."""
    if kind == "bool":
        return value in (0, 1) or str(value).lower() in ("true", "false", "on", "off", "yes", "no", "1", "0")
    if kind == "int" and isinstance(value, float):
        return value.is_integer()
    return kind in ("int", "float") and isinstance(value, str) and _NUMBER.fullmatch(value.strip()) is not None


def _lenient(name: str, value: Any) -> bool:
    """Values that vLLM takes beside those of the type that it declares."""
    return name == "max_model_len" and value in ("auto", -1)


def _choice(path: tuple[str | int, ...], name: str, value: Any, words: list[str]) -> Iterator[Found]:
    meant = nearest(str(value), words, 0.6)
    sure = name == "dtype" or not isinstance(value, str) or nearest(value, words, 0.85) is not None
    write = f"write {meant}" if meant else f"write one of {', '.join(words[:8])}"
    yield Found(path, f"{name} {value!r} is none that vLLM knows", write, severity="error" if sure else "warning")


def _ranges(llm: Llm) -> Iterator[Found]:
    share = llm.engine.get("gpu_memory_utilization")
    if isinstance(share, int | float) and not isinstance(share, bool):
        path = llm.at("engine_kwargs", "gpu_memory_utilization")
        if not 0 < share <= 1:
            write = f"write {share / 100:g}" if 1 < share <= 100 else "write a fraction, 0.9 for example"
            yield Found(path, f"gpu_memory_utilization is {share:g}, not a fraction of 1", write)
        elif share > 0.97:
            what = f"gpu_memory_utilization {share:g} leaves next to nothing for NCCL, CUDA graphs and fragmentation"
            because = "an engine over several nodes runs out of GPU memory at start, or under load"
            yield Found(path, what, "write 0.9 to 0.95", because, severity="warning")
    for name in _POSITIVE:
        value = llm.engine.get(name)
        if isinstance(value, int) and not isinstance(value, bool) and value < 1:
            yield Found(llm.at("engine_kwargs", name), f"{name} is {value}", "write 1 or more")
    length = llm.engine.get("max_model_len")
    if isinstance(length, int) and not isinstance(length, bool) and length < 1 and length != -1:
        yield Found(llm.at("engine_kwargs", "max_model_len"), f"max_model_len is {length}", "write a number of tokens")


def _together(llm: Llm) -> Iterator[Found]:
    """Arguments that contradict each other."""
    engine = llm.engine
    tokens, length = engine.get("max_num_batched_tokens"), engine.get("max_model_len")
    unchunked = engine.get("enable_chunked_prefill") is False
    if unchunked and isinstance(tokens, int) and isinstance(length, int) and 0 < tokens < length:
        what = f"max_num_batched_tokens {tokens} is below max_model_len {length}, and chunked prefill is off"
        path = llm.at("engine_kwargs", "max_num_batched_tokens")
        yield Found(path, what, f"write {length} or more, or let enable_chunked_prefill be")
    quantization = mapping(engine).get("quantization")
    words = vllm().choices["QuantizationMethods"]
    if isinstance(quantization, str) and quantization not in words:
        meant = nearest(quantization, words, 0.75)
        if meant is not None:
            path = llm.at("engine_kwargs", "quantization")
            yield Found(path, f"vLLM has no quantization {quantization}", f"write {meant}", severity="warning")
    if "tool_call_parser" not in engine and engine.get("enable_auto_tool_choice") is True:
        what = "enable_auto_tool_choice is true, and there is no tool_call_parser"
        path = llm.at("engine_kwargs", "enable_auto_tool_choice")
        yield Found(path, what, "add the model's tool_call_parser", _UNPARSED, severity="warning")


_UNPARSED = "calls of tools come as plain text: clients see no tool call"
_FROM = "vLLM 0.32 vllm/engine/arg_utils.py EngineArgs, vllm/entrypoints/launchers/cli_args.py FrontendArgs"

RULES = (
    Rule(
        code="ENG010", name="unknown-engine-argument", severity="error",
        title="an engine argument that vLLM does not have",
        because=_HELD,
        why="engine_kwargs are the fields of vLLM's EngineArgs: those of the command line with _ for -. ray.serve.llm "
        "refuses any other: `Unknown engine argument`.",
        write="write the argument's name as vLLM has it",
        since="Ray 2.44-2.60, vLLM 0.32",
        source=f"{_FROM}; Ray 2.60 ray/llm/_internal/serve/engines/vllm/vllm_models.py:215-235",
        bad=model(engine="tensor_paralel_size: 8\npipeline_parallel_size: 2\n"), good=model(),
        check=_unknown,
    ),
    Rule(
        code="ENG011", name="removed-engine-argument", severity="error", title="an engine argument of an older vLLM",
        because=_HELD,
        why="vLLM removes arguments from release to release, most of them with its first engine. Manifests copied from "
        "older examples still have them.",
        write="write what took its place, or remove it",
        since="vLLM 0.32", source=_FROM,
        bad=model(engine="max_seq_len_to_capture: 8192\n"), good=model(engine="max_cudagraph_capture_size: 512\n"),
        check=_gone,
    ),
    Rule(
        code="ENG012", name="engine-argument-value", severity="error",
        title="a value that the engine argument does not take",
        because=_HELD,
        why="engine_kwargs go to vLLM as they are: a number in quotes is a text, and 90 is not 0.9.",
        write="write a value that vLLM takes",
        since="vLLM 0.32", source=f"{_FROM}; vllm/config/cache.py:102, vllm/config/model.py:99",
        bad=model(engine="gpu_memory_utilization: 90\n"), good=model(engine="gpu_memory_utilization: 0.9\n"),
        check=_values,
    ),
)  # fmt: skip
