"""GANG: what Volcano, KAI and coscheduling want of a manifest."""

from __future__ import annotations

from raygang.gang import Context, informed, refused_jobs
from raygang.lint.model import Report, Rule
from raygang.lint.rules.gang_report import of_manifest, said
from raygang.objects import Bundle, Manifest


def _refused_jobs(manifest: Manifest, bundle: Bundle, context: Context) -> Report:
    yield from of_manifest("rayjob-unsupported", refused_jobs(manifest, informed(context, bundle)))


def _object(labels: str, rest: str = "", kind: str = "RayCluster") -> str:
    return f"kind: {kind}\nmetadata:\n  labels: {{{labels}}}\n{rest}"


_OPT_IN = 'ray.io/gang-scheduling-enabled: "true"'
_TIER = "volcano.sh/network-topology-highest-tier-allowed"
_MODE = "volcano.sh/network-topology-mode: hard"
_KAI = "kai.scheduler/queue: team"
_NAMED = "{spec: {schedulerName: kai-scheduler}}"
_BOTH_NAMED = f"spec:\n  headGroupSpec: {{template: {_NAMED}}}\n  workerGroupSpecs: [{{template: {_NAMED}}}]\n"
_PLACED = "spec:\n  workerGroupSpecs: [{template: {metadata: {annotations: {%s}}}}]\n"
_REQUIRED = "kai.scheduler/topology-required-placement: rack"
_OPERATOR = (
    "---\napiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: kuberay-operator}}\nspec:\n  template:\n    spec:\n"
    "      containers:\n      - image: quay.io/kuberay/operator:{}\n        args: [--batch-scheduler=volcano]\n"
)

RULES = (
    Rule(
        code="GANG015",
        name="coscheduling-static",
        severity="warning",
        title="a PodGroup that is never updated, and an autoscaler",
        because="after the autoscaler has removed a pod, a lost pod never comes back",
        why="KubeRay makes the PodGroup for scheduler-plugins once and leaves it: its minMember is the number of pods "
        "at that time. With fewer pods it cannot be met, and with more the new ones are no gang.",
        write="enableInTreeAutoscaling: false",
        since="KubeRay 1.4-1.7 (kuberay#5205)",
        source="KubeRay v1.7.0 scheduler_plugins.go:48-51 and 81-92",
        bad=_object(_OPT_IN, "spec: {enableInTreeAutoscaling: true}\n"),
        good=_object(_OPT_IN),
        check=said("coscheduling-static"),
    ),
    Rule(
        code="GANG016",
        name="rayjob-unsupported",
        severity="error",
        title="a RayJob that KubeRay's integration refuses",
        because="the RayJob never leaves Initializing; only the operator's log says why",
        why="The integration of scheduler-plugins takes RayClusters only. That of KAI refuses every RayJob in KubeRay "
        "1.5, and since 1.6 those in K8sJobMode, the default. That of Volcano refuses a RayJob with clusterSelector.",
        write="a RayCluster, another submissionMode, or another scheduler",
        since="KubeRay 1.5-1.7",
        source="KubeRay v1.7.0 scheduler_plugins.go:72-75, kai_scheduler.go:38-50, volcano_scheduler.go:74-76",
        bad=_object(_OPT_IN, kind="RayJob"),
        good=_object("volcano.sh/queue-name: gpus", kind="RayJob"),
        check=said("rayjob-unsupported"),
        check_manifest=_refused_jobs,
    ),
    Rule(
        code="GANG017",
        name="kai-queue-missing",
        severity="warning",
        title="no queue for KAI",
        because="the gang goes to KAI's default-queue, and waits for ever where there is none",
        why="KAI takes the queue from the label `kai.scheduler/queue` of the Ray object or its pods, else "
        "default-queue, which its Helm chart makes at the first installation unless told otherwise "
        "(defaultQueue.createDefaultQueue).",
        write="the label kai.scheduler/queue",
        since="KAI 0.10-0.14",
        source="KAI pkg/podgrouper/podgrouper/plugins/defaultgrouper/default_grouper.go:134-146",
        bad="kind: RayCluster\n" + _BOTH_NAMED,
        good=_object(_KAI, _BOTH_NAMED),
        check=said("kai-queue-missing"),
    ),
    Rule(
        code="GANG018",
        name="kai-train-priority",
        severity="warning",
        title="serving with KAI's priority for training",
        because="other workloads may take the GPUs of a model that serves",
        why="KAI gives Ray workloads the priority class `train`, which is below 100 and therefore preemptible.",
        write="the label ray.io/priority-class-name: inference",
        since="KAI 0.10-0.14",
        source="KAI docs/priority/README.md, ray_grouper.go:86-90",
        bad=_object(_KAI, kind="RayService"),
        good=_object(f"{_KAI}, ray.io/priority-class-name: inference", kind="RayService"),
        check=said("kai-train-priority"),
    ),
    Rule(
        code="GANG024",
        name="tier-label",
        severity="error",
        title="a highest tier for Volcano that does not work",
        because="KubeRay fails to make the PodGroup, or the topology is ignored",
        why="KubeRay turns the tier's label into a number and fails when it is none; it looks at it only when the "
        "mode's label is there as well.",
        write=f'{_TIER}: "1" together with {_MODE}',
        since="KubeRay 1.5-1.7",
        source="KubeRay v1.7.0 volcano_scheduler.go:238-251",
        bad=_object(f"{_TIER}: rack, {_MODE}"),
        good=_object(f'{_TIER}: "1", {_MODE}'),
        check=said("tier-label"),
    ),
    Rule(
        code="GANG025",
        name="volcano-min-member-annotation",
        severity="warning",
        title="an annotation that Volcano does not read here",
        because="it does nothing",
        why="Volcano reads `scheduling.volcano.sh/group-min-member` from owners of kind ReplicaSet, DaemonSet, "
        "StatefulSet and Job. The pods' owner is a RayCluster.",
        write="nothing: with --batch-scheduler=volcano KubeRay sets minMember",
        since="Volcano 1.11-1.16",
        source="Volcano v1.14.1 pkg/controllers/podgroup/pg_controller_handler.go:222-288",
        bad='kind: RayCluster\nmetadata:\n  annotations: {scheduling.volcano.sh/group-min-member: "3"}\n',
        good=_object("volcano.sh/queue-name: gpus"),
        check=said("volcano-min-member-annotation"),
    ),
    Rule(
        code="GANG036",
        name="kai-topology-level",
        severity="warning",
        title="KAI's topology on the Ray object",
        because="it does nothing: the pods are spread over domains",
        why="For Ray, KAI reads topology annotations from the metadata of pod templates.",
        write="the annotations in template.metadata.annotations of each group",
        since="KAI 0.13-0.14",
        source="KAI pkg/podgrouper/podgrouper/plugins/ray/ray_grouper.go (getTemplateTopologyConstraints)",
        bad=_object(_KAI, f"  annotations: {{kai.scheduler/topology: dc, {_REQUIRED}}}\n"),
        good=_object(_KAI, _PLACED % f"kai.scheduler/topology: dc, {_REQUIRED}"),
        check=said("kai-topology-level"),
    ),
    Rule(
        code="GANG037",
        name="kai-topology-missing",
        severity="error",
        title="a placement for KAI without a topology",
        because="KAI's pod grouper fails, and the pods wait for ever",
        why="A placement names a level of a Topology object; without the object's name it is an error.",
        write="the annotation kai.scheduler/topology beside it",
        since="KAI 0.13-0.14",
        source="KAI pkg/podgrouper/podgrouper/plugins/ray/ray_grouper.go (getTemplateTopologyConstraints)",
        bad=_object(_KAI, _PLACED % _REQUIRED),
        good=_object(_KAI, _PLACED % f"kai.scheduler/topology: dc, {_REQUIRED}"),
        check=said("kai-topology-missing"),
    ),
    Rule(
        code="GANG038",
        name="kai-incremental-upgrade",
        severity="warning",
        title="an incremental upgrade under KAI",
        because="the pods of the new cluster wait for ever",
        why="For an incremental upgrade KubeRay makes the new cluster without `replicas`. KAI reads that as 0, which "
        "is below minReplicas, and its pod grouper fails.",
        write="upgradeStrategy.type: None or NewCluster",
        since="KubeRay 1.5-1.7, KAI 0.10-0.14",
        source="KubeRay v1.7.0 rayservice_controller.go:1523-1530; KAI ray_grouper.go, "
        "getReplicaCountersForWorkerGroup",
        bad=_object(_KAI, "spec: {upgradeStrategy: {type: NewClusterWithIncrementalUpgrade}}\n", "RayService"),
        good=_object(_KAI, "spec: {upgradeStrategy: {type: None}}\n", "RayService"),
        check=said("kai-incremental-upgrade"),
    ),
    Rule(
        code="GANG033",
        name="topology-label-ignored",
        severity="warning",
        title="a topology label that this KubeRay does not read",
        because="the gang is placed without regard to topology",
        why="KubeRay passes Volcano's network topology on since 1.5.",
        write="KubeRay 1.5 or later",
        since="KubeRay 1.4",
        source="KubeRay tags v1.4.2 and v1.5.0: controllers/ray/batchscheduler/volcano/volcano_scheduler.go",
        bad=_object(_MODE) + _OPERATOR.format("v1.4.2"),
        good=_object(_MODE) + _OPERATOR.format("v1.5.0"),
        check=said("topology-label-ignored"),
    ),
)
