"""What was measured, as lines of a name and a sentence; the same for all forms of a report."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

from raygang.fabric.view import words
from raygang.fabric.view.matrix import latencies
from raygang.runtime.fabric.report import Finding, Report


def numbers(report: Report) -> Iterator[tuple[str, str]]:
    """The slowest link by its ranks and nodes, latency, the all-reduce, what was demanded, and when it was."""
    slowest = report.slowest()
    if slowest is not None:
        yield "slowest link", f"{words.rate(slowest.bandwidth)} Gbit/s, {words.link(report, slowest)}"
    for kind, links in latencies(report):
        worst, median = links[-1], links[len(links) // 2]
        shown = f"{words.seconds(median.latency)} in the median, {words.seconds(worst.latency)} at most"
        yield f"latency {kind}", f"{shown} ({words.link(report, worst)})"
    together = report.all_reduce
    if together is not None:
        rate = f"{words.rate(together.bus_bandwidth)} Gbit/s of bus bandwidth"
        how = f"{words.size(together.size)} over {together.ranks} ranks in {words.seconds(together.seconds)}"
        yield "all-reduce", f"{rate}, {how}"
    yield "asked for", _asked(report)
    if report.started:
        when = datetime.fromtimestamp(report.started, UTC)
        yield "checked", f"{when:%Y-%m-%d %H:%M:%S} UTC, in {words.seconds(report.seconds)}"


def simulated(report: Report) -> str:
    """Which hardware the report is not of; empty where it is of all of it."""
    if not report.simulated:
        return ""
    numbers = "; its numbers say nothing about the network that is meant" if report.links else ""
    return f"simulated: {words.visible(report.simulated)}{numbers}"


def findings(report: Report) -> Iterator[tuple[Finding, str]]:
    """Failures first, each with its name; the first failure is what the others follow from."""
    first = report.failures[:1]
    for finding in (*report.failures, *(one for one in report.findings if one.severity != "failure")):
        yield finding, "first cause" if finding in first else finding.severity


def _asked(report: Report) -> str:
    expected = report.expected
    parts = [f"fabric {words.visible(expected.fabric)}", f"transport {expected.transport}"]
    if expected.interface:
        parts.append(f"interface {words.visible(expected.interface)}")
    if expected.hcas:
        parts.append(f"HCAs {words.visible(', '.join(expected.hcas))}")
    if expected.min_bandwidth:
        parts.append(f"at least {words.rate(expected.min_bandwidth)} Gbit/s between nodes")
    return ", ".join(parts)
