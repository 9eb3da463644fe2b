"""POD, SEC: environment variables of containers."""

from __future__ import annotations

import re

from raygang.lint.model import Case, Found, Report, Rule
from raygang.lint.rules.pods_view import Env, all_containers, gpus, label, ray_containers

_SECRET_NAME = re.compile(
    r"(?:^|_)(?:TOKENS?|PASSWORD|PASSWD|SECRET|SECRET_KEY|API_?KEY|ACCESS_?KEY|PRIVATE_KEY|CREDENTIALS)$", re.ASCII
)
_SECRET_VALUE = re.compile(r"(?:hf_|sk-|ghp_|github_pat_|glpat-|AKIA|xox[bp]-|nvapi-)[A-Za-z0-9_-]{12,}", re.ASCII)
_NO_SECRETS = ("true", "false", "1", "0", "")
# KubeRay 1.4-1.7, pod.go setContainerEnvVars: written behind one's own, so that they win
_KUBERAYS = frozenset({
    "RAY_CLUSTER_NAME", "RAY_CLUSTER_NAMESPACE", "RAY_CLOUD_INSTANCE_ID", "RAY_NODE_TYPE_NAME",
    "KUBERAY_GEN_RAY_START_CMD",
})  # fmt: skip
_NOT_GPUS = ("", "void", "none")


def _twice(case: Case) -> Report:
    for container in all_containers(case):
        seen: dict[str, Env] = {}
        for env in container.env:
            if env.name in seen and (env.value != seen[env.name].value or env.value is None):
                what = f"{env.name} is there twice in the container {container.name} of {label(container.group)}"
                yield Found((*env.path, "name"), what)
            seen[env.name] = env


def _secrets(case: Case) -> Report:
    for container in all_containers(case):
        for env in container.env:
            value = env.value or ""
            if value.lower() in _NO_SECRETS or "$(" in value or value.isdecimal():
                continue
            known = _SECRET_VALUE.search(value)
            if known or _SECRET_NAME.search(env.name.upper()):
                what = f"{env.name} has its value in the manifest, in the container {container.name}"
                write = f"write {env.name} with valueFrom.secretKeyRef, and change the secret: it has been written down"
                yield Found((*env.path, "value"), what, write, severity="error" if known else None)


def _kuberays(case: Case) -> Report:
    for container in ray_containers(case):
        for env in container.env:
            if env.name in _KUBERAYS:
                what = f"{env.name} is KubeRay's own: its value replaces the one that stands here"
                yield Found((*env.path, "name"), what)


def _ray_address(case: Case) -> Report:
    for container in ray_containers(case):
        env = container.variable("RAY_ADDRESS")
        if env is not None:
            yield Found((*env.path, "name"), f"RAY_ADDRESS of {label(container.group)} is set by hand")


def _visible_devices(case: Case) -> Report:
    for container in all_containers(case):
        env = container.variable("NVIDIA_VISIBLE_DEVICES")
        if env is None or env.value is None or env.value.strip().lower() in _NOT_GPUS:
            continue
        what = f"NVIDIA_VISIBLE_DEVICES is set in the container {container.name}"
        if gpus(container):
            write = "remove it: the device plugin sets it"
            yield Found((*env.path, "value"), what, write)
        else:
            because = "the container sees GPUs that Kubernetes has given to other pods"
            yield Found((*env.path, "value"), what, "ask for GPUs in resources.limits", because)


_ENV = (
    "kind: RayCluster\nspec:\n  headGroupSpec:\n    template:\n      spec:\n        containers:\n"
    "        - env:\n          - "
)

RULES = (
    Rule(
        code="POD001",
        name="env-twice",
        severity="warning",
        title="an environment variable is there twice",
        because="the last one wins, and `kubectl apply` may merge the two into one or the other",
        why="Kubernetes merges the list by name: what an update does to a name that is there twice is not defined.",
        write="keep one of them",
        since="Kubernetes, all versions",
        source="k8s.io/api core/v1/types.go Container.Env (patchMergeKey=name)",
        bad=_ENV + '{name: NCCL_DEBUG, value: "INFO"}\n          - {name: NCCL_DEBUG, value: "WARN"}\n',
        good=_ENV + '{name: NCCL_DEBUG, value: "INFO"}\n',
        check=_twice,
    ),
    Rule(
        code="SEC002",
        name="secret-in-env",
        severity="warning",
        title="a secret stands in the manifest",
        because="everyone who may read the object, its history or its repository has it",
        why="Kubernetes keeps Secrets apart from other objects, with rights of their own. What has been in a manifest "
        "is known and has to be changed.",
        write="write it with valueFrom.secretKeyRef",
        since="Kubernetes, all versions",
        source="kubernetes.io/docs/concepts/configuration/secret",
        bad=_ENV + "{name: HF_TOKEN, value: paste-your-token-here}\n",
        good=_ENV + "{name: HF_TOKEN, value: null, valueFrom: {secretKeyRef: {name: hugging-face, key: token}}}\n",
        check=_secrets,
    ),
    Rule(
        code="POD002",
        name="kuberay-variable",
        severity="warning",
        title="a variable that KubeRay sets itself",
        because="KubeRay's value wins",
        why="KubeRay writes these behind the container's own environment, and the last one of a name wins.",
        write="remove it",
        since="KubeRay 1.4-1.7",
        source="KubeRay 1.6 ray-operator/controllers/ray/common/pod.go setContainerEnvVars",
        bad=_ENV + "{name: RAY_CLUSTER_NAME, value: llama}\n",
        good=_ENV + '{name: RAY_DEDUP_LOGS, value: "0"}\n',
        check=_kuberays,
    ),
    Rule(
        code="POD003",
        name="ray-address-variable",
        severity="warning",
        title="RAY_ADDRESS is set by hand",
        because="programs in the pod connect to another Ray cluster than the pod's own, or to none",
        why="KubeRay sets RAY_ADDRESS to the head's service, and on the head to itself, unless it is there already. In "
        "a RayService the cluster's name, and with it the address, changes with each upgrade.",
        write="remove it",
        since="KubeRay 1.4-1.7",
        source="KubeRay 1.6 ray-operator/controllers/ray/common/pod.go:911-916",
        bad=_ENV + "{name: RAY_ADDRESS, value: llama-head-svc:6379}\n",
        good=_ENV + '{name: RAY_DEDUP_LOGS, value: "0"}\n',
        check=_ray_address,
    ),
    Rule(
        code="POD004",
        name="nvidia-visible-devices",
        severity="warning",
        title="NVIDIA_VISIBLE_DEVICES is set by hand",
        because="the container may see other GPUs than those that Kubernetes gave it",
        why="The device plugin sets this variable to the GPUs of the container. Where the container runtime honours it "
        "from anyone, `all` shows every GPU of the node, also those of other pods. `void` on a pod without GPUs is "
        "good practice.",
        write="remove it",
        since="NVIDIA container toolkit, all versions",
        source="NVIDIA/k8s-device-plugin issue 61",
        bad=_ENV + "{name: NVIDIA_VISIBLE_DEVICES, value: all}\n",
        good=_ENV + "{name: NVIDIA_VISIBLE_DEVICES, value: void}\n",
        check=_visible_devices,
    ),
)
