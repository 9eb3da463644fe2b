"""What is asked for is what one gets: every scheduler, every shape of a plan."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from raygang.checkpoint import checkpoint_from_config
from raygang.gang import SCHEDULERS, Request, request
from raygang.plan import Plan, plan
from raygang.spec import SpecError, UserError, parse_spec
from tests.gang.manifests import asking, context, verdict

MODEL = {
    "architectures": ["LlamaForCausalLM"], "hidden_size": 8192, "intermediate_size": 28672, "num_hidden_layers": 80,
    "num_attention_heads": 64, "num_key_value_heads": 8, "vocab_size": 128256, "dtype": "bfloat16",
}  # fmt: skip
NATIVE = ("1.36", "1.37")


def planned(scheduler: dict[str, Any], nodes: Any = 2, accelerators: int = 8, **fields: Any) -> Plan:
    parallelism = fields.pop("parallelism", {})
    text = {
        "name": "llama", "model": {"source": "a/b"}, "parallelism": parallelism,
        "nodes": {"count": nodes, "accelerators": accelerators}, "scheduler": scheduler, **fields,
    }  # fmt: skip
    return plan(parse_spec(json.dumps(text), file="spec.yaml"), checkpoint_from_config(MODEL))


def asked(scheduler: dict[str, Any], **fields: Any) -> Request:
    found = planned(scheduler, **fields)
    return request(found, found.gangs[0])


@st.composite
def plans(draw: st.DrawFn) -> tuple[Plan, str | None]:
    """A plan that its scheduler can do, and the release of Kubernetes where it matters."""
    name = draw(st.sampled_from([name for name in SCHEDULERS if name != "none"]))
    scheduler: dict[str, Any] = {"type": name}
    kubernetes: dict[str, Any] = {"kuberay_version": draw(st.sampled_from(["1.5.0", "1.6.0", "1.7.0"]))}
    if name in ("kueue", "kai") or (name in ("volcano", "yunikorn") and draw(st.booleans())):
        scheduler["queue"] = "gpus"
    if draw(st.booleans()):
        scheduler["priority_class"] = "high"
    if name not in ("yunikorn", "coscheduling") and draw(st.booleans()):
        level = "2" if name == "volcano" else "topology.kubernetes.io/rack"
        required = name == "native" or draw(st.booleans())
        scheduler["topology"] = {"level": level, "required": required, "name": "dc"}
    if name == "native":
        kubernetes["version"] = draw(st.sampled_from(NATIVE))
    parallelism = {"tensor": draw(st.sampled_from([1, 2, 4, 8])), "pipeline": draw(st.integers(1, 6))}
    accelerators = draw(st.sampled_from([1, 2, 4, 8]))
    try:
        found = planned(
            scheduler, "auto", accelerators, parallelism=parallelism, kubernetes=kubernetes,
            replicas=draw(st.integers(1, 3)),
        )  # fmt: skip
        request(found, found.gangs[0])
    except UserError:
        unequal = {**scheduler, "topology": {**scheduler.get("topology", {}), "required": False}}
        found = planned(unequal, "auto", accelerators, parallelism=parallelism, kubernetes=kubernetes)
    return found, kubernetes.get("version")


@given(plans())
def test_the_gang_that_is_asked_for_is_the_gang_that_forms(drawn: tuple[Plan, str | None]) -> None:
    found, kubernetes = drawn
    scheduler = found.spec.scheduler.type
    for gang in found.gangs:
        objects = asking(request(found, gang), gang)
        there = context(scheduler, found.spec.kubernetes.kuberay_version, kubernetes)
        certain = verdict(*objects, at=there)
        assert (certain.scheduler, certain.gang) == (scheduler, gang)
        assert gang.whole
        assert certain.causes == ()
        unknown = verdict(*objects)
        assert (unknown.scheduler, unknown.gang) == (scheduler, gang)
        assert unknown.assumes


@pytest.mark.parametrize("tensor", [8, 4])
def test_unequal_nodes_are_two_groups_of_one_gang(tensor: int) -> None:
    found = planned({"type": "volcano"}, parallelism={"tensor": tensor, "pipeline": 3}, nodes="auto", accelerators=8)
    (gang,) = found.gangs
    assert verdict(*asking(request(found, gang), gang), at=context("volcano")).gang == gang
    assert len(gang.members) == (2 if tensor == 8 else 3)


def test_without_a_scheduler_there_is_no_gang() -> None:
    found = planned({"type": "none"})
    assert request(found, found.gangs[0]) == Request()
    assert verdict(*asking(Request(), found.gangs[0])).gang is None


def test_the_policy_of_native_gangs_is_the_same_for_all_replicas() -> None:
    found = planned({"type": "native"}, replicas=2, kubernetes={"version": "1.37"})
    first, second = (request(found, gang).objects for gang in found.gangs)
    assert first[:2] == second[:2]
    assert first[2]["metadata"]["name"] != second[2]["metadata"]["name"]


@pytest.mark.parametrize(("release", "api"), [("1.36", "v1alpha2"), ("1.37.2", "v1beta1")])
def test_the_podgroups_api_is_that_of_the_release(release: str, api: str) -> None:
    topology = {"level": "topology.kubernetes.io/rack"}
    scheduler = {"type": "native", "topology": topology, "priority_class": "high"}
    found = asked(scheduler, kubernetes={"version": release})
    group = found.objects[-1]
    assert group["apiVersion"] == f"scheduling.k8s.io/{api}"
    assert group["spec"]["schedulingConstraints"] == {"topology": [{"key": "topology.kubernetes.io/rack"}]}
    assert group["spec"]["priorityClassName"] == "high"
    assert any("TopologyAwareWorkloadScheduling" in need for need in found.needs)


def test_head_and_workers_share_a_domain_in_kueue() -> None:
    topology = {"level": "rack", "required": True}
    found = asked({"type": "kueue", "queue": "q", "topology": topology})
    assert {entry.key for entry in found.pod_annotations} == {
        "kueue.x-k8s.io/podset-required-topology",
        "kueue.x-k8s.io/podset-group-name",
    }


def test_the_styles_time_out_is_that_of_the_start() -> None:
    found = asked({"type": "yunikorn"}, limits={"start_timeout": "20m"})
    assert found.pod_annotations[0].value == "placeholderTimeoutInSeconds=1200 gangSchedulingStyle=Hard"


def test_each_need_is_a_sentence_and_each_entry_says_why() -> None:
    for scheduler in ("volcano", "kueue", "yunikorn", "kai", "coscheduling"):
        queue = {} if scheduler == "coscheduling" else {"queue": "q"}
        found = asked({"type": scheduler, **queue})
        assert found.needs
        for entry in (*found.labels, *found.pod_labels, *found.pod_annotations, *found.pod_fields):
            assert entry.why


def test_the_coscheduling_plugin_is_in_another_scheduler_since_kuberay_1_5() -> None:
    old, new = (asked({"type": "coscheduling"}, kubernetes={"kuberay_version": v}).needs for v in ("1.4.2", "1.5.0"))
    assert "default scheduler" in old[-1]
    assert "scheduler-plugins-scheduler" in new[-1]


RACK = {"level": "rack"}
UNEQUAL = {"nodes": "auto", "parallelism": {"tensor": 4, "pipeline": 3}}


@pytest.mark.parametrize(
    ("scheduler", "fields", "field", "words"),
    [
        ({"type": "kueue"}, {}, "scheduler.queue", "LocalQueue"),
        ({"type": "kai"}, {}, "scheduler.queue", "default-queue"),
        ({"type": "kai", "queue": "q", "topology": RACK}, {}, "scheduler.topology.name", "Topology object"),
        ({"type": "coscheduling", "queue": "q"}, {}, "scheduler.queue", "no queues"),
        ({"type": "coscheduling", "topology": RACK}, {}, "scheduler.topology", "knows no topology"),
        ({"type": "yunikorn", "topology": RACK}, {}, "scheduler.topology", "knows no topology"),
        ({"type": "volcano", "topology": RACK}, {}, "scheduler.topology.level", "highest tier"),
        (
            {"type": "volcano", "topology": {"level": "1"}}, {"kubernetes": {"kuberay_version": "1.4.2"}},
            "scheduler.topology", "KubeRay 1.4.2",
        ),
        ({"type": "kueue", "queue": "q", "topology": RACK}, UNEQUAL, "scheduler.topology", "one group of equal nodes"),
        ({"type": "native"}, {}, "kubernetes.version", "other field names"),
        ({"type": "native"}, {"kubernetes": {"version": "1.35"}}, "kubernetes.version", "no gang scheduling"),
        ({"type": "native", "queue": "q"}, {"kubernetes": {"version": "1.37"}}, "scheduler.queue", "no queues"),
        (
            {"type": "native", "topology": {"level": "rack", "required": False}}, {"kubernetes": {"version": "1.37"}},
            "scheduler.topology.required", "no preferred topology",
        ),
    ],
)  # fmt: skip
def test_what_a_scheduler_cannot_do_is_blamed_on_its_field(
    scheduler: dict[str, Any], fields: dict[str, Any], field: str, words: str
) -> None:
    with pytest.raises(SpecError) as e:
        asked(scheduler, **fields)
    message = str(e.value)
    assert message.startswith("spec.yaml:")
    assert f" {field}: " in message
    assert words in message
