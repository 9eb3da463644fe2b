"""The fields of serveConfigV2 and of ray.serve.llm's args in Ray 2.60.

Ray 2.60 ray/serve/schema.py, ray/serve/config.py, ray/llm/_internal/serve/core/configs/llm_config.py,
ray/llm/_internal/serve/core/ingress/builder.py and ray/util/accelerators/accelerators.py.
"""

from __future__ import annotations

CONFIG = frozenset({
    "proxy_location", "http_options", "grpc_options", "controller_options", "logging_config", "tracing_config",
    "applications", "target_capacity",
})  # fmt: skip
APPLICATION = frozenset({
    "name", "route_prefix", "import_path", "runtime_env", "host", "port", "deployments", "autoscaling_policy", "args",
    "logging_config", "external_scaler_enabled",
})  # fmt: skip
DEPLOYMENT = frozenset({
    "name", "num_replicas", "max_ongoing_requests", "max_queued_requests", "backpressure_config", "user_config",
    "autoscaling_config", "graceful_shutdown_wait_loop_s", "graceful_shutdown_timeout_s", "health_check_period_s",
    "health_check_timeout_s", "ray_actor_options", "placement_group_bundles", "placement_group_strategy",
    "placement_group_bundle_label_selector", "max_replicas_per_node", "logging_config", "request_router_config",
    "gang_scheduling_config", "deployment_actors", "rolling_update_percentage", "max_surge_percent",
})  # fmt: skip
# Options of @serve.deployment that LLMConfig.deployment_config takes beside those; Ray 2.60 ray/serve/api.py
DEPLOYMENT_CONFIG = (DEPLOYMENT | {"version", "ray_actor_options", "max_constructor_retry_count"}) - {
    "placement_group_bundles", "placement_group_strategy",
}  # fmt: skip
AUTOSCALING = frozenset({
    "min_replicas", "initial_replicas", "max_replicas", "target_ongoing_requests", "metrics_interval_s",
    "look_back_period_s", "smoothing_factor", "upscale_smoothing_factor", "downscale_smoothing_factor",
    "upscaling_factor", "downscaling_factor", "downscale_delay_s", "downscale_to_zero_delay_s", "upscale_delay_s",
    "aggregation_function", "policy", "target_num_ongoing_requests_per_replica",
})  # fmt: skip
ACTOR = frozenset({
    "runtime_env", "num_cpus", "num_gpus", "memory", "resources", "accelerator_type", "label_selector",
    "fallback_strategy", "object_store_memory",
})  # fmt: skip
HTTP = frozenset({
    "host", "port", "root_path", "request_timeout_s", "keep_alive_timeout_s", "ssl_keyfile", "ssl_certfile",
    "ssl_keyfile_password", "ssl_ca_certs", "location", "num_cpus", "middlewares",
})  # fmt: skip
RENAMED = {  # of earlier versions of Ray
    "max_concurrent_queries": "max_ongoing_requests",
    "target_num_ongoing_requests_per_replica": "target_ongoing_requests",
}
PROXY_LOCATIONS = ("Disabled", "HeadOnly", "EveryNode")
SERVING_ARGS = {
    "build_openai_app": frozenset({"llm_configs", "ingress_cls_config", "ingress_deployment_config"}),
    "build_dp_openai_app": frozenset({"llm_config", "ingress_cls_config", "ingress_deployment_config"}),
    "build_pd_openai_app": frozenset(
        {"prefill_config", "decode_config", "ingress_cls_config", "ingress_deployment_config"}
    ),
}
LLM = frozenset({
    "runtime_env", "model_loading_config", "llm_engine", "engine_kwargs", "accelerator_type", "accelerator_config",
    "placement_group_config", "lora_config", "deployment_config", "server_cls", "experimental_configs",
    "log_engine_metrics", "callback_config",
})  # fmt: skip
LOADING = frozenset({"model_id", "model_source", "tokenizer_source"})
LORA = frozenset(
    {"dynamic_lora_loading_path", "max_num_adapters_per_replica", "download_timeout_s", "max_download_tries"}
)
PLACEMENT = frozenset({"bundle_per_worker", "bundles", "strategy"})
STRATEGIES = ("PACK", "SPREAD", "STRICT_PACK", "STRICT_SPREAD")
ACCELERATORS = frozenset({
    "V100", "P100", "T4", "P4", "K80", "A10", "A10G", "L4", "L40S", "A100", "H100", "H200", "H20", "B200", "B300",
    "GB200", "GB300", "RTX-PRO-6000", "Intel-GPU-Max-1550", "Intel-GPU-Max-1100", "Intel-GAUDI",
    "AMD-Instinct-MI100", "AMD-Instinct-MI250X", "AMD-Instinct-MI250X-MI250", "AMD-Instinct-MI210",
    "AMD-Instinct-MI300A", "AMD-Instinct-MI300X-OAM", "AMD-Instinct-MI300X-HF", "AMD-Instinct-MI308X",
    "AMD-Instinct-MI325X-OAM", "AMD-Instinct-MI350X-OAM", "AMD-Instinct-MI355X-OAM", "AMD-Radeon-R9-200-HD-7900",
    "AMD-Radeon-HD-7900", "aws-neuron-core", "TPU-V2", "TPU-V3", "TPU-V4", "TPU-V5P", "TPU-V5LITEPOD", "TPU-V6E",
    "TPU-V7X", "Ascend910B", "Ascend910B4", "MXC500", "MXC550", "FURIOSA_RNGD", "M1", "M1-Pro", "M1-Max", "M1-Ultra",
    "M2", "M2-Pro", "M2-Max", "M2-Ultra", "M3", "M3-Pro", "M3-Max", "Apple-Silicon", "A100-40G", "A100-80G",
    "MOBILINT_ARIES", "MOBILINT_REGULUS",
})  # fmt: skip
REMOTE = ("s3://", "gs://", "abfss://", "azure://", "pyarrow-")
URI_SCHEMES = ("gcs", "conda", "pip", "uv", "http", "https", "s3", "gs", "azure", "abfss", "file", "local")
