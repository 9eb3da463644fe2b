"""The gate in front of the engine: it starts only after the gang's network has been seen to do what was asked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from raygang.runtime.fabric import metrics, probe
from raygang.runtime.fabric.expected import Expected
from raygang.runtime.fabric.mailbox import Mailbox
from raygang.runtime.fabric.report import Report

if TYPE_CHECKING:
    from ray.util.placement_group import PlacementGroup

REPORTS = "reports"


class FabricError(RuntimeError):
    """The gang's network does not do what the specification asks for; the message is the report's sentence."""


def check(group: PlacementGroup, expected: Expected, replica: str) -> None:
    """Probe the network of a replica's gang, and keep the report where `reports` finds it.

    Raises:
        FabricError: the engine must not start.
    """
    report = probe.gang(group, expected)
    Mailbox(REPORTS).put(replica, report.model_dump(mode="json"))
    metrics.publish(report)
    if not report.passed:
        raise FabricError(report.sentence())


def reports() -> dict[str, Report]:
    """The latest report of each replica, by its number. The caller is connected to the cluster."""
    mail = Mailbox(REPORTS)
    return {replica: Report.model_validate(mail.get(replica)) for replica in mail.letters()}
