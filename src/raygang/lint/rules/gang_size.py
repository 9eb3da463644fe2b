"""GANG: how many pods the gang counts, against how many the model needs."""

from __future__ import annotations

from raygang.lint.model import Case, Found, Report, Rule
from raygang.lint.rules.gang_report import said
from raygang.lint.rules.gang_wanted import why_wanted


def _no_gang(case: Case) -> Report:
    reason = why_wanted(case.workload)
    for cause in case.verdict.causes:
        if cause.rule == "no-gang" and reason:
            yield Found(cause.path, f"{cause.why} ({reason})", cause.advice, severity=cause.severity)


_ELASTIC = "kind: RayCluster\nspec:\n  enableInTreeAutoscaling: true\n  workerGroupSpecs:\n  - minReplicas: {}\n"
_POD_GROUP = (
    "apiVersion: scheduling.k8s.io/v1beta1\nkind: PodGroup\nmetadata: {{name: llama}}\nspec:\n"
    "  schedulingPolicy: {{gang: {{minCount: {}}}}}\n---\nkind: RayCluster\nspec:\n"
    "  headGroupSpec: {{template: {{metadata: {{labels: {{raygang.dev/gang: llama}}}}}}}}\n"
    "  workerGroupSpecs: [{{template: {{metadata: {{labels: {{raygang.dev/gang: llama}}}}}}}}]\n"
)

RULES = (
    Rule(
        code="GANG011",
        name="replicas-outside-range",
        severity="warning",
        title="replicas outside minReplicas and maxReplicas",
        because="the number of pods, the gang's minimum and the resources that are reserved for it do not agree",
        why="KubeRay makes as many pods as minReplicas and maxReplicas allow, and so counts the gang's minMember; its "
        "minResources it sums over `replicas` as written. KAI refuses replicas below minReplicas, and Kueue reserves "
        "quota for `replicas` as written.",
        write="replicas between minReplicas and maxReplicas",
        since="KubeRay 1.4-1.7, KAI 0.10-0.14, Kueue 0.17-0.20",
        source="KubeRay v1.7.0 controllers/ray/utils/util.go:389-407 and 479-492",
        bad="kind: RayCluster\nspec:\n  workerGroupSpecs:\n  - replicas: 1\n",
        good="kind: RayCluster\nspec:\n  workerGroupSpecs:\n  - replicas: 2\n",
        check=said("replicas-outside-range"),
    ),
    Rule(
        code="GANG012",
        name="gang-min-zero",
        severity="error",
        title="the gang counts none of a group's pods",
        because="the gang starts without them, or there is no gang at all",
        why="With Ray's autoscaler Volcano's minimum is counted from minReplicas, and with YuniKorn always; the CRD's "
        "default is 0. YuniKorn refuses a task group with minMember 0, and with it all task groups of the cluster.",
        write="minReplicas: as many as one replica of the model needs",
        since="KubeRay 1.4-1.7, YuniKorn 1.5-1.9",
        source="KubeRay v1.7.0 volcano_scheduler.go:200-207, yunikorn_task_groups.go:55-67; yunikorn-k8shim "
        "pkg/cache/utils.go:55",
        bad=_ELASTIC.format(0),
        good=_ELASTIC.format(2),
        check=said("gang-min-zero"),
    ),
    Rule(
        code="GANG026",
        name="no-gang",
        severity="warning",
        title="several pods that need each other, and no gang",
        because="where not all of them fit, those that run hold their GPUs for nothing, and two such workloads can "
        "block each other for ever",
        why="An engine with more ranks than one pod has accelerators starts only when all of its pods run. The default "
        "scheduler places pods one by one: half a model's pods may hold half the cluster while the other half waits "
        "for it. A gang scheduler starts all or none.",
        write="a gang scheduler: `scheduler` in raygang's specification, or the labels of the one that the cluster has",
        since="always",
        source="seen with KubeRay 1.5.0: two clusters of 6 pods on 8 GPUs, 6 and 4 pods ran, 3 GPUs held for nothing",
        bad="kind: RayService\nmetadata:\n  labels: {team: search}\n",
        good="kind: RayService\nmetadata:\n  labels: {volcano.sh/queue-name: gpus}\n",
        check=_no_gang,
    ),
    Rule(
        code="GANG027",
        name="gang-min-below-replicas",
        severity="error",
        title="the gang counts only some of a group's pods",
        because="half a gang may start, and hold its GPUs while the rest waits",
        why="With Ray's autoscaler Volcano's and KAI's minimum is counted from minReplicas, with YuniKorn always, and "
        "with KAI where it is above zero. KubeRay 1.4 leaves numOfHosts out with YuniKorn and scheduler-plugins.",
        write="minReplicas equal to replicas",
        since="KubeRay 1.4-1.7, KAI 0.10-0.14",
        source="KubeRay v1.7.0 volcano_scheduler.go:200-207, yunikorn_task_groups.go:55-67; KAI ray_grouper.go:181-240",
        bad=_ELASTIC.format(1),
        good=_ELASTIC.format(2),
        check=said("gang-min-below-replicas"),
    ),
    Rule(
        code="GANG028",
        name="podgroup-minimum",
        severity="error",
        title="the PodGroup's minimum is not the number of pods",
        because="half a gang may start, or the gang never forms",
        why="The head is one of the pods: a cluster with two workers has three. A minimum below their number lets some "
        "start alone, one above it is never reached.",
        write="the number of all pods, the head included",
        since="Kubernetes 1.36-1.37, Volcano 1.11-1.16, scheduler-plugins 0.28-0.35",
        source="KubeRay v1.7.0 controllers/ray/utils/util.go:389-417",
        bad=_POD_GROUP.format(2),
        good=_POD_GROUP.format(3),
        check=said("podgroup-minimum"),
    ),
    Rule(
        code="GANG039",
        name="suspended-group-counted",
        severity="error",
        title="a suspended group that the gang counts",
        because="the gang waits for places, or for pods, that nobody needs",
        why="KubeRay makes no pods of a group with `suspend: true`. Its integration of YuniKorn counts minReplicas all "
        "the same, KAI looks for a field of another name, and Kueue reserves quota for `replicas` as written.",
        write="remove the group, or set its replicas and minReplicas to 0",
        since="KubeRay 1.4-1.7, KAI 0.10-0.14, Kueue 0.17-0.20",
        source="KubeRay v1.7.0 yunikorn_task_groups.go:55-67; KAI ray_grouper.go (suspended)",
        bad="kind: RayCluster\nmetadata:\n  labels: {kueue.x-k8s.io/queue-name: gpus}\n"
        "spec:\n  workerGroupSpecs:\n  - suspend: true\n",
        good="kind: RayCluster\nmetadata:\n  labels: {kueue.x-k8s.io/queue-name: gpus}\n",
        check=said("suspended-group-counted"),
    ),
)
