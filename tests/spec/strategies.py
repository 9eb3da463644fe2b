"""Specifications, and mistakes in them, for hypothesis."""

import string
from collections.abc import Iterator
from typing import Any

from hypothesis import strategies as st

from raygang.spec import json_schema

names = st.from_regex(r"[a-z]([a-z0-9-]{0,20}[a-z0-9])?", fullmatch=True)
texts = st.text(st.characters(max_codepoint=0xD7FF, exclude_categories=["Cc", "Zl", "Zp"]), max_size=6)
json_values = st.recursive(
    st.booleans() | st.integers(-(2**40), 2**40) | st.floats(allow_nan=False, allow_infinity=False) | texts | st.none(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=4,
)
labels = st.dictionaries(names | names.map(lambda n: f"example.com/{n}"), names | st.just(""), max_size=2)
counts = st.integers(1, 9)
durations = st.sampled_from(["90s", "30m", "1h30m", 5, 2.5])
quantities = st.sampled_from(["16Gi", "500M", "1.5Ti", 2**30])
tolerations = st.fixed_dictionaries({"key": names, "value": names}) | st.fixed_dictionaries(
    {"operator": st.just("Exists")},
    optional={"key": names, "effect": st.sampled_from(["NoSchedule", "PreferNoSchedule", "NoExecute"])},
)


def section(**fields: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    """A section with some of its fields."""
    return st.fixed_dictionaries({}, optional=fields)


tokens = st.fixed_dictionaries({"secret": names}, optional={"key": names}) | st.fixed_dictionaries(
    {"env": st.just("HF_TOKEN")}
)
gangs = section(
    queue=names,
    priority_class=names,
    topology=st.fixed_dictionaries({"level": names}, optional={"required": st.booleans()}),
)
specs = st.fixed_dictionaries(
    {
        "name": names,
        "model": st.fixed_dictionaries(
            {"source": st.sampled_from(["demo:smollm2", "./m", "a.gguf", "org/name", "hf:org/a.gguf"])},
            optional={"revision": names, "served_name": names, "token": tokens},
        ),
    },
    optional={
        "engine": section(
            args=st.dictionaries(names.map(lambda n: "x_" + n.replace("-", "_") + "_x"), json_values, max_size=3),
            env=st.dictionaries(names.map(lambda n: "X_" + n.replace("-", "_") + "_X"), texts | st.integers() | st.booleans(), max_size=2),
        ),
        "parallelism": section(tensor=st.just("auto") | counts, expert=st.booleans()),
        "replicas": counts,
        "nodes": section(
            count=counts | st.just("auto"), accelerator=names, accelerators=counts, cpus=counts | st.just(2.5),
            memory=quantities, shared_memory=quantities, selector=labels, tolerations=st.lists(tolerations, max_size=2),
        ),
        "scheduler": st.just({"type": "none"})
        | st.builds(lambda t, rest: {"type": t, **rest}, st.sampled_from(["volcano", "kueue", "native"]), gangs),
        "fabric": st.fixed_dictionaries({"type": st.sampled_from(["infiniband", "aks-infiniband"])}, optional={
            "resource": st.just("rdma/ib"), "resource_count": counts, "interface": st.just("eth0"),
            "hcas": st.lists(st.sampled_from(["mlx5_0", "mlx5_1:1"]), max_size=2, unique=True),
            "min_bandwidth": st.sampled_from([100, 0.5]), "probe": st.booleans(),
        })
        | st.fixed_dictionaries({"type": st.just("sriov-roce")}, optional={
            "networks": st.just(["ray/rail0"]), "host_network": st.none() | st.just(False),
        })
        | st.fixed_dictionaries({"interface": st.just("bond0")}, optional={"host_network": st.booleans()}),
        "limits": section(start_timeout=durations, request_timeout=durations, max_concurrent_requests=counts),
        "kubernetes": section(
            namespace=names, image=st.just("registry.example/ray:2.60.0"), image_pull_secrets=st.lists(names, max_size=2),
            service_account=names, ray_version=st.just("2.60.0"), labels=labels, annotations=st.dictionaries(names, texts, max_size=2),
        ),
    },
)  # fmt: skip


def sections(name: str = "", schema: dict[str, Any] | None = None) -> Iterator[tuple[str, list[str]]]:
    """Each section's path in the specification, and its fields, by the JSON schema."""
    schema = schema or json_schema()
    yield name, list(schema["properties"])
    for field, described in schema["properties"].items():
        alternatives = [described, described.get("items", {}), *described.get("anyOf", [])]
        for reference in (a["$ref"] for a in alternatives if "$ref" in a):
            item = ".0" if "items" in described else ""
            yield from sections(
                f"{name}.{field}{item}".strip("."), json_schema()["$defs"][reference.rpartition("/")[2]]
            )


SECTIONS = dict(sections())


def one_letter_typos(word: str) -> Iterator[str]:
    """Everything that is one letter more, less, other or swapped with its neighbour."""
    letters = string.ascii_lowercase + "_"
    for i in range(len(word) + 1):
        yield from (word[:i] + c + word[i:] for c in letters)
    for i in range(len(word)):
        yield word[:i] + word[i + 1 :]
        yield from (word[:i] + c + word[i + 1 :] for c in letters if c != word[i])
    for i in range(len(word) - 1):
        yield word[:i] + word[i + 1] + word[i] + word[i + 2 :]
