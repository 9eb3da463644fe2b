"""Plans that can be rendered, for hypothesis and by hand."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from hypothesis import reject
from hypothesis import strategies as st

from raygang.checkpoint import checkpoint_from_config
from raygang.gang import SCHEDULERS, request
from raygang.plan import Plan, plan
from raygang.spec import UserError, parse_spec

MODEL = {
    "architectures": ["LlamaForCausalLM"], "hidden_size": 8192, "intermediate_size": 28672, "num_hidden_layers": 80,
    "num_attention_heads": 64, "num_key_value_heads": 8, "vocab_size": 128256, "dtype": "bfloat16",
}  # fmt: skip
IMAGE = "registry.example.com/llm@sha256:" + "0" * 64
_SRIOV = {"resource": "openshift.io/rail0", "networks": ["ray/rail0", "rail1"], "interface": "eth0"}
FABRICS: list[dict[str, Any]] = [
    {"type": "auto"}, {"type": "tcp", "interface": "eth0"}, {"type": "efa", "resource_count": 32}, {"type": "gke-rdma"},
    {"type": "infiniband", "resource": "rdma/ib", "hcas": ["mlx5_0", "mlx5_1:1"], "interface": "eth0"},
    {"type": "aks-infiniband", "resource": "rdma/shared_ib"},
    *({**fabric, "interface": "bond0", "host_network": True} for fabric in (
        {"type": "auto"}, {"type": "tcp"}, {"type": "efa"}, {"type": "infiniband", "resource": "rdma/ib"},
        {"type": "aks-infiniband", "resource": "rdma/shared_ib"},
    )),
    {"type": "sriov-roce", **_SRIOV}, {"type": "sriov-infiniband", **_SRIOV},
]  # fmt: skip
NEEDED: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {  # scheduler and kubernetes sections that each must have
    "kueue": ({"queue": "gpus"}, {}),
    "kai": ({"queue": "gpus"}, {}),
    "native": ({}, {"version": "1.36"}),
}


def planned(scheduler: str = "none", /, **fields: Any) -> Plan:
    """The plan of a specification with two nodes of eight GPUs, or other fields."""
    asked, there = NEEDED.get(scheduler, ({}, {}))
    text = {
        "name": "llama",
        "model": {"source": "meta-llama/Llama-3.3-70B-Instruct"},
        "nodes": {"count": 2, "accelerators": 8},
        **fields,
        "scheduler": {"type": scheduler, **asked, **fields.get("scheduler", {})},
        "kubernetes": {"image": IMAGE, **there, **fields.get("kubernetes", {})},
    }
    return plan(parse_spec(json.dumps(text), file="spec.yaml"), checkpoint_from_config(MODEL))


@dataclass(frozen=True)
class Draft:
    """What `planned` takes; short to read when a test fails."""

    scheduler: str
    fields: dict[str, Any]

    def plan(self) -> Plan:
        """The plan; the test goes on to the next draft where the plan or the scheduler refuses it."""
        try:
            found = planned(self.scheduler, **self.fields)
            request(found, found.gangs[0])
        except UserError:  # their own tests are about that
            reject()
        return found


@st.composite
def schedulers(draw: st.DrawFn) -> tuple[str, dict[str, Any], dict[str, Any]]:
    """A scheduler, and sections `scheduler` and `kubernetes` that go with it."""
    name = draw(st.sampled_from(list(SCHEDULERS)))
    scheduler: dict[str, Any] = {}
    kubernetes: dict[str, Any] = {"kuberay_version": draw(st.sampled_from(["1.5.0", "1.5.1", "1.6.0", "1.7.0"]))}
    if name in ("volcano", "yunikorn") and draw(st.booleans()):
        scheduler["queue"] = "gpus"
    if name != "none" and draw(st.booleans()):
        scheduler["priority_class"] = "high"
    if name not in ("none", "yunikorn", "coscheduling") and draw(st.booleans()):
        level = "2" if name == "volcano" else "topology.kubernetes.io/rack"
        required = name == "native" or draw(st.booleans())
        scheduler["topology"] = {"level": level, "required": required, "name": "dc"}
    if name == "native":
        kubernetes["version"] = draw(st.sampled_from(["1.36", "1.37"]))
    return name, scheduler, kubernetes


@st.composite
def drafts(draw: st.DrawFn) -> Draft:
    """Any specification that its scheduler can do."""
    name, scheduler, kubernetes = draw(schedulers())
    sometimes = st.booleans()
    if draw(sometimes):
        kubernetes |= {"namespace": "llm", "monitoring": True, "labels": {"team": "a"}, "annotations": {"x/y": "z"}}
    if draw(sometimes):
        kubernetes |= {"model_claim": "models", "service_account": "runner", "image_pull_secrets": ["registry"]}
    cpu = draw(sometimes)
    nodes: dict[str, Any] = {
        "count": "auto", "accelerators": draw(st.sampled_from([1, 2, 4, 8])),
        "accelerator": "cpu" if cpu else draw(st.sampled_from(["auto", "H100-SXM-80GB"])),
    }  # fmt: skip
    if draw(sometimes):
        nodes |= {"selector": {"pool": "gpu"}, "tolerations": [{"key": "gpu", "operator": "Exists"}]}
    model: dict[str, Any] = {"source": "a/b", "revision": "v1"}
    if draw(sometimes):
        model["token"] = {"secret": "hf", "key": "token"}
    fabric = draw(st.sampled_from(FABRICS))
    parallelism = {"tensor": draw(st.sampled_from([1, 2, 4, 8])), "pipeline": draw(st.integers(1, 6))}
    if fabric.get("host_network"):  # a node takes one such pod: of fewer than 8 GPUs, HOST003 says that others are idle
        nodes["accelerators"] = parallelism["tensor"] = 8
    return Draft(name, {
        "scheduler": scheduler, "kubernetes": kubernetes, "nodes": nodes, "model": model, "parallelism": parallelism,
        "replicas": draw(st.integers(1, 3)), "fabric": fabric,
    })  # fmt: skip
