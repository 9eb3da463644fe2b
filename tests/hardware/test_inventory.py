"""Nodes of a cluster are read as kubectl prints them, and anything else is told apart."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from raygang.hardware import Inventory, Node
from raygang.spec import UserError

ITEM: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Node",
    "metadata": {"name": "gpu-0", "labels": {"kubernetes.io/hostname": "gpu-0", "feature.node.kubernetes.io/x": "true"}},
    "spec": {"taints": [{"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}, {"key": "a", "effect": "NoExecute"}]},
    "status": {
        "allocatable": {"cpu": "95910m", "memory": "1983Gi", "nvidia.com/gpu": "8", "rdma/shared": "1k"},
        "conditions": [],
    },
}  # fmt: skip
LIST = {"apiVersion": "v1", "kind": "List", "items": [ITEM]}


def written(data: Any) -> list[str]:
    return [json.dumps(data), yaml.safe_dump(data)]


@pytest.mark.parametrize("text", [*written(LIST), *written({**LIST, "kind": "NodeList"}), *written(ITEM)])
def test_a_list_of_nodes_is_read_in_either_form(text: str) -> None:
    (node,) = Inventory.parse(text).nodes
    assert (node.name, node.labels["feature.node.kubernetes.io/x"]) == ("gpu-0", "true")
    assert node.taints == ("nvidia.com/gpu=present:NoSchedule", "a:NoExecute")
    assert node.allocatable["cpu"] == "95910m"
    assert [node.count(name) for name in ("nvidia.com/gpu", "rdma/shared", "rdma/none")] == [8, 1000, 0]


def test_items_of_the_api_have_no_kind_and_nodes_may_have_neither_labels_nor_taints() -> None:
    data = {"kind": "NodeList", "items": [{"metadata": {"name": "a"}, "status": {"allocatable": {"x.y/z": 2}}}]}
    assert Inventory.parse(json.dumps(data)).nodes == (Node("a", {}, (), {"x.y/z": "2"}),)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "f: is to be a list of nodes, and is none"),
        ("No resources found", "f: is to be a list of nodes, and is none"),
        ("{", "f: is neither JSON nor YAML"),
        ("a: [", "f: is neither JSON nor YAML"),
        ("[" * 100_000, "f: is neither JSON nor YAML"),
        ('{"a":' * 100_000, "f: is neither JSON nor YAML"),
        ("kind: PodList\nitems: []\n", "f: is to be a list of nodes, and has kind PodList"),
        ("kind: List\nitems: {}\n", "f: is to be a list of nodes, and is none"),
        ("kind: List\nitems: []\n", "f: has no nodes"),
        ("kind: List\nitems: [{kind: Pod}]\n", "f: items.0: is a Pod, not a Node"),
        ("kind: List\nitems: [3]\n", "f: items.0: is no object, not a Node"),
        ("kind: List\nitems: [{}]\n", "f: items.0.metadata.name: is missing"),
        ("kind: List\nitems: [{metadata: []}]\n", "f: items.0.metadata: is to be a mapping"),
        ("kind: List\nitems: [{metadata: {name: a}}]\n", "f: items.0 (a).status.allocatable: is missing"),
        ("kind: List\nitems: [{metadata: {name: a, labels: [x]}, status: {allocatable: {}}}]\n", "labels: is to be a mapping"),
        ("kind: List\nitems: [{metadata: {name: a, labels: {b: [c]}}, status: {allocatable: {}}}]\n", "labels: b is to be a text"),
        ("kind: Node\nmetadata: {name: a}\nspec: {taints: 3}\nstatus: {allocatable: {}}\n", "spec.taints: is to be a list"),
        ("kind: Node\nmetadata: {name: a}\nspec: {taints: [{}]}\nstatus: {allocatable: {}}\n", "spec.taints: has one without a key"),
        ("kind: Node\nmetadata: {name: a}\nstatus: {allocatable: {rdma/ib: many}}\n", "allocatable: rdma/ib is no quantity: 'many'"),
        ('{"kind": "Node", "metadata": {"name": "a"}, "status": {"allocatable": {"rdma/ib": true}}}', "rdma/ib is to be a text"),
    ],
)  # fmt: skip
def test_what_is_no_list_of_nodes_is_told(text: str, message: str) -> None:
    with pytest.raises(UserError) as e:
        Inventory.parse(text, file="f")
    assert message in e.value.message
    assert "kubectl" in (e.value.hint or "")


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from([
        "kind", "items", "metadata", "name", "labels", "spec", "taints", "key", "value", "effect", "status", "allocatable", "a/b",
    ]), inner, max_size=4),
    max_leaves=12,
)  # fmt: skip


@given(json_values, st.sampled_from(["List", "Node", "NodeList"]), st.booleans())
def test_nothing_else_ends_in_another_error(value: Any, kind: str, whole: bool) -> None:
    data = (
        {"kind": kind, "items": [value]}
        if kind != "Node"
        else {"kind": kind, "metadata": {"name": "a"}, "status": value}
    )
    for text in written(value if whole else data):
        try:
            nodes = Inventory.parse(text).nodes
        except UserError:
            continue
        assert all(node.count(name) >= 0 for node in nodes for name in node.allocatable if "/" in name)
