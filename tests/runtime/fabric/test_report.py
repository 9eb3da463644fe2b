"""Reports and their metrics."""

from __future__ import annotations

from raygang.runtime.fabric.metrics import samples
from raygang.runtime.fabric.report import AllReduce, Finding, Link, Report
from tests.runtime.fabric.pods import IB, rank, used

SLOW = Finding(code="slow-link", severity="warning", what="slow")
BAD = Finding(code="transport", what="the ranks used Socket", do="look")
LINKS = (
    Link(source=0, target=1, same_node=True, bandwidth=900.0, latency=1e-5),
    Link(source=0, target=2, bandwidth=40.5, latency=2e-5),
    Link(source=2, target=0, bandwidth=41.0, latency=2e-5),
)
TOTAL = AllReduce(ranks=3, size=1, seconds=1, bus_bandwidth=50)
GOOD = Report(expected=IB, ranks=tuple(rank(n, used=used()) for n in range(3)), links=LINKS, all_reduce=TOTAL)


def test_a_report_survives_json() -> None:
    assert Report.model_validate_json(GOOD.model_dump_json()) == GOOD


def test_warnings_let_the_engine_start_and_failures_do_not() -> None:
    assert GOOD.model_copy(update={"findings": (SLOW,)}).passed
    failed = GOOD.model_copy(update={"findings": (SLOW, BAD)})
    assert not failed.passed
    assert failed.sentence() == "the network check failed: the ranks used Socket; look"


def test_the_slowest_link_is_one_between_nodes() -> None:
    assert GOOD.slowest() == LINKS[1]
    assert GOOD.sentence() == "the network check passed: 3 ranks over IB, the slowest link 40.5 Gbit/s"
    assert Report(links=LINKS[:1]).slowest() == LINKS[0]
    assert Report().slowest() is None


def test_prometheus_is_told_of_links_transport_findings_and_verdict() -> None:
    found = {(s.name, *s.labels.values()): s.value for s in samples(GOOD.model_copy(update={"findings": (SLOW,)}))}
    assert found["raygang_fabric_passed",] == 1
    assert found["raygang_fabric_link_bandwidth_bits_per_second", "0", "2"] == 40.5e9
    assert found["raygang_fabric_link_latency_seconds", "0", "1"] == 1e-5
    assert found["raygang_fabric_all_reduce_bandwidth_bits_per_second",] == 50e9
    assert found["raygang_fabric_finding", "slow-link", "warning"] == 1
    assert found["raygang_fabric_transport", "1", "IB"] == 1


def test_a_metric_has_the_same_labels_in_all_its_samples() -> None:
    by_name: dict[str, set[tuple[str, ...]]] = {}
    for sample in samples(GOOD.model_copy(update={"findings": (SLOW, BAD)})):
        by_name.setdefault(sample.name, set()).add(tuple(sample.labels))
    assert all(len(labels) == 1 for labels in by_name.values())
