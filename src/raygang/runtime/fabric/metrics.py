"""The report as metrics: Ray 2.60 exports them on its node's metrics port, with `ray_` before each name."""

from __future__ import annotations

from dataclasses import dataclass

from raygang.runtime.fabric.report import Report

_BITS = 1e9


@dataclass(frozen=True)
class Sample:
    """A value of a gauge, with its labels."""

    name: str
    help: str
    value: float
    labels: dict[str, str]


def samples(report: Report) -> list[Sample]:
    """What Prometheus is told of a report; each pair of ranks by their numbers."""
    found = [Sample("raygang_fabric_passed", "Whether the network check passed", float(report.passed), {})]
    for finding in report.findings:
        labels = {"code": finding.code, "severity": finding.severity}
        found.append(Sample("raygang_fabric_finding", "What the network check found", 1.0, labels))
    for link in report.links:
        labels = {"source": str(link.source), "target": str(link.target)}
        if link.bandwidth is not None:
            name, text = "raygang_fabric_link_bandwidth_bits_per_second", "Bandwidth from rank to rank"
            found.append(Sample(name, text, link.bandwidth * _BITS, labels))
        if link.latency is not None:
            name, text = "raygang_fabric_link_latency_seconds", "Half a round trip between two ranks"
            found.append(Sample(name, text, link.latency, labels))
    if report.all_reduce:
        name, text = "raygang_fabric_all_reduce_bandwidth_bits_per_second", "Bus bandwidth of an all-reduce"
        found.append(Sample(name, text, report.all_reduce.bus_bandwidth * _BITS, {}))
    for rank in report.ranks:
        if rank.used and rank.used.transport:
            labels = {"rank": str(rank.rank), "transport": rank.used.transport}
            found.append(Sample("raygang_fabric_transport", "What a rank's collectives went over", 1.0, labels))
    return found


def publish(report: Report) -> None:
    """Set Ray's gauges, in a process of the cluster."""
    from ray.util.metrics import Gauge

    gauges: dict[str, Gauge] = {}
    for sample in samples(report):
        if sample.name not in gauges:
            gauges[sample.name] = Gauge(sample.name, sample.help, tuple(sample.labels))
        gauges[sample.name].set(sample.value, sample.labels)
