"""JOB: RayJobs that KubeRay refuses, and those that never give their GPUs back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from raygang.gang import Context
from raygang.lint.model import CheckManifest, Found, Report, Rule
from raygang.objects import Bundle, Manifest, at, count, mapping, sequence

_SELECTOR = "ray.io/cluster"


def _of_jobs(report: CheckManifest) -> CheckManifest:
    def check(manifest: Manifest, bundle: Bundle, context: Context) -> Report:
        if manifest.group == "ray.io" and manifest.kind == "RayJob":
            yield from report(manifest, bundle, context)

    return check


def _cluster(manifest: Manifest, bundle: Bundle, context: Context) -> Report:
    spec = mapping(manifest.data.get("spec"))
    selector = mapping(spec.get("clusterSelector"))
    if not selector and not mapping(spec.get("rayClusterSpec")):
        yield Found(("spec",), "the RayJob has neither rayClusterSpec nor clusterSelector", "write one of them")
    if not selector:
        return
    path = ("spec", "clusterSelector")
    if not selector.get(_SELECTOR):
        yield Found(path, f"clusterSelector has no {_SELECTOR}", f"write {_SELECTOR}: and the cluster's name")
    if spec.get("rayClusterSpec"):
        yield Found(path, "clusterSelector stands beside rayClusterSpec, which is not used", severity="warning")
    if spec.get("suspend") is True:
        yield Found(("spec", "suspend"), "a RayJob with clusterSelector cannot be suspended", "remove suspend")
    if spec.get("submissionMode") == "SidecarMode":
        write = "write submissionMode: K8sJobMode or HTTPMode"
        yield Found(("spec", "submissionMode"), "SidecarMode needs a cluster of its own", write)
    if count(spec.get("backoffLimit"), 0) > 0:
        yield Found(("spec", "backoffLimit"), "backoffLimit cannot be with clusterSelector", "remove backoffLimit")


def _ending(manifest: Manifest, bundle: Bundle, context: Context) -> Report:
    spec = mapping(manifest.data.get("spec"))
    shuts = spec.get("shutdownAfterJobFinishes") is True
    if spec.get("suspend") is True and not shuts:
        yield Found(("spec", "suspend"), "a RayJob can be suspended only with shutdownAfterJobFinishes: true")
    if count(spec.get("ttlSecondsAfterFinished"), 0) > 0 and not shuts:
        what = "ttlSecondsAfterFinished needs shutdownAfterJobFinishes: true"
        yield Found(("spec", "ttlSecondsAfterFinished"), what)
    for name in ("ttlSecondsAfterFinished", "backoffLimit"):
        if count(spec.get(name), 0) < 0:
            yield Found(("spec", name), f"{name} is {spec[name]}", "write 0 or more")
    for name in ("activeDeadlineSeconds", "preRunningDeadlineSeconds"):
        if count(spec.get(name), 1) <= 0:
            yield Found(("spec", name), f"{name} is {spec[name]}", "write 1 or more")
    if shuts and sequence(at(spec, "deletionStrategy", "deletionRules")):
        what = "deletionRules and shutdownAfterJobFinishes are both there"
        yield Found(("spec", "shutdownAfterJobFinishes"), what, "keep deletionRules", key=True)


def _own_submitter(spec: Mapping[str, Any]) -> bool:
    """Whether the submitter pod brings a command of its own, which KubeRay then leaves as it is."""
    first = at(spec, "submitterPodTemplate", "spec", "containers", 0)
    return bool(mapping(first).get("command"))


def _submission(manifest: Manifest, bundle: Bundle, context: Context) -> Report:
    spec = mapping(manifest.data.get("spec"))
    mode = spec.get("submissionMode")
    if mode == "InteractiveMode" and count(spec.get("backoffLimit"), 0) > 0:
        yield Found(("spec", "backoffLimit"), "backoffLimit cannot be with InteractiveMode", "remove backoffLimit")
    if mode == "SidecarMode":
        for name in ("submitterPodTemplate", "submitterConfig"):
            if spec.get(name):
                yield Found(("spec", name), f"SidecarMode has no submitter pod: {name} cannot be", f"remove {name}")
        path = ("rayClusterSpec", "headGroupSpec", "template", "spec", "restartPolicy")
        policy = at(spec, *path)
        if policy not in (None, "", "Never"):
            what = f"restartPolicy of the head is {policy}, and SidecarMode needs Never"
            yield Found(("spec", *path), what, "remove it, or write Never")
    elif mode != "InteractiveMode" and not spec.get("entrypoint") and not _own_submitter(spec):
        yield Found(("spec",), "the RayJob has no entrypoint", "write entrypoint: the command to run")


def _kept(manifest: Manifest, bundle: Bundle, context: Context) -> Report:
    spec = mapping(manifest.data.get("spec"))
    own = mapping(spec.get("rayClusterSpec")) and not spec.get("clusterSelector")
    if own and spec.get("shutdownAfterJobFinishes") is not True and not spec.get("deletionStrategy"):
        yield Found(("spec",), "the RayJob keeps its cluster when the job is over", key=True)


_REFUSED = "KubeRay refuses the RayJob: it makes no cluster"
_VALIDATION = "KubeRay 1.6 ray-operator/controllers/ray/utils/validation.go"
_JOB = "kind: RayJob\nspec:\n"

RULES = (
    Rule(
        code="JOB001",
        name="job-cluster",
        severity="error",
        title="a RayJob whose cluster is not clear",
        because=_REFUSED,
        why="A RayJob makes a cluster of its own from rayClusterSpec, or uses one by clusterSelector, and "
        "then cannot suspend, retry or run beside the head.",
        write="write rayClusterSpec, or clusterSelector alone",
        since="KubeRay 1.4-1.7",
        source=_VALIDATION + ":301-325",
        bad=_JOB + "  rayClusterSpec: null\n",
        good=_JOB + "  rayClusterSpec: null\n  backoffLimit: null\n  clusterSelector: {ray.io/cluster: llama}\n",
        check_manifest=_of_jobs(_cluster),
    ),
    Rule(
        code="JOB002",
        name="job-ending",
        severity="error",
        title="times and ends of a RayJob that contradict each other",
        because=_REFUSED,
        why="Suspending deletes the cluster, and so does the time to live: both need shutdownAfterJobFinishes. "
        "deletionRules replace it.",
        write="write shutdownAfterJobFinishes: true",
        since="KubeRay 1.4-1.7",
        source=_VALIDATION + ":289-300,360-374,493-516",
        bad=_JOB + "  shutdownAfterJobFinishes: false\n",
        good=_JOB + "  shutdownAfterJobFinishes: true\n",
        check_manifest=_of_jobs(_ending),
    ),
    Rule(
        code="JOB003",
        name="job-submission",
        severity="error",
        title="fields that the way of submission does not have",
        because=_REFUSED,
        why="In SidecarMode the submitter is a container of the head's pod; in InteractiveMode a person submits.",
        write="remove the field, or use another submissionMode",
        since="KubeRay 1.4-1.7",
        source=_VALIDATION + ":327-352",
        bad=_JOB + "  submissionMode: InteractiveMode\n  backoffLimit: 2\n",
        good=_JOB + "  submissionMode: InteractiveMode\n",
        check_manifest=_of_jobs(_submission),
    ),
    Rule(
        code="JOB004",
        name="job-keeps-cluster",
        severity="info",
        title="a RayJob keeps its cluster when the job is over",
        because="its pods hold their GPUs until somebody deletes the RayJob",
        why="shutdownAfterJobFinishes is false by default, for looking at logs.",
        write="write shutdownAfterJobFinishes: true and ttlSecondsAfterFinished",
        since="KubeRay 1.4-1.7",
        source="KubeRay 1.6 ray-operator/apis/ray/v1/rayjob_types.go",
        bad=_JOB + "  shutdownAfterJobFinishes: null\n  ttlSecondsAfterFinished: null\n",
        good=_JOB + "  shutdownAfterJobFinishes: true\n",
        check_manifest=_of_jobs(_kept),
    ),
)
