"""GANG: what YuniKorn wants of a manifest."""

from __future__ import annotations

from raygang.lint.model import Rule
from raygang.lint.rules.gang_report import said


def _object(labels: str, rest: str = "", kind: str = "RayCluster") -> str:
    return f"kind: {kind}\nmetadata:\n  labels: {{{labels}}}\n{rest}"


_OPT_IN = 'ray.io/gang-scheduling-enabled: "true"'
_YUNIKORN = f"{_OPT_IN}, yunikorn.apache.org/app-id: llama"
_STYLE = (
    "{metadata: {annotations: {yunikorn.apache.org/schedulingPolicyParameters: "
    '"placeholderTimeoutInSeconds=600 gangSchedulingStyle=Hard"}}}'
)
_HARD = f"spec:\n  headGroupSpec: {{template: {_STYLE}}}\n  workerGroupSpecs: [{{template: {_STYLE}}}]\n"
_TASK_GROUPS = (
    "  annotations: {{yunikorn.apache.org/task-groups: '[{{\"name\": \"headgroup\", \"minMember\": 1, "
    "\"minResource\": {{\"cpu\": 8}}}}, {{\"name\": \"gpus\", \"minMember\": {}, \"minResource\": "
    "{{\"nvidia.com/gpu\": 8}}}}]'}}\n"
)  # fmt: skip

RULES = (
    Rule(
        code="GANG013",
        name="yunikorn-soft",
        severity="warning",
        title="a gang in YuniKorn's style Soft",
        because="after the placeholders' time-out half a gang starts, and holds its GPUs while the rest waits",
        why="YuniKorn reserves a gang with placeholder pods. When not all have a place in time, the default style, "
        "Soft, gives up the gang and schedules the pods one by one. KubeRay does not know the style: it has to be on "
        "every pod template.",
        write="the annotation yunikorn.apache.org/schedulingPolicyParameters with gangSchedulingStyle=Hard",
        since="YuniKorn 1.5-1.9",
        source="yunikorn-k8shim pkg/cache/application.go:505-515; YuniKorn's guide gang_scheduling",
        bad=_object(_YUNIKORN),
        good=_object(_YUNIKORN, _HARD),
        check=said("yunikorn-soft"),
    ),
    Rule(
        code="GANG014",
        name="yunikorn-appid-reuse",
        severity="warning",
        title="an upgrade with the same YuniKorn application",
        because="the new cluster of an upgrade gets no gang",
        why="KubeRay copies the labels of a RayService to each cluster that it makes. Both then belong to the same "
        "application, and YuniKorn makes placeholders once for an application.",
        write="upgradeStrategy.type: None, or another app-id with each version",
        since="KubeRay 1.4-1.7",
        source="KubeRay v1.7.0 yunikorn_scheduler.go:119, rayservice_controller.go:1504-1530",
        bad=_object(_YUNIKORN, "spec: {upgradeStrategy: {type: NewCluster}}\n", "RayService"),
        good=_object(_YUNIKORN, "spec: {upgradeStrategy: {type: None}}\n", "RayService"),
        check=said("yunikorn-appid-reuse"),
    ),
    Rule(
        code="GANG043",
        name="yunikorn-task-groups",
        severity="error",
        title="task groups that YuniKorn refuses",
        because="there is no gang: the pods are scheduled one by one",
        why="KubeRay keeps task groups that stand on the Ray object. YuniKorn refuses all of them when one has no "
        "name, no minResource or a minMember of 0, and pods of a group that is not among them are no part of the gang.",
        write="one task group for headgroup and each worker group, or none: KubeRay writes them itself",
        since="KubeRay 1.5-1.7, YuniKorn 1.5-1.9",
        source="yunikorn-k8shim pkg/cache/utils.go:33-68",
        bad=_object(_YUNIKORN, _TASK_GROUPS.format(0)),
        good=_object(_YUNIKORN, _TASK_GROUPS.format(2)),
        check=said("yunikorn-task-groups"),
    ),
    Rule(
        code="GANG044",
        name="yunikorn-app-id-missing",
        severity="error",
        title="a gang for YuniKorn without an application id",
        because="it shares one application, and its gang, with all other pods of the namespace",
        why="Pods without an id get that of their namespace from YuniKorn's admission controller. The gang of an "
        "application is that of its first pod.",
        write="the label yunikorn.apache.org/app-id, another for each cluster",
        since="YuniKorn 1.5-1.9",
        source="yunikorn-k8shim pkg/common/utils/utils.go:141-200",
        bad=_object(f"{_OPT_IN}, yunikorn.apache.org/queue: root.gpus"),
        good=_object(f"{_YUNIKORN}, yunikorn.apache.org/queue: root.gpus"),
        check=said("yunikorn-app-id-missing"),
    ),
    Rule(
        code="GANG045",
        name="yunikorn-autoscaler-head",
        severity="warning",
        title="the head's placeholder is smaller than the head",
        because="the head may stay pending, and with it the cluster",
        why="KubeRay sizes the task group by the head's template. With the autoscaler the head gets another container, "
        "of 500m and 512Mi, and does not fit into its placeholder.",
        write="switch the autoscaler off, or write task groups with as much more for headgroup",
        since="KubeRay 1.4-1.7 (kuberay#3895)",
        source="KubeRay v1.7.0 yunikorn_task_groups.go:36-52",
        bad=_object(_YUNIKORN, "spec: {enableInTreeAutoscaling: true}\n"),
        good=_object(_YUNIKORN),
        check=said("yunikorn-autoscaler-head"),
    ),
)
