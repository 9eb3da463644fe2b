"""Where pods find the model: on the hub, or on a volume."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from raygang.manifest.noted import Noted
from raygang.spec import Spec

HUB_CACHE = "/model-cache"
MODEL = "/model"
_VOLUME = "model"


@dataclass(frozen=True)
class ModelMount:
    """What a pod needs to have the model.

    Attributes:
        path: a directory, or a hub id.
        volume: the pod's volume.
        mount: where a container has it.
        env: variables of a container.
        engine_args: vLLM's arguments that go with it.
    """

    path: str
    volume: dict[str, Any]
    mount: dict[str, Any]
    env: tuple[dict[str, Any], ...]
    engine_args: dict[str, Any]


def model_mount(spec: Spec) -> ModelMount:
    """How pods get the model of a specification.

    Raises:
        SpecError: it is on this machine only.
    """
    source, claim = spec.model.source, spec.kubernetes.model_claim
    if source.kind == "hub":
        return _hub(spec, claim)
    if source.kind != "directory":
        raise spec.problem(
            "model.source",
            "is made into a model directory on this machine, which pods do not see",
            given=str(source),
            suggestion="a hub id, or a directory on a volume that kubernetes.model_claim names",
        )
    if claim is None:
        raise spec.problem(
            "kubernetes.model_claim",
            f"is needed: pods find the directory {source.value} on a volume only",
            suggestion="name a PersistentVolumeClaim that has the model in its root, or write a hub id",
        )
    path = source.value if source.value.startswith("/") else MODEL
    volume = {"name": _VOLUME, "persistentVolumeClaim": {"claimName": claim, "readOnly": True}}
    mount = {"name": _VOLUME, "mountPath": path, "readOnly": True}
    return ModelMount(path, volume, mount, ({"name": "HF_HUB_OFFLINE", "value": "1"},), {})


def _hub(spec: Spec, claim: str | None) -> ModelMount:
    volume: dict[str, Any] = {"name": _VOLUME}
    if claim:
        volume["persistentVolumeClaim"] = {"claimName": claim}
    else:
        volume["emptyDir"] = Noted({}, "each pod fetches the model; kubernetes.model_claim keeps it between starts")
    env: list[dict[str, Any]] = [{"name": "HF_HOME", "value": HUB_CACHE}]
    token = spec.model.token
    if token and token.secret:
        reference = {"secretKeyRef": {"name": token.secret, "key": token.key}}
        env.append({"name": "HF_TOKEN", "valueFrom": reference})
    args = {} if spec.model.revision == "main" else {"revision": spec.model.revision}
    return ModelMount(spec.model.source.value, volume, {"name": _VOLUME, "mountPath": HUB_CACHE}, tuple(env), args)
