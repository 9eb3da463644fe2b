"""ENG: environment variables of the engine, in pods and in runtime_env."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from raygang.lint.model import Case, Found, Report, Rule
from raygang.lint.rules.pods_view import can_have_pods, gpus, label, ray_container, ray_containers
from raygang.lint.rules.serve_shape import engines
from raygang.lint.rules.serve_traffic import called
from raygang.lint.rules.serve_words import model, nearest, older
from raygang.lint.serve import Llm, serve
from raygang.lint.vllm_table import vllm
from raygang.objects import Path, at, mapping, sequence, text

_HOST = "VLLM_HOST_IP"
_GONE = {  # variables of earlier versions of vLLM, with what took their place
    "VLLM_ALL2ALL_BACKEND": "engine_kwargs.all2all_backend",
    "VLLM_ATTENTION_BACKEND": "engine_kwargs.attention_backend",
    "VLLM_FLASH_ATTN_VERSION": "engine_kwargs.attention_config",
    "VLLM_TORCH_PROFILER_DIR": "engine_kwargs.profiler_config",
    "VLLM_USE_RAY_COMPILED_DAG": "", "VLLM_USE_RAY_SPMD_WORKER": "", "VLLM_USE_V1": "",
}  # fmt: skip
_TOKENS = ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN", "HF_TOKEN_PATH", "HF_HOME")
_OFFLINE = ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE")
_ON = ("1", "true", "yes", "on")
# Owners of models whose licence has to be accepted on the hub first.
_GATED = ("meta-llama/", "google/gemma-", "mistralai/Mistral-Large", "mistralai/Mixtral-8x22B", "CohereLabs/c4ai",
          "bigcode/starcoder")  # fmt: skip
_OPEN = ("google/gemma-4",)


@dataclass(frozen=True)
class Variable:
    """An environment variable with a value that stands in the manifest."""

    name: str
    value: str
    path: Path


def _variables(case: Case) -> Iterator[Variable]:
    for container in ray_containers(case):
        for env in container.env:
            if env.value is not None:
                yield Variable(env.name, env.value, env.path)
    yield from _runtime(case)


def _runtime(case: Case) -> Iterator[Variable]:
    """Those of runtime_env in serveConfigV2: the same on every node."""
    for application in serve(case).applications:
        places = [(at(application.data, "runtime_env", "env_vars"), application.at("runtime_env", "env_vars"))]
        places += [(llm.variables(), llm.at("runtime_env", "env_vars")) for llm in application.llms]
        for index, item in enumerate(sequence(application.data.get("deployments"))):
            inner = ("ray_actor_options", "runtime_env", "env_vars")
            places.append((at(item, *inner), application.at("deployments", index, *inner)))
        for data, path in places:
            for name, value in mapping(data).items():
                yield Variable(name, str(value), (*path, name))


def _host_ip(case: Case) -> Report:
    for variable in _runtime(case):
        if variable.name == _HOST:
            what = f"{_HOST} is set in runtime_env: it is the same on every node"
            yield Found(variable.path, what, f"remove it, and set {_HOST} in the pods")
    for container in ray_containers(case):
        env, group = container.variable(_HOST), container.group
        if env is None or env.value is None or "$(" in env.value or not can_have_pods(case, group):
            continue
        if group.pods == 1 and group.pod.get("hostNetwork") is True:
            continue  # the node's own address, perhaps
        what = f"{_HOST} of {label(group)} is {'a constant' if env.value else 'empty'}"
        same = f": it is the same in its {group.pods} pods"
        what += same if group.pods > 1 else ", and a pod's address is not known beforehand"
        yield Found(env.path, what)


def _host_ip_missing(case: Case) -> Report:
    """Where a pod has several addresses vLLM guesses one, and Ray another."""
    if not (any(engines(case)) or called(case)):
        return
    for group in case.workers:
        container = ray_container(group)
        networks = group.template_annotations().get("k8s.v1.cni.cncf.io/networks")
        several = "hostNetwork" if group.pod.get("hostNetwork") is True else "a second network" if networks else ""
        if container is None or not several or group.pods < 2 or not gpus(container):
            continue
        if container.variable(_HOST) is None and not sequence(container.data.get("envFrom")):
            what = f"the {group.pods} pods of {label(group)} have {several}, and no {_HOST}"
            yield Found(container.at("env") if "env" in container.data else container.path, what)


def _gone(case: Case) -> Report:
    if older(case):
        return
    known = vllm().variables
    for variable in _variables(case):
        if not variable.name.startswith("VLLM_") or variable.name in known:
            continue
        meant = nearest(variable.name, known, 0.9)
        if variable.name in _GONE:
            write = f"write {_GONE[variable.name]}" if _GONE[variable.name] else "remove it"
            what = f"vLLM {vllm().version} does not read {variable.name}"
            what += (
                ": the engine that it chose is gone" if variable.name == "VLLM_USE_V1" and variable.value == "0" else ""
            )
            yield Found(variable.path, what, write)
        elif meant is not None:
            yield Found(variable.path, f"vLLM has no variable {variable.name}", f"write {meant}")


def _offline(case: Case) -> Report:
    switches = [v for v in _variables(case) if v.name in _OFFLINE and v.value.lower() in _ON]
    worker = next((c for c in ray_containers(case) if not c.group.head and gpus(c)), None)
    if not switches or worker is None:
        return
    mounts = [text(at(mount, "mountPath")) for mount in sequence(worker.data.get("volumeMounts"))]
    if any(mount not in ("/dev/shm", "/tmp/ray") for mount in mounts) or "rayproject/ray" not in (worker.image or ""):
        return  # the model may be there
    for llm in serve(case).llms:
        if llm.hub_id is not None:
            what = (
                f"{switches[0].name} is on, and {llm.name} comes from the hub ({llm.hub_id}) with no volume that has it"
            )
            yield Found(switches[0].path, what)


def _gated(case: Case) -> Report:
    container = next((c for c in ray_containers(case) if not c.group.head), None)
    if container is None or container.data.get("envFrom"):
        return
    inner = {variable.name for variable in _runtime(case)}
    if any(name in inner or container.variable(name) for name in _TOKENS):
        return
    for llm in serve(case).llms:
        name = llm.hub_id or ""
        if name.startswith(_GATED) and not name.startswith(_OPEN) and "hf_token" not in llm.engine:
            yield Found(_source(llm), f"{name} asks for a token of the hub, and no worker has one")


def _source(llm: Llm) -> Path:
    return llm.at("model_loading_config", "model_source" if "model_source" in llm.loading else "model_id")


def _secret(case: Case) -> Report:
    for variable in _runtime(case):
        name = variable.name.upper()
        secret = name in _TOKENS[:2] or name.endswith(("_TOKEN", "_API_KEY", "_PASSWORD", "_SECRET_ACCESS_KEY"))
        if secret and variable.value and not variable.value.startswith(("$", "<")):
            yield Found(variable.path, f"{variable.name} stands in serveConfigV2 in clear text", key=True)


_EXECUTOR = "vLLM 0.32 vllm/v1/executor/ray_executor.py:306-320, vllm/utils/network_utils.py:50-88"


def _worker(env: str) -> str:
    return "kind: RayService\nspec:\n  rayClusterConfig:\n    workerGroupSpecs:\n    - template:\n        spec:\n" + env


def _env(name: str, value: str) -> str:
    return _worker(f"          containers:\n          - env:\n            - name: {name}\n              {value}\n")


RULES = (
    Rule(
        code="ENG001", name="host-ip-constant", severity="error", title="VLLM_HOST_IP is the same in all pods",
        because="vLLM finds fewer addresses than nodes and ends with an error, or waits for a node that Ray does not "
        "have",
        why="VLLM_HOST_IP is the address at which the other ranks reach this one. vLLM checks that there are as many "
        "addresses as nodes, and asks Ray for the resource node:ADDRESS. Kubernetes gives each pod its own address.",
        write="write valueFrom: {fieldRef: {fieldPath: status.podIP}}",
        since="vLLM 0.6-0.32", source=_EXECUTOR,
        bad=_env("VLLM_HOST_IP", "value: 10.0.0.1\n              valueFrom: null"),
        good=_env("VLLM_HOST_IP", "valueFrom: {fieldRef: {fieldPath: status.podIP}}"),
        check=_host_ip,
    ),
    Rule(
        code="ENG002", name="host-ip-missing", severity="warning", title="several networks and no VLLM_HOST_IP",
        because="vLLM and Ray may each guess another address: ranks then wait for a node that is not there, or talk "
        "over "
        "the slow network",
        why="Without VLLM_HOST_IP vLLM takes the address by which it would reach 8.8.8.8. On a host with several "
        "networks "
        "that need not be the one that Ray has registered.",
        write="add VLLM_HOST_IP with valueFrom: {fieldRef: {fieldPath: status.podIP}}",
        since="vLLM 0.6-0.32", source=f"{_EXECUTOR}; vLLM issues 7815, 13388",
        bad=_worker("          hostNetwork: true\n          containers:\n          - env: null\n"),
        good=_worker("          hostNetwork: true\n"),
        check=_host_ip_missing,
    ),
    Rule(
        code="ENG013", name="removed-variable", severity="warning",
        title="an environment variable that vLLM does not read",
        because="vLLM logs a warning and goes on without it: what it was to set keeps its default",
        why="vLLM removes variables from release to release, among them VLLM_USE_V1: the old engine is gone.",
        write="remove it, or write what took its place",
        since="vLLM 0.32", source="vLLM 0.32 vllm/envs.py:617, vllm/platforms/interface.py:1446-1458",
        bad=_env("VLLM_USE_V1", "value: '0'\n              valueFrom: null"),
        good=_worker("          hostNetwork: null\n"),
        check=_gone,
    ),
    Rule(
        code="ENG014", name="offline-without-model", severity="error", title="no network to the hub, and no model",
        because="the engine finds no model and ends with an error",
        why="HF_HUB_OFFLINE=1 allows only what is in the cache already. Ray's images have no model, and the file "
        "system "
        "of a new pod is empty.",
        write="mount a volume that has the model, or remove the variable",
        since="huggingface-hub 0.34-1", source="huggingface_hub/constants.py HF_HUB_OFFLINE",
        bad=_env("HF_HUB_OFFLINE", "value: '1'\n              valueFrom: null"),
        good=_env("HF_HUB_OFFLINE", "value: '0'\n              valueFrom: null"),
        check=_offline,
    ),
    Rule(
        code="ENG015", name="gated-without-token", severity="info", title="a gated model and no token",
        because="where the weights come from the hub it answers 401 or 403, and the engine ends with an error",
        why="Some owners let only those fetch a model who have accepted its licence; the hub tells them by their "
        "token.",
        write="add HF_TOKEN from a Secret to the workers",
        since="always", source="Hugging Face hub, gated models",
        bad=_worker("          containers:\n          - env: null\n"), good=_worker("          hostNetwork: null\n"),
        check=_gated,
    ),
    Rule(
        code="ENG016", name="secret-in-serve-config", severity="warning", title="a secret in serveConfigV2",
        because="KubeRay's operator writes the whole text into its log, and Ray's dashboard shows it",
        why="runtime_env takes no references to Secrets. Variables of the pod do, and every process of Ray in it has "
        "them.",
        write="take it out, and set it in the pods with valueFrom.secretKeyRef",
        since="KubeRay 1.0-1.7",
        source="KubeRay 1.6 ray-operator/controllers/ray/rayservice_controller.go:1293,1322",
        bad=model("runtime_env: {env_vars: {HF_TOKEN: hf_abcdefgh}}\n"),
        good=model("runtime_env: {env_vars: {A: b}}\n"),
        check=_secret,
    ),
)  # fmt: skip
