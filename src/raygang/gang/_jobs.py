"""RayJobs that use a cluster made elsewhere: KubeRay 1.5-1.7 hands them to its scheduler, which refuses them.

rayjob_controller.go:192 of v1.7.0 tries again for ever on what DoBatchSchedulingOnSubmission returns, and
volcano_scheduler.go:75 and scheduler_plugins.go:72 return an error.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from raygang.gang import _kuberay as kuberay
from raygang.gang import coscheduling, volcano
from raygang.gang.model import Cause, Context
from raygang.objects import Manifest, at, mapping


def refused_jobs(manifest: Manifest, context: Context) -> Iterator[Cause]:
    """The cause, where a manifest is such a RayJob."""
    if (manifest.group, manifest.kind) != ("ray.io", "RayJob") or kuberay.before(context, kuberay.COMMON_SINCE):
        return
    selector = mapping(at(manifest.data, "spec", "clusterSelector"))
    if not selector or isinstance(at(manifest.data, "spec", "rayClusterSpec"), Mapping):
        return
    named = context.scheduler is None and volcano.QUEUE in manifest.labels
    if named or context.scheduler in (volcano.NAME, coscheduling.NAME):
        name = {coscheduling.NAME: "scheduler-plugins"}.get(context.scheduler or "", "Volcano")
        why = f"KubeRay's integration of {name} refuses a RayJob with clusterSelector: this one never starts"
        advice = "give the RayJob a rayClusterSpec of its own"
        yield Cause("rayjob-unsupported", ("spec", "clusterSelector"), why, advice)
