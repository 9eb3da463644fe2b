"""Sound manifests: vLLM over two nodes of eight GPUs, of each kind; no rule finds anything in them.

The examples of rules are fragments: what they say is laid over the sound manifest of their kind.
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from typing import Any

import yaml

from raygang.lint._yaml import Tree, read

IMAGE = "rayproject/ray-llm:2.60.0-py311-cu128"
GANG_LABEL = "volcano.sh/queue-name"
_SPEAKS_OF_GANGS = ("labels", "annotations", "schedulerName", "schedulingGroup")

_CLUSTER = f"""
rayVersion: 2.60.0
authOptions:
  mode: token
headGroupSpec:
  rayStartParams:
    num-cpus: "0"
    num-gpus: "0"
  template:
    metadata: {{}}
    spec:
      automountServiceAccountToken: false
      containers:
      - name: ray-head
        image: {IMAGE}
        imagePullPolicy: IfNotPresent
        ports:
        - {{name: gcs-server, containerPort: 6379}}
        - {{name: dashboard, containerPort: 8265}}
        - {{name: client, containerPort: 10001}}
        - {{name: serve, containerPort: 8000}}
        - {{name: metrics, containerPort: 8080}}
        env:
        - name: RAY_USAGE_STATS_ENABLED
          value: "0"
        resources:
          requests: {{cpu: "8", memory: 32Gi}}
          limits: {{cpu: "8", memory: 32Gi}}
workerGroupSpecs:
- groupName: gpus
  replicas: 2
  minReplicas: 2
  maxReplicas: 2
  numOfHosts: 1
  rayStartParams:
    object-store-memory: "20000000000"
  template:
    metadata: {{}}
    spec:
      automountServiceAccountToken: false
      containers:
      - name: ray-worker
        image: {IMAGE}
        imagePullPolicy: IfNotPresent
        ports:
        - {{name: metrics, containerPort: 8080}}
        env:
        - name: VLLM_HOST_IP
          valueFrom: {{fieldRef: {{fieldPath: status.podIP}}}}
        - name: HF_TOKEN
          valueFrom: {{secretKeyRef: {{name: hugging-face, key: token}}}}
        - name: NCCL_NET
          value: Socket
        resources:
          requests: {{cpu: "64", memory: 900Gi, nvidia.com/gpu: "8"}}
          limits: {{cpu: "64", memory: 900Gi, nvidia.com/gpu: "8"}}
        readinessProbe:
          httpGet: {{path: /api/local_raylet_healthz, port: 52365}}
          initialDelaySeconds: 10
          periodSeconds: 5
          timeoutSeconds: 5
          failureThreshold: 10
        volumeMounts:
        - {{name: shared-memory, mountPath: /dev/shm}}
      tolerations:
      - {{key: nvidia.com/gpu, operator: Exists, effect: NoSchedule}}
      volumes:
      - name: shared-memory
        emptyDir: {{medium: Memory, sizeLimit: 64Gi}}
"""

_SERVE = """
proxy_location: HeadOnly
http_options: {host: 0.0.0.0, port: 8000}
applications:
- name: llm
  route_prefix: /
  import_path: ray.serve.llm:build_openai_app
  args:
    llm_configs:
    - model_loading_config:
        model_id: llama-3.3-70b
        model_source: meta-llama/Llama-3.3-70B-Instruct
      deployment_config:
        num_replicas: 1
        max_ongoing_requests: 64
      engine_kwargs:
        tensor_parallel_size: 8
        pipeline_parallel_size: 2
        gpu_memory_utilization: 0.9
        max_model_len: 16384
        max_num_seqs: 64
"""


def _metadata(**annotations: str) -> dict[str, Any]:
    return {"name": "llama", "namespace": "models", "labels": {GANG_LABEL: "default"}, "annotations": annotations}


BASES: dict[str, dict[str, Any]] = {
    "RayCluster": {
        "apiVersion": "ray.io/v1",
        "kind": "RayCluster",
        "metadata": _metadata(**{"ray.io/enable-serve-service": "true"}),
        "spec": yaml.safe_load(_CLUSTER),
    },
    "RayService": {
        "apiVersion": "ray.io/v1",
        "kind": "RayService",
        "metadata": _metadata(**{"ray.io/initializing-timeout": "3600s"}),
        "spec": {
            "upgradeStrategy": {"type": "None"},
            "serveConfigV2": _SERVE.lstrip(),
            "rayClusterConfig": yaml.safe_load(_CLUSTER),
        },
    },
    "RayJob": {
        "apiVersion": "ray.io/v1",
        "kind": "RayJob",
        "metadata": _metadata(),
        "spec": {
            "entrypoint": "python /home/ray/infer.py",
            "submissionMode": "K8sJobMode",
            "shutdownAfterJobFinishes": True,
            "ttlSecondsAfterFinished": 600,
            "activeDeadlineSeconds": 36000,
            "backoffLimit": 0,
            "rayClusterSpec": yaml.safe_load(_CLUSTER),
        },
    },
}


def complete(fragment_yaml: str) -> dict[str, Any]:
    """A fragment of one object laid over the sound manifest of its kind; an object of another kind as it stands.

    Mappings are merged by key and lists by index, variables by name; a null takes the field away. A fragment that says
    anything about labels, annotations or schedulers has no gang but its own: the base's label for Volcano is left out.
    """
    (whole,) = documents(fragment_yaml)
    return whole


def documents(example: str) -> list[dict[str, Any]]:
    """The same for each document of a text: the bundle that an example of a rule about several objects stands for."""
    trees = [tree for tree in read(example) if isinstance(tree, Tree)]
    return [_complete(tree.data) for tree in trees if tree.data is not None]


def _complete(fragment: dict[str, Any]) -> dict[str, Any]:
    base = deepcopy(BASES.get(fragment["kind"], {}))
    if base and any(key in _SPEAKS_OF_GANGS for key in _keys(fragment)):
        del base["metadata"]["labels"][GANG_LABEL]
    merged: dict[str, Any] = _merged(base, fragment)
    return merged


def _keys(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield key
            yield from _keys(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _keys(inner)


def _merged(base: Any, over: Any) -> Any:
    if isinstance(base, dict) and isinstance(over, dict):
        merged = dict(base)
        for key, value in over.items():
            if value is None:
                merged.pop(key, None)
            else:
                merged[key] = _merged(merged[key], value) if key in merged else value
        return merged
    if _are_variables(base) and _are_variables(over):
        named = {entry["name"]: entry for entry in base}
        return list((named | {new["name"]: _merged(named.get(new["name"], {}), new) for new in over}).values())
    if isinstance(base, list) and isinstance(over, list):
        both = [_merged(old, new) for old, new in zip(base, over, strict=False)]
        return both + (over[len(base) :] if len(over) > len(base) else base[len(over) :])
    return over


def _are_variables(value: Any) -> bool:
    """Whether it is an environment, each variable in it once."""
    if not isinstance(value, list) or not all(isinstance(entry, dict) and "name" in entry for entry in value):
        return False
    fields = {key for entry in value for key in entry}
    return fields <= {"name", "value", "valueFrom"} and len({entry["name"] for entry in value}) == len(value)
