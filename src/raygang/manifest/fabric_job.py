"""The network check alone: a RayJob with the very pods of a deployment, without model and engine.

KubeRay 1.5-1.7, rayjob_controller.go: K8sJobMode submits from a pod of its own once all pods are ready, and that pod's
log outlives the cluster; HTTPMode submits from the operator, and the log is in the head's pod. SidecarMode submits as
soon as the head is up, before the workers have joined. KAI refuses K8sJobMode, coscheduling every RayJob
(gang/_jobs.py, kai.py, coscheduling.py): whether the gang forms is asked there.

The entrypoint is read by two shells, with subprocess.list2cmdline between them (Ray 2.60, dashboard/modules/job/
cli.py). It puts quotes around an argument with a space in it, and JSON has one after each comma and colon.
"""

from __future__ import annotations

import json
import shlex
from dataclasses import replace
from typing import Any

from raygang.fabric import prove
from raygang.gang import Context, Request, effective, request
from raygang.manifest import names, pods, rayservice
from raygang.manifest.emit import to_yaml
from raygang.manifest.model import Rendered
from raygang.manifest.model_source import ModelMount
from raygang.manifest.noted import Noted, split
from raygang.manifest.render import render
from raygang.manifest.runtime import archive, config_map_name
from raygang.manifest.submitter import submitter
from raygang.objects import Version, ray_workloads
from raygang.plan import Plan
from raygang.spec import ModelSource, ModelSpec

MODES = ("K8sJobMode", "HTTPMode")
SUFFIX = "-net"  # of the name: an installation of its own, beside that of the model
READ_S = 600  # HTTPMode: the report goes with the head's pod
_NO_MODEL = ModelMount("", {"name": "model"}, {"name": "model"}, (), {})
_SERVING = ("RayService", "Service")
_REFUSED = "rayjob-unsupported"


def fabric_job(plan: Plan) -> Rendered:
    """The objects of a check on nodes that serve nothing yet: the RayJob, and what its pods need.

    Raises:
        SpecError: the specification lacks what Kubernetes needs, or its scheduler takes no RayJob.
    """
    check = _check_of(plan)
    base = render(check)
    kept = [(o, n) for o, n in zip(base.objects, base.comments, strict=True) if o["kind"] not in _SERVING]
    refused: str | None = None
    for mode in MODES:
        found = [*kept, split(_ray_job(check, mode))]
        rendered = Rendered(tuple(o for o, _ in found), tuple(n for _, n in found), _needs(check, base.needs))
        refused = _refused(check, rendered)
        if refused is None:
            return rendered
    raise plan.spec.problem(
        "scheduler.type",
        refused or "takes no RayJob",
        suggestion="deploy with fabric.probe: each start makes the same check before the engine is there",
    )


def how_to_read(plan: Plan, rendered: Rendered) -> str:
    """The command that shows the report of a check."""
    job = next(obj for obj in rendered.objects if obj["kind"] == "RayJob")
    name = job["metadata"]["name"]
    return _reader(name, str(job["spec"]["submissionMode"]), _check_of(plan).spec.name)


def _reader(name: str, mode: str, deployment: str) -> str:
    if mode == MODES[0]:
        return f"kubectl logs job/{name} | raygang fabric show -"
    head = f"kubectl get pod -o name -l ray.io/node-type=head,{names.DEPLOYMENT}={deployment}"
    logs = "cat /tmp/ray/session_latest/logs/job-driver-*"
    return f"kubectl exec $({head}) -c ray-head -- sh -c '{logs}' | raygang fabric show -"


def _check_of(plan: Plan) -> Plan:
    """The plan of one gang, under another name, whose model nobody needs."""
    spec = plan.spec
    kubernetes = spec.kubernetes.model_copy(update={"monitoring": False, "model_claim": None})
    own = {"name": spec.name + SUFFIX, "replicas": 1, "kubernetes": kubernetes}
    model = ModelSpec(source=ModelSource.parse("hf:no/model"))
    return replace(plan, spec=spec.model_copy(update={**own, "model": model}))


def _ray_job(plan: Plan, mode: str) -> dict[str, Any]:
    gang, spec = plan.gangs[0], plan.spec
    asked = request(plan, gang)
    metadata = names.metadata(plan, gang.name, **{names.REPLICA: "0"})
    metadata["labels"] |= pods.entries(asked.labels)
    annotations = {**metadata.pop("annotations", {}), **pods.entries(asked.annotations)}
    if annotations:
        metadata["annotations"] = annotations
    deadline = int(spec.limits.admission_timeout + spec.limits.start_timeout)
    submitted = mode == MODES[0]
    body = {
        "entrypoint": Noted(_entrypoint(plan), f"read its report: {_reader(gang.name, mode, spec.name)}"),
        "submissionMode": Noted(
            mode, "once all pods are ready, from a pod of its own" if submitted else "KAI takes no submitter's pod"
        ),
        **({"submitterPodTemplate": submitter(plan, asked)} if submitted else {}),
        "shutdownAfterJobFinishes": True,
        "ttlSecondsAfterFinished": Noted(
            0 if submitted else READ_S,
            "GPUs go back at once: the report stays in the submitter's log"
            if submitted
            else "to read the report in the head's pod",
        ),
        "activeDeadlineSeconds": Noted(deadline, "the wait for the gang's turn counts as well"),
        "backoffLimit": 0,
        "rayClusterSpec": _cluster(plan, asked),
    }
    return {"apiVersion": "ray.io/v1", "kind": "RayJob", "metadata": metadata, "spec": body}


def _entrypoint(plan: Plan) -> str:
    expected = json.dumps(prove(plan.spec).model_dump(mode="json", exclude_defaults=True))
    shape = f"--nodes {len(plan.nodes)} --ranks {plan.world_size}"
    return f"python3 -m raygang.runtime.fabric {shape} --expected {shlex.quote(expected)}"


def _cluster(plan: Plan, asked: Request) -> dict[str, Any]:
    """The cluster of the deployment's RayService, without the volume of its model."""
    name = config_map_name(plan, archive())
    service = rayservice.ray_service(plan, 0, asked, name, _NO_MODEL, to_yaml)
    cluster: dict[str, Any] = service["spec"]["rayClusterConfig"].value
    for group in cluster["workerGroupSpecs"]:
        pod = group["template"]["spec"]
        pod["volumes"].remove(_NO_MODEL.volume)
        pod["containers"][0]["volumeMounts"].remove(_NO_MODEL.mount)
    return cluster


def _refused(plan: Plan, rendered: Rendered) -> str | None:
    """Why the scheduler's integration would not take the RayJob."""
    there, scheduler = plan.spec.kubernetes, plan.spec.scheduler.type
    context = Context(
        scheduler=scheduler,
        kuberay=Version.parse(there.kuberay_version) if there.kuberay_version else None,
        kubernetes=Version.parse(there.version) if there.version else None,
    )
    (workload,) = ray_workloads(rendered.bundle)
    causes = effective(workload, rendered.bundle, context).causes
    return next((cause.why for cause in causes if cause.rule == _REFUSED), None)


def _needs(plan: Plan, found: tuple[str, ...]) -> tuple[str, ...]:
    """Those of the deployment, with Kueue's integration of this kind instead of the other."""
    told = tuple(need.replace("ray.io/rayservice", "ray.io/rayjob") for need in found)
    if plan.spec.scheduler.type == "kai" and plan.spec.kubernetes.kuberay_version is None:
        return ("KubeRay 1.6 or later: 1.5 refuses every RayJob together with KAI", *told)
    return told
