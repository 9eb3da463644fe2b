"""Any text is linted to an end: no YAML, however strange, makes the linter fail, wait or eat the memory."""

from __future__ import annotations

import json
import math
import tracemalloc
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from raygang.gang import SCHEDULERS, Context
from raygang.lint import RULES, Outcome, Source, lint
from raygang.lint._yaml import Tree, read
from raygang.lint.fix import fix
from raygang.objects import Version
from raygang.objects.fields import digits, quantity
from tests.lint.base import BASES, documents

SEED = (Path(__file__).parent / "cases" / "seed-manifest.yaml").read_text()
SERVE: tuple[str | int, ...] = ("spec", "serveConfigV2")


def run(text: str, context: Context | None = None) -> Outcome:
    return lint([Source("x.yaml", text)], context)


def codes(text: str) -> set[str]:
    return {finding.code for finding in run(text).findings}


@pytest.mark.parametrize("end", range(0, len(SEED), 37))
def test_a_manifest_cut_off_anywhere(end: int) -> None:
    run(SEED[:end])
    run(SEED[end:])
    fix([Source("x.yaml", SEED[:end])])


def inside(kind: str, text: str) -> str:
    """A text as serveConfigV2."""
    return json.dumps({"apiVersion": "ray.io/v1", "kind": kind, "spec": {"serveConfigV2": text}})


STRANGE = {
    "tab": "a:\n\tb: 1\n",
    "control": "a: \x01\n",
    "nul": "apiVersion: v1\x00\nkind: X\n",
    "backspace": 'a: "\\b\\0\\x07"\n',
    "form feed": "a: x\x0cy\n",
    "next line": "a: 1\x85b: 2\u2028c: 3\u2029d: 4\n",
    "mark in the middle": "a: 1\n\ufeffb: 2\n",
    "surrogate": 'a: "\\ud800"\n',
    "beyond": 'a: "\\U00110000"\n',
    "colons": ":" * 1000,
    "stars": "*" * 1000,
    "questions": "? " * 300 + "x\n",
    "ends": "...\n" * 100,
    "starts": "---\n" * 100,
    "directive": "%YAML 9.9\n---\na: 1\n",
    "tag": "a: !!python/object:os.system x\nb: !x [1]\nc: !!set {x, y}\nd: !!binary aGk=\ne: !!timestamp 2024-01-01\n",
    "omap": "a: !!omap [x: 1, y: 2]\nb: !!pairs [x: 1, x: 2]\n",
    "keys": "1: a\n1.5: b\ntrue: c\nnull: d\n~: e\n2024-01-01: f\n? [x]\n: g\n",
    "keys of an object": "apiVersion: ray.io/v1\nkind: RayCluster\n1: a\ntrue: b\nmetadata: {1: x, labels: {1: 2, true: 3, ~: 4}}\nspec: {1: 2, headGroupSpec: {rayStartParams: {1: 2, .inf: 3}}}\n",
    "numbers": "a: .inf\nb: -.INF\nc: .nan\nd: 1e999\ne: 0x" + "f" * 200 + "\nf: " + "9" * 6000 + "\ng: 0b1\nh: 1_0\ni: 1:30\n",
    "merge": "a: &a {x: 1}\nb: {<<: *a, y: 2}\nc: {<<: [*a, *a]}\nd: {<<: 1}\ne: {<<: [1, 2]}\nf: {<<: }\n",
    "alias of nothing": "a: *b\n",
    "alias of itself": "a: &a [*a]\n",
    "alias of itself in a mapping": "&a b: *a\n",
    "merge of itself": "a: &a\n  <<: *a\n",
    "duplicates": "apiVersion: ray.io/v1\nkind: RayCluster\nkind: RayService\nspec: {a: 1, a: 2}\nspec: 3\n",
    "list of nothing": "apiVersion: v1\nkind: List\nitems: [null, 1, x, [], {}, {kind: RayCluster}]\n",
    "list in a list": "apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: List\n  items: [{apiVersion: ray.io/v1, kind: RayCluster}]\n",
    "kind": "apiVersion: ray.io/v1\nkind: [RayCluster]\n",
    "version": "apiVersion: {a: b}\nkind: RayCluster\nspec: {}\n",
    "no scalar": "[1, 2]\n--- 3\n--- x\n--- null\n---\n",
    "text of texts": inside("RayService", "a: [\n"),
    "text with a mark": inside("RayService", "\ufeffapplications: []\n"),
    "text of many": inside("RayService", "---\na: 1\n---\nb: 2\n"),
    "text of bad characters": inside("RayService", "a: \x00\n"),
    "text of aliases": inside("RayService", "applications: &a [{args: *a}]\n"),
    "empty": "",
    "comment": "# x",
}  # fmt: skip


@pytest.mark.parametrize("text", STRANGE.values(), ids=STRANGE)
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"], ids=["lf", "crlf", "cr"])
def test_strange_texts(text: str, end: str) -> None:
    run(text.replace("\n", end))
    fix([Source("x.yaml", text.replace("\n", end))])


@pytest.mark.parametrize("deep", ["[" * 10_000, "[" * 10_000 + "]" * 10_000, "{a: " * 10_000 + "}" * 10_000, "- " * 10_000 + "x", "? " * 10_000 + "x"], ids=["open", "list", "mapping", "block", "key"])  # fmt: skip
def test_deep_nesting_is_refused(deep: str) -> None:
    assert codes(deep) == {"TEXT002"}
    run(inside("RayService", deep))


def bomb(levels: int) -> str:
    """A list of ten x, a list of ten of those, and so on: 10 to the power of the levels in all."""
    rows = [f"a{level}: &a{level} [{', '.join([f'*a{level - 1}'] * 10)}]" for level in range(1, levels)]
    return "\n".join(["a0: &a0 [x, x, x, x, x, x, x, x, x, x]", *rows])


@pytest.mark.parametrize("levels", [7, 9, 40])
def test_a_bomb_of_aliases_is_refused_before_it_goes_off(levels: int) -> None:
    tracemalloc.start()
    found = codes(f"apiVersion: ray.io/v1\nkind: RayCluster\n{bomb(levels)}\nspec: *a{levels - 1}\n")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert found == {"TEXT002"}
    assert peak < 50_000_000


def test_a_bomb_of_merge_keys_is_refused() -> None:
    rows = [f"a{i}: &a{i} {{<<: [{', '.join([f'*a{i - 1}'] * 10)}], k{i}: 1}}" for i in range(1, 30)]
    assert codes("\n".join(["a0: &a0 {x: 1}", *rows])) == {"TEXT002"}


def test_a_hundred_thousand_lines_are_linted() -> None:
    rows = "".join(f"          - {{name: A{i}, value: x}}\n" for i in range(99_000))
    text = SEED.replace("          - name: NCCL_SOCKET_IFNAME\n", rows + "          - name: NCCL_SOCKET_IFNAME\n")
    assert text != SEED
    assert "RES001" in codes(text)


def test_a_thousand_objects_are_no_million_comparisons() -> None:
    """The steps are counted: a bundle of twice the objects takes about twice as many, not four times."""
    few, many = (_steps(count) for count in (100, 200))
    assert many < 2.6 * few


def _steps(count: int) -> int:
    import cProfile

    pair = SEED.replace("ray-cluster-inference", "x%d") + "---\napiVersion: v1\nkind: Service\nmetadata: {name: s%d}\nspec: {selector: {ray.io/cluster: x%d}}\n"  # fmt: skip
    text = "---\n".join(pair.replace("%d", str(number)) for number in range(count))
    profile = cProfile.Profile()
    profile.enable()
    run(text)
    profile.disable()
    return sum(entry.callcount for entry in profile.getstats())


@pytest.mark.parametrize("value", ["9" * 5000, "1e999", "5e300", "1E", "-1e999"])
def test_numbers_that_no_field_can_hold(value: str) -> None:
    assert abs(quantity(value) or 0) < 2**63
    assert digits(value) is None


@pytest.mark.parametrize("size", [2**31, 2**62, 10**30, -1, 0, True, 1.5, math.inf, math.nan, "8", [8], {"a": 8}, None])
@pytest.mark.parametrize(
    "name", ["tensor_parallel_size", "pipeline_parallel_size", "data_parallel_size", "max_model_len"]
)
def test_sizes_of_an_engine_that_are_no_sizes(name: str, size: object) -> None:
    whole = deepcopy(BASES["RayService"])
    serve = parsed(whole["spec"]["serveConfigV2"])
    serve["applications"][0]["args"]["llm_configs"][0]["engine_kwargs"][name] = size
    for group in (whole["spec"]["rayClusterConfig"]["workerGroupSpecs"][0],):
        group["replicas"] = size
        group["template"]["spec"]["containers"][0]["resources"]["limits"]["nvidia.com/gpu"] = size
    whole["spec"]["serveConfigV2"] = dumped(serve)
    run(dumped(whole))


def parsed(text: str) -> Any:
    return next(tree.data for tree in read(text) if isinstance(tree, Tree))


def dumped(value: Any) -> str:
    return json.dumps(value).replace("-Infinity", "-.inf").replace("Infinity", ".inf").replace("NaN", ".nan")


def paths(data: Any) -> Iterator[tuple[Any, ...]]:
    yield ()
    rows = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    for key, value in rows:
        for path in paths(value):
            yield (key, *path)


SAMPLES = [
    *BASES.values(), *(tree.data for tree in read(SEED) if isinstance(tree, Tree)),
    *(d for rule in RULES.values() if rule.topic not in ("TEXT", "IGN") for d in documents(rule.bad)),
]  # fmt: skip
PLACES = [[path for path in paths(sample) if path and path not in (("kind",), ("apiVersion",))] for sample in SAMPLES]
VALUES: list[Any] = [
    None, True, False, 0, -1, 2**31, 2**62, -(2**63), 10**30, 1.5, math.inf, math.nan, "", "x", "1", "-1", "9" * 5000, "1e999",
    "0x10", "\x00", "é", "{{ x }}", "$(X)", [], [None], [[]], [{}], ["x"], [1], {}, {"": ""}, {"a": None}, {"x": {"y": []}},
    "a: [", "applications: [null, 1, {args: []}]", "[1]", "10Gi", "-5Mi", "100%", "http://[", "::1", "a=b,c", "9999999999h",
]  # fmt: skip
CONTEXTS = [
    None,
    *(Context(name, Version(1, 5), Version(1, 36)) for name in SCHEDULERS),
    Context(None, Version(1, 2), Version(1, 30)),
]


@st.composite
def mutated(draw: st.DrawFn) -> dict[str, Any]:
    """A sample with strange values in some of its places, also in serveConfigV2."""
    index = draw(st.integers(0, len(SAMPLES) - 1))
    data, places = deepcopy(SAMPLES[index]), PLACES[index]
    for _ in range(draw(st.integers(1, 3))):
        put(data, draw(st.sampled_from(places)), deepcopy(draw(st.sampled_from(VALUES))))
    config = data["spec"].get("serveConfigV2") if isinstance(data.get("spec"), dict) else None
    if isinstance(config, str) and config in (BASES["RayService"]["spec"]["serveConfigV2"],):
        inner = parsed(config)
        for _ in range(draw(st.integers(0, 3))):
            there = [path for path in paths(inner) if path]
            put(inner, draw(st.sampled_from(there)), deepcopy(draw(st.sampled_from(VALUES))))
        data["spec"]["serveConfigV2"] = dumped(inner)
    return data


def put(data: Any, path: tuple[Any, ...], value: Any) -> None:
    """Set a value; nothing where an earlier one has taken its place away."""
    for part in path[:-1]:
        if not (isinstance(data, dict) and part in data) and not (isinstance(data, list) and part in range(len(data))):
            return
        data = data[part]
    if isinstance(data, dict) or (isinstance(data, list) and path[-1] in range(len(data))):
        data[path[-1]] = value


@given(mutated(), st.sampled_from(CONTEXTS))
@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
def test_values_of_any_type_in_any_place(data: dict[str, Any], context: Context | None) -> None:
    outcome = run(dumped(data), context)
    assert all(len(finding.what) < 10_000 for finding in outcome.findings)


@given(mutated())
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
def test_fixes_of_strange_manifests_are_made_or_refused(data: dict[str, Any]) -> None:
    (fixed,) = fix([Source("x.yaml", dumped(data))])
    (again,) = fix([Source("x.yaml", fixed.new)])
    assert again.new == fixed.new


@given(st.text(alphabet=st.sampled_from("ab:-?[]{},&*!|>'\"%@`#~ \n\t\r\\0123.<é"), max_size=60))
@settings(max_examples=300, deadline=None)
def test_texts_of_signs(text: str) -> None:
    run(text)
    fix([Source("x.yaml", f"apiVersion: ray.io/v1\nkind: RayService\nspec:\n  serveConfigV2: |\n    {text}")])
