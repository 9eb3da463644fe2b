"""From a plan to the Kubernetes objects of its deployment."""

from __future__ import annotations

import json
from typing import Any

from raygang.fabric import request as fabric_request
from raygang.gang import request
from raygang.manifest import around, host_network, monitoring, names, rayservice
from raygang.manifest.emit import to_yaml
from raygang.manifest.model import Rendered
from raygang.manifest.model_source import model_mount
from raygang.manifest.noted import split
from raygang.manifest.runtime import archive, config_map, config_map_name
from raygang.plan import Plan
from raygang.spec import Spec

CLUSTER_KINDS = ("MutatingAdmissionPolicy", "MutatingAdmissionPolicyBinding")  # what stands outside of namespaces


def render(plan: Plan) -> Rendered:
    """All objects of a deployment, in the order in which they are to be applied.

    Raises:
        SpecError: the specification lacks what Kubernetes needs.
    """
    _check(plan.spec)
    runtime, model = archive(), model_mount(plan.spec)
    asked = [request(plan, gang) for gang in plan.gangs]
    objects: list[dict[str, Any]] = [
        *around.service_account(plan),
        config_map(plan, runtime),
        *(_placed(plan, obj) for obj in _once(obj for found in asked for obj in found.objects)),
    ]
    # No policy holds for pods on a node's network, and the head's own would drop what comes from nodes' addresses.
    if not plan.spec.fabric.host_network:
        objects += [around.network_policy(plan, replica) for replica in range(plan.spec.replicas)]
    name = config_map_name(plan, runtime)
    objects += [
        rayservice.ray_service(plan, replica, found, name, model, to_yaml) for replica, found in enumerate(asked)
    ]
    objects += [around.service(plan), *monitoring.monitoring(plan)]
    plain = [split(obj) for obj in objects]
    needs = (
        *rayservice.needs(plan),
        *monitoring.needs(plan),
        *fabric_request(plan.spec).needs,
        *host_network.needs(plan.spec),
        *dict.fromkeys(need for found in asked for need in found.needs),
    )
    return Rendered(tuple(obj for obj, _ in plain), tuple(notes for _, notes in plain), needs)


def _placed(plan: Plan, obj: dict[str, Any]) -> dict[str, Any]:
    """A scheduler's object as one of the deployment's; what all deployments of a cluster share belongs to none."""
    if obj["kind"] in CLUSTER_KINDS:
        return obj
    own = obj["metadata"]
    placed = names.metadata(plan, own["name"], **own.get("labels", {}))
    annotations = {**placed.get("annotations", {}), **own.get("annotations", {})}
    return {**obj, "metadata": {**own, **placed} | ({"annotations": annotations} if annotations else {})}


def _once(objects: Any) -> list[dict[str, Any]]:
    """Objects without repetitions: the policy that all gangs share stands there once."""
    return list({json.dumps(obj, sort_keys=True): obj for obj in objects}.values())


def _check(spec: Spec) -> None:
    if spec.kubernetes.image is None:
        raise spec.problem(
            "kubernetes.image",
            "is needed: pods run Ray and vLLM from it",
            suggestion="an image with Ray 2.60.0 and vLLM 0.32.0, for example one made from vllm/vllm-openai:v0.32.0",
        )
