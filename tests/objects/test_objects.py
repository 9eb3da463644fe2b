"""Views on plain data that may be wrong."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from raygang.objects import Bundle, Manifest, Version, at, count, mapping, quantity, ray_workloads, sequence, text

anything = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**40), 2**40) | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6) | st.integers(), inner, max_size=3),
    max_leaves=8,
)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("500m", "0.5"), ("16Gi", 16 * 2**30), (8, 8), ("1e3", 1000), ("2E", 2 * 10**18), ("1.5Ti", 3 * 2**39),
        (".5", "0.5"), ("100k", 100_000), (0.5, "0.5"), ("-1", -1),
        (None, None), (True, None), ("", None), ("four", None), ("1GB", None), ("1 Gi", None), ([], None), ("1e9999", None),
    ],
)  # fmt: skip
def test_quantities(value: Any, expected: Any) -> None:
    assert quantity(value) == (None if expected is None else Decimal(expected))


@pytest.mark.parametrize(
    ("written", "release", "shown"),
    [("1.36", (1, 36), "1.36.0"), ("v1.37.2", (1, 37), "1.37.2"), ("1.36.3-gke.100", (1, 36), "1.36.3"), ("1.34.1+k3s1", (1, 34), "1.34.1")],
)  # fmt: skip
def test_versions(written: str, release: tuple[int, int], shown: str) -> None:
    found = Version.parse(written)
    assert (found.release, str(found)) == (release, shown)


@pytest.mark.parametrize("written", ["", "1", "latest", "v1.x", "1.2.3.4.5x y", "\uff11.\uff12"])
def test_what_is_no_version(written: str) -> None:
    with pytest.raises(ValueError, match="a version such as"):
        Version.parse(written)


def test_versions_are_compared_by_number() -> None:
    assert Version.parse("1.10") > Version.parse("1.9.9") > Version.parse("1.9")


def test_a_path_ends_where_there_is_nothing() -> None:
    data = {"a": [{"b": 1}, 2]}
    assert at(data, "a", 0, "b") == 1
    assert at(data, "a", -1) is at(data, "a", 2) is at(data, "a", 1, "b") is at(data, 0) is at(None, "a") is None


def test_other_types_count_as_not_there() -> None:
    assert (mapping([1]), sequence("ab"), text(3), count("4", 7), count(True, 7), count(4, 7)) == (
        {},
        (),
        None,
        7,
        7,
        4,
    )


def cluster(**group: Any) -> dict[str, Any]:
    groups = [{"groupName": "w", **group}]
    return {
        "apiVersion": "ray.io/v1",
        "kind": "RayCluster",
        "metadata": {"name": "c"},
        "spec": {"workerGroupSpecs": groups},
    }


@pytest.mark.parametrize(
    ("group", "pods", "minimum"),
    [
        ({"replicas": 4}, 4, 0),
        ({}, 0, 0),
        ({"replicas": 2, "minReplicas": 3}, 3, 3),
        ({"replicas": 9, "maxReplicas": 4}, 4, 0),
        ({"replicas": 1, "minReplicas": 5, "maxReplicas": 4}, 4, 5),
        ({"replicas": 2, "minReplicas": 1, "numOfHosts": 4}, 8, 4),
        ({"replicas": 4, "suspend": True}, 0, 0),
        ({"replicas": "four"}, 0, 0),
        ({"replicas": 2, "numOfHosts": 0}, 2, 0),
        ({"replicas": -3}, 0, 0),
    ],
)
def test_pods_are_counted_as_kuberay_does(group: dict[str, Any], pods: int, minimum: int) -> None:
    (workload,) = ray_workloads(Bundle.of([cluster(**group)]))
    assert (workload.groups[1].pods, workload.groups[1].min_pods) == (pods, minimum)
    assert workload.pods == 1 + pods


def test_requests_are_the_sum_of_containers_with_limits_in_their_place() -> None:
    containers = [
        {"resources": {"requests": {"cpu": "1"}, "limits": {"cpu": "4", "nvidia.com/gpu": 8}}},
        {"resources": {"limits": {"cpu": "500m"}}},
        "no container",
    ]
    (workload,) = ray_workloads(Bundle.of([cluster(template={"spec": {"containers": containers}})]))
    assert workload.groups[1].requests() == {"cpu": Decimal("1.5"), "nvidia.com/gpu": Decimal(8)}


def test_a_rayjob_that_uses_another_cluster_has_none_of_its_own() -> None:
    job = {"apiVersion": "ray.io/v1", "kind": "RayJob", "spec": {"clusterSelector": {"ray.io/cluster": "x"}}}
    other = {"apiVersion": "example.com/v1", "kind": "RayCluster", "spec": {}}
    assert list(ray_workloads(Bundle.of([job, other]))) == []


@given(anything, st.sampled_from(["RayCluster", "RayService", "RayJob"]))
def test_anything_may_stand_anywhere(value: Any, kind: str) -> None:
    specs = [
        value,
        {"rayClusterConfig": value, "rayClusterSpec": value},
        {"workerGroupSpecs": value, "headGroupSpec": value},
    ]
    specs.append({"workerGroupSpecs": [value, {"template": value, "replicas": value, "numOfHosts": value}]})
    objects = [{"apiVersion": "ray.io/v1", "kind": kind, "metadata": value, "spec": spec} for spec in specs]
    for workload in ray_workloads(Bundle.of(objects)):
        assert workload.pods >= 0
        for group in workload.groups:
            assert group.name is not None
            assert all(number is not None for number in group.requests().values())
            assert group.template_labels() is not None


@given(anything)
def test_any_object_has_a_kind_and_a_name(value: Any) -> None:
    for data in (
        {"kind": value, "apiVersion": value, "metadata": value},
        {"metadata": {"name": value, "labels": value}},
    ):
        found = Manifest(data)
        assert isinstance(found.kind + found.name + found.group + found.version, str)
        assert found.labels is not None


def test_an_object_is_found_by_its_name_and_the_first_of_several_by_its_place() -> None:
    def thing(namespace: str | None, kind: str = "Secret", **rest: str) -> dict[str, Any]:
        metadata = {"name": "token"} | ({"namespace": namespace} if namespace else {})
        return {"apiVersion": "v1", "kind": kind, "metadata": metadata, "data": rest}

    bundle = Bundle.of([thing("a"), thing("b"), thing(None), thing("a", b="2"), thing("a", "ConfigMap")])
    assert [m.index for m in bundle.named("", "Secret", "token")] == [0, 1, 2, 3]
    places = [bundle.get("", "Secret", space, "token") for space in ("a", "b", None, "c")]
    assert [place and place.index for place in places] == [0, 1, 2, None]
    assert list(bundle.named("", "Secret", None)) == list(bundle.named("apps", "Secret", "token")) == []
    assert bundle.get("", "Secret", "a", None) is None
