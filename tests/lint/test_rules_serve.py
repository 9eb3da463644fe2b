"""What is deployed: serveConfigV2, models of ray.serve.llm, the engine's arguments and its shape."""

from __future__ import annotations

import json
from textwrap import indent

import pytest

from raygang.lint import Finding, Source, lint
from raygang.lint.rules.serve_words import model, service
from raygang.lint.vllm_table import GONE, vllm
from tests.lint.base import documents

APP = "applications:\n- name: llm\n  import_path: app:llm\n"


def findings(fragment: str) -> list[Finding]:
    text = "\n---\n".join(json.dumps(document) for document in documents(fragment))
    return list(lint([Source("x.yaml", text)]).findings)


def of(code: str, fragment: str) -> list[Finding]:
    return [finding for finding in findings(fragment) if finding.code == code]


def cluster(groups: str) -> str:
    return "  rayClusterConfig:\n" + indent(groups, "    ")


def workers(fields: str) -> str:
    return cluster("workerGroupSpecs:\n- " + fields.replace("\n", "\n  ").rstrip(" "))


def image(tag: str) -> str:
    containers = f"template: {{spec: {{containers: [{{image: '{tag}'}}]}}}}"
    version = tag.partition(":")[2].partition("-")[0]
    return cluster(f"rayVersion: {version}\nheadGroupSpec: {{{containers}}}\nworkerGroupSpecs: [{{{containers}}}]\n")


OLD = image("rayproject/ray-llm:2.46.0-py311-cu124")


@pytest.mark.parametrize(
    ("code", "config", "severity", "says"),
    [
        ("SRV003", service("- a\n- b\n"), "error", "no mapping"),
        ("SRV003", service(APP + "---\n" + APP), "warning", "2 YAML documents"),
        ("SRV003", service(APP + "  import_path: other:llm\n"), "error", "import_path is there twice"),
        ("SRV004", service("proxy_location: HeadOnly\n"), "error", "no applications"),
        ("SRV004", service("applications: []\n"), "error", "no applications"),
        ("SRV004", service("# nothing\n"), "error", "no applications"),
        ("SRV004", "kind: RayService\nspec: {serveConfigV2: ''}\n", "error", "no serveConfigV2"),
        ("SRV005", service("applications:\n- name: llm\n"), "error", "no import_path"),
        ("SRV005", service("applications:\n- importPath: app:llm\n"), "error", "but importPath"),
        ("SRV005", service("applications:\n- import_path: 'a:b:c'\n"), "error", "more than one colon"),
        ("SRV005", service("applications:\n- import_path: app\n"), "error", "without the application"),
        ("SRV005", service("applications:\n- import_path: 'app:'\n"), "error", "ends with"),
        ("SRV005", service("applications:\n- import_path: pkg.app.llm\n"), None, ""),
        ("SRV006", service("applications: {name: llm}\n"), "error", "not a list"),
        ("SRV006", service("applications: [llm]\n"), "error", "not a mapping"),
        ("SRV006", service(APP + "  args: [1]\n"), "error", "args is"),
        ("SRV006", service(APP + "  route_prefix: llm\n"), "error", "route_prefix"),
        ("SRV006", service(APP + "  port: 8000\n"), "error", "port of its own"),
        ("SRV007", service(APP + "proxy_locations: HeadOnly\n"), "warning", "proxy_locations"),
        ("SRV007", service(APP + "  deployments:\n  - {name: A, max_concurrent_queries: 2}\n"), "warning", "max_concurrent_queries"),
        ("SRV007", service(APP + "  deployments:\n  - {name: A, autoscaling_config: {max_replica: 2}}\n"), "warning", "max_replica"),
        ("SRV007", service(APP + "  deployments:\n  - {name: A, some_new_thing: 2}\n") + OLD, None, ""),
        ("SRV008", service(APP + "- {name: b, import_path: 'b:b'}\n"), "error", "which is what it is where none is written"),
        ("SRV008", service(APP + "- {name: b, import_path: 'b:b', route_prefix: null}\n"), None, ""),
        ("SRV008", service(APP + "- {name: llm, import_path: 'b:b', route_prefix: /b}\n"), "error", "are called llm"),
        ("SRV009", service(APP + "  runtime_env: {py_modules: [s3://a/b.zip, lib]}\n"), "error", "lib is a path"),
        ("SRV009", service(APP + "  runtime_env: {working_dir: 'https://a/b.zip'}\n"), None, ""),
        ("SRV010", model("deployment_config: {num_replicas: 0}\n"), "error", "num_replicas is 0"),
        ("SRV010", model("deployment_config: {num_replicas: two}\n"), "error", "'two'"),
        ("SRV010", model("deployment_config:\n  autoscaling_config: {min_replicas: 2}\n"), "error", "its default"),
        ("SRV010", model("deployment_config:\n  autoscaling_config: {min_replicas: 1, initial_replicas: 3, max_replicas: 2}\n"), "error", "initial_replicas"),
        ("SRV012", model("deployment_config: {max_ongoing_requests: 8}\n"), None, ""),
        ("SRV013", service(APP + "http_options: {host: 127.0.0.1}\n"), "error", "listens on 127.0.0.1"),
        ("SRV015", service(APP + "proxy_location: Disabled\n"), "error", "Disabled"),
    ],
)  # fmt: skip
def test_serve_config(code: str, config: str, severity: str | None, says: str) -> None:
    found = of(code, config)
    assert [finding.severity for finding in found[:1]] == ([severity] if severity else [])
    assert not severity or says in found[0].what


@pytest.mark.parametrize(
    ("code", "config", "severity", "says"),
    [
        ("SRV017", model() + image("rayproject/ray:2.43.0-py311-cu124"), "error", "needs Ray 2.44.0 or later"),
        ("SRV017", model("runtime_env: {pip: [vllm]}\n") + image("rayproject/ray:2.60.0-py311-cu128"), None, ""),
        ("SRV017", model() + image("registry.example.com/serving:1.0"), None, ""),
        ("SRV017", service(APP) + image("rayproject/ray:2.60.0"), None, ""),
        ("SRV018", model("engine_kwarg: {}\n"), "error", "engine_kwarg"),
        ("SRV018", model("deployment_config: {num_replica: 1}\n"), "error", "num_replica"),
        ("SRV018", model("lora_config: {dynamic_lora_loading_path: 's3://a', max_num_adapters: 2}\n"), "error", "max_num_adapters"),
        ("SRV018", model("something_else: 1\n") + OLD, None, ""),
        ("SRV019", model("deployment_config: {placement_group_strategy: PACK}\n"), "error", "placement_group_strategy"),
        ("SRV019", model("placement_group_config: {strategy: PACK}\n"), "error", "neither"),
        ("SRV019", model("accelerator_type: NVIDIA-H100\n"), "error", "NVIDIA-H100"),
        ("SRV019", model("lora_config: {dynamic_lora_loading_path: /mnt/lora}\n"), "error", "/mnt/lora"),
        ("SRV019", model(engine="model: meta-llama/Llama-3.3-70B-Instruct\n"), "error", "sets itself"),
        ("SRV019", model(engine="disable_log_stats: true\n"), "error", "disable_log_stats"),
        ("SRV019", service("applications:\n- name: a\n  import_path: ray.serve.llm:build_openai_app\n  args: {}\n"), "error", "no llm_configs"),
        ("SRV020", model(engine="data_parallel_size: 1\n"), None, ""),
        ("ENG010", model(engine="max_model_length: 4096\n"), "error", "max_model_length"),
        ("ENG010", model(engine="brand_new_argument: 1\n") + OLD, None, ""),
        ("ENG010", model(engine="enable_auto_tool_choice: true\ntool_call_parser: hermes\n"), None, ""),
        ("ENG011", model(engine="device: auto\n") + OLD, "info", "device"),
        ("ENG011", model(engine="device: auto\n"), "error", "device"),
        ("ENG012", model(engine="dtype: bf16\n"), "error", "bf16"),
        ("ENG012", model(engine="max_model_len: 64k\n"), "error", "64k"),
        ("ENG012", model(engine="max_model_len: auto\n"), None, ""),
        ("ENG012", model(engine="max_model_len: null\n"), None, ""),
        ("ENG012", model(engine="tensor_parallel_size: '8'\n"), "error", "'8'"),
        ("ENG012", model(engine="gpu_memory_utilization: '0.9'\n"), None, ""),
        ("ENG012", model(engine="gpu_memory_utilization: 0.99\n"), "warning", "next to nothing"),
        ("ENG012", model(engine="quantization: gtpq\n"), "warning", "gtpq"),
        ("ENG012", model(engine="pipeline_parallel_size: 0\n"), "error", "pipeline_parallel_size is 0"),
        ("ENG012", model(engine="max_num_batched_tokens: 2048\nmax_model_len: 8192\nenable_chunked_prefill: false\n"), "error", "below max_model_len"),
    ],
)  # fmt: skip
def test_models(code: str, config: str, severity: str | None, says: str) -> None:
    found = of(code, config)
    assert [finding.severity for finding in found[:1]] == ([severity] if severity else [])
    assert not severity or says in found[0].what


ONE_GPU = "replicas: 4\nminReplicas: 4\nmaxReplicas: 4\n" + (
    "template: {spec: {containers: [{resources: {requests: {nvidia.com/gpu: '1'}, limits: {nvidia.com/gpu: '1'}}}]}}\n"
)
SIX_GPUS = (
    "template: {spec: {containers: [{resources: {requests: {nvidia.com/gpu: '6'}, limits: {nvidia.com/gpu: '6'}}}]}}\n"
)
PLACE = "placement_group_config:\n  bundle_per_worker: {%s}\n  strategy: %s\n"


@pytest.mark.parametrize(
    ("code", "config", "severity", "says"),
    [
        ("SRV002", model(engine="tensor_parallel_size: 16\npipeline_parallel_size: 2\n"), "error", "needs 32 GPUs, and the pods have 16"),
        ("SRV002", model("deployment_config: {num_replicas: 2}\n"), "error", "all replicas together need 32"),
        ("SRV002", model(engine="tensor_parallel_size: 16\n") + workers("template: {spec: {resourceClaims: [{name: gpu}]}}\n"), None, ""),
        ("SRV002", model(engine="tensor_parallel_size: 64\n") + cluster("enableInTreeAutoscaling: true\nworkerGroupSpecs: [{maxReplicas: 8}]\n"), None, ""),
        ("SRV002", model(engine="tensor_parallel_size: 8\ndata_parallel_size: 4\n", builder="build_dp_openai_app"), "error", "data_parallel_size 4"),
        ("ENG003", model(engine="tensor_parallel_size: 4\n") + workers(ONE_GPU), "warning", "more than the 1 GPU of a pod"),
        ("ENG003", model(engine="tensor_parallel_size: 4\npipeline_parallel_size: 3\n") + workers(SIX_GPUS), "warning", "no multiple"),
        ("ENG003", model(engine="tensor_parallel_size: 2\npipeline_parallel_size: 6\n") + workers(SIX_GPUS), None, ""),
        ("ENG004", model(engine="tensor_parallel_size: 4\n"), "warning", "12 are idle"),
        ("ENG004", model("deployment_config: {num_replicas: 4}\n", "tensor_parallel_size: 4\n"), None, ""),
        ("ENG006", model(PLACE % ("CPU: 1, GPU: 2", "PACK")), None, ""),
        ("ENG006", model(PLACE % ("CPU: 100, GPU: 1", "PACK")), "error", "too little CPU"),
        ("ENG006", model(PLACE % ("GPU: 1, nvlink: 1", "PACK")), "error", "too little nvlink"),
        ("ENG006", model("accelerator_type: H100\n"), None, ""),
        ("ENG006", model() + cluster("headGroupSpec: {rayStartParams: {num-cpus: '8'}}\nworkerGroupSpecs: [{rayStartParams: {num-cpus: '0'}}]\n"), "error", "with the replica itself"),
        ("ENG006", model("deployment_config: {ray_actor_options: {num_cpus: 0}}\n") + cluster("headGroupSpec: {rayStartParams: {num-cpus: '8'}}\nworkerGroupSpecs: [{rayStartParams: {num-cpus: '0'}}]\n"), None, ""),
        ("ENG007", model(PLACE % ("GPU: 1", "STRICT_PACK"), "tensor_parallel_size: 8\n"), None, ""),
        ("ENG007", model(PLACE % ("GPU: 1", "STRICT_SPREAD")), "error", "16 bundles"),
        ("ENG008", service(APP + "  deployments:\n  - {name: A, ray_actor_options: {num_cpus: 100}}\n"), "error", "CPU: 100"),
        ("ENG008", service(APP + "  deployments:\n  - {name: A, placement_group_bundles: [{GPU: 9}]}\n"), "error", "GPU: 9"),
    ],
)  # fmt: skip
def test_shapes(code: str, config: str, severity: str | None, says: str) -> None:
    found = of(code, config)
    assert [finding.severity for finding in found[:1]] == ([severity] if severity else [])
    assert not severity or says in found[0].what


def test_the_better_shape_is_said() -> None:
    (finding,) = of("ENG003", model(engine="tensor_parallel_size: 16\n"))
    assert finding.write.startswith("write tensor_parallel_size: 8 and pipeline_parallel_size: 2")


def test_a_users_own_application_is_not_judged_by_what_ray_serve_llm_takes() -> None:
    config = service(APP + "  args: {llm_configs: [{engine_kwargs: {tensor_paralel_size: 8}, whatever: 1}]}\n")
    assert [finding.code for finding in findings(config) if finding.severity == "error"] == []


@pytest.mark.parametrize(
    ("code", "config", "severity", "says"),
    [
        ("ENG001", model("runtime_env: {env_vars: {VLLM_HOST_IP: 10.0.0.1}}\n"), "error", "in runtime_env"),
        ("ENG001", workers("template:\n  spec:\n    containers: [{env: [{name: VLLM_HOST_IP, value: $(POD_IP), valueFrom: null}]}]\n"), None, ""),
        ("ENG013", model("runtime_env: {env_vars: {VLLM_USE_V1: '0'}}\n"), "warning", "VLLM_USE_V1"),
        ("ENG013", model("runtime_env: {env_vars: {VLLM_USE_V1: '1'}}\n") + OLD, None, ""),
        ("ENG013", model("runtime_env: {env_vars: {VLLM_LOGGING_LEVEL: DEBUG}}\n"), None, ""),
        ("ENG013", model("runtime_env: {env_vars: {VLLM_ASCEND_THING: '1'}}\n"), None, ""),
        ("ENG014", model("runtime_env: {env_vars: {HF_HUB_OFFLINE: '1'}}\n"), None, ""),
        ("ENG016", model("runtime_env: {env_vars: {HF_TOKEN: $(HF_TOKEN)}}\n"), None, ""),
    ],
)  # fmt: skip
def test_variables(code: str, config: str, severity: str | None, says: str) -> None:
    config = config if config.startswith("kind") else "kind: RayService\nspec:\n" + config
    found = of(code, config)
    assert [finding.severity for finding in found[:1]] == ([severity] if severity else [])
    assert not severity or says in found[0].what


def test_the_table_of_vllm_is_that_of_the_version_that_raygang_runs() -> None:
    table = vllm()
    assert table.version == "0.32.0"
    assert {"tensor_parallel_size", "gpu_memory_utilization", "enable_log_requests"} <= set(table.engine)
    assert "tool_call_parser" in table.frontend
    assert {"VLLM_HOST_IP", "VLLM_LOGGING_LEVEL"} <= table.variables
    assert not set(GONE) & (set(table.engine) | table.frontend)
