"""A Grafana dashboard of one deployment: what its users feel, what the engine does, what the nodes carry."""

from __future__ import annotations

import json
from dataclasses import dataclass

from grafana_foundation_sdk.builders import dashboard, prometheus, timeseries
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models.dashboard import DataSourceRef

from raygang.plan import Plan

# Prometheus makes these of the pods' labels (podTargetLabels of the PodMonitor).
DEPLOYMENT_LABEL, REPLICA_LABEL = "raygang_dev_deployment", "raygang_dev_replica"
_SOURCE = DataSourceRef(type_val="prometheus", uid="${datasource}")
_WIDTH, _HEIGHT = 12, 8  # of Grafana's 24 columns; in its units of 30 pixels


@dataclass(frozen=True)
class _Panel:
    title: str
    unit: str
    queries: tuple[tuple[str, str], ...]
    """Expression and legend; `$filter` stands for the deployment's label."""


def _rate(metric: str, by: str = REPLICA_LABEL) -> str:
    return f"sum by ({by}) (rate({metric}{{$filter}}[$__rate_interval]))"


def _quantiles(metric: str) -> tuple[tuple[str, str], ...]:
    inner = f"sum by (le) (rate({metric}_bucket{{$filter}}[$__rate_interval]))"
    return tuple((f"histogram_quantile({q / 100}, {inner})", f"p{q}") for q in (50, 95, 99))


# Ray 2.60 exports vLLM 0.32's own metrics as ray_vllm_*, its nodes' as ray_node_* and Serve's as ray_serve_*.
_PANELS = (
    _Panel("Time to first token", "s", _quantiles("ray_vllm_time_to_first_token_seconds")),
    _Panel("Time between tokens", "s", _quantiles("ray_vllm_inter_token_latency_seconds")),
    _Panel("Generated tokens per second", "short", ((_rate("ray_vllm_generation_tokens_total"), "replica {{%s}}"),)),
    _Panel("Prompt tokens per second", "short", ((_rate("ray_vllm_prompt_tokens_total"), "replica {{%s}}"),)),
    _Panel(
        "Requests in the engine",
        "short",
        (
            (f"sum by ({REPLICA_LABEL}) (ray_vllm_num_requests_running{{$filter}})", "running, replica {{%s}}"),
            (f"sum by ({REPLICA_LABEL}) (ray_vllm_num_requests_waiting{{$filter}})", "waiting, replica {{%s}}"),
        ),
    ),
    _Panel(
        "Failed HTTP requests per second",
        "reqps",
        ((_rate("ray_serve_num_http_error_requests_total", "error_code"), "{{error_code}}"),),
    ),
    _Panel(
        "KV cache in use",
        "percentunit",
        ((f"max by ({REPLICA_LABEL}) (ray_vllm_kv_cache_usage_perc{{$filter}})", "replica {{%s}}"),),
    ),
    _Panel("GPU utilization", "percent", (("ray_node_gpus_utilization{$filter}", "{{pod}} GPU {{GpuIndex}}"),)),
    _Panel("GPU memory", "decmbytes", (("ray_node_gram_used{$filter}", "{{pod}} GPU {{GpuIndex}}"),)),
    _Panel("Memory of the pods", "bytes", (("ray_node_mem_used{$filter}", "{{pod}}"),)),
    _Panel("Sent by the pods", "Bps", (("ray_node_network_send_speed{$filter}", "{{pod}}"),)),
    _Panel(
        "Ray nodes",
        "short",
        ((f"count by ({REPLICA_LABEL}) (ray_node_mem_total{{$filter}})", "replica {{%s}}"),),
    ),
)


def dashboard_json(plan: Plan) -> str:
    """The dashboard of a deployment, as Grafana 11 and later import it."""
    title = f"raygang {plan.spec.name}"
    builder = (
        dashboard.Dashboard(title)
        .uid(f"raygang-{plan.spec.name}"[:40])  # Grafana's limit
        .tags(["raygang", "ray", "vllm"])
        .refresh("30s")
        .time("now-1h", "now")
        .with_variable(dashboard.DatasourceVariable("datasource").label("Prometheus").type("prometheus"))
    )
    for panel in _PANELS:
        builder = builder.with_panel(_drawn(panel, f'{DEPLOYMENT_LABEL}="{plan.spec.name}"'))
    return json.dumps(json.loads(JSONEncoder(sort_keys=True).encode(builder.build())), indent=1) + "\n"


def _drawn(panel: _Panel, chosen: str) -> timeseries.Panel:
    drawn = timeseries.Panel().title(panel.title).unit(panel.unit).min(0).span(_WIDTH).height(_HEIGHT)
    drawn = drawn.datasource(_SOURCE)
    for letter, (expression, legend) in zip("ABCDEF", panel.queries, strict=False):
        shown = legend.replace("%s", REPLICA_LABEL)
        drawn = drawn.with_target(
            prometheus.Dataquery().ref_id(letter).expr(expression.replace("$filter", chosen)).legend_format(shown)
        )
    return drawn
