"""GANG: the gang that was wanted against the gang that one would get, whatever the scheduler."""

from __future__ import annotations

from raygang.gang import Context, clashes, operator_of
from raygang.lint.model import CheckManifest, Report, Rule
from raygang.lint.rules.gang_report import of_manifest, said, with_operator
from raygang.objects import Bundle, Manifest


def _operator(name: str) -> CheckManifest:
    """What is wrong with KubeRay's operator, where the manifests have its Deployment."""

    def check(manifest: Manifest, bundle: Bundle, context: Context) -> Report:
        operator = operator_of(manifest)
        if operator:
            yield from of_manifest(name, clashes(operator, bundle, context))

    return check


def _deployment(version: str, *args: str) -> str:
    """KubeRay's operator, for examples."""
    return (
        "---\napiVersion: apps/v1\nkind: Deployment\nmetadata: {name: kuberay-operator}\n"
        "spec:\n  template:\n    spec:\n"
        f"      containers:\n      - image: quay.io/kuberay/operator:{version}\n        args: [{', '.join(args)}]\n"
    )


def _labelled(*labels: str, kind: str = "RayCluster") -> str:
    return f"kind: {kind}\nmetadata:\n  labels: {{{', '.join(labels)}}}\n"


_OPT_IN = 'ray.io/gang-scheduling-enabled: "true"'
_YUNIKORN = _deployment("v1.5.0", "--batch-scheduler=yunikorn")

RULES = (
    Rule(
        code="GANG002",
        name="schedulername-only",
        severity="error",
        title="pods name a gang scheduler, and nothing makes a gang",
        because="pods start one by one: where not all fit, those that run hold their GPUs for nothing",
        why="`schedulerName` only says who places a pod. Which pods belong together is said by KubeRay, and only when "
        "its operator was started with `--batch-scheduler` (Helm: `batchScheduler.name`): one scheduler for all "
        "clusters that it manages. Without it Volcano makes a group with minMember 1 of the pods.",
        write="start KubeRay's operator for this scheduler",
        since="KubeRay 1.3-1.7, Volcano 1.11-1.16",
        source="Volcano pkg/controllers/podgroup/pg_controller_handler.go:372-378",
        bad="kind: RayCluster\nspec:\n  headGroupSpec: {template: {spec: {schedulerName: volcano}}}\n",
        good="kind: RayCluster\nmetadata:\n  labels: {volcano.sh/queue-name: gpus}\n",
        check=with_operator("schedulername-only"),
    ),
    Rule(
        code="GANG003",
        name="legacy-scheduler-label",
        severity="warning",
        title="a label that KubeRay no longer reads",
        because="it does nothing: the scheduler is the one of the operator's flag",
        why="Up to KubeRay 1.2 the label `ray.io/scheduler-name` chose the scheduler of a cluster. Since 1.3 the flag "
        "`--batch-scheduler` chooses it for all clusters, and 1.6 has removed the label from its sources. Samples of "
        "KubeRay still carry it.",
        write="remove the label",
        since="KubeRay 1.3-1.7",
        source="KubeRay v1.2.2 controllers/ray/batchscheduler/schedulermanager.go:58-60, gone in v1.3.0",
        bad=_labelled("ray.io/scheduler-name: volcano"),
        good=_labelled("volcano.sh/queue-name: gpus"),
        check=said("legacy-scheduler-label"),
    ),
    Rule(
        code="GANG004",
        name="schedulername-conflict",
        severity="info",
        title="schedulerName is another than the operator's",
        because="KubeRay overwrites it: the field says something that is not so",
        why="With `--batch-scheduler` KubeRay writes the name of that scheduler into every pod that it makes.",
        write="remove schedulerName from the pod templates",
        since="KubeRay 1.3-1.7 (scheduler-plugins and KAI: 1.5-1.7)",
        source="KubeRay v1.7.0 controllers/ray/batchscheduler/volcano/volcano_scheduler.go:122-129",
        bad="kind: RayCluster\nspec:\n  headGroupSpec: {template: {spec: {schedulerName: volcano}}}\n" + _YUNIKORN,
        good=_labelled(_OPT_IN, "yunikorn.apache.org/app-id: llama") + _YUNIKORN,
        check=said("schedulername-conflict"),
    ),
    Rule(
        code="GANG006",
        name="gang-label-missing",
        severity="error",
        title="the label that switches gang scheduling on is missing",
        because="pods start one by one: where not all fit, those that run hold their GPUs for nothing",
        why="KubeRay's integrations of YuniKorn and scheduler-plugins put every pod under their scheduler, and make a "
        "gang only of clusters with the label `ray.io/gang-scheduling-enabled`.",
        write='label the Ray object: ray.io/gang-scheduling-enabled: "true"',
        since="KubeRay 1.2-1.7",
        source="KubeRay v1.7.0 controllers/ray/batchscheduler/scheduler-plugins/scheduler_plugins.go:77, "
        "yunikorn/yunikorn_scheduler.go:111-114",
        bad=_labelled("yunikorn.apache.org/app-id: llama"),
        good=_labelled("yunikorn.apache.org/app-id: llama", _OPT_IN),
        check=said("gang-label-missing"),
    ),
    Rule(
        code="GANG007",
        name="gang-label-false",
        severity="warning",
        title="the gang label has a value that means something else than it looks",
        because="gang scheduling is on where it looks off, or off where it looks on",
        why="YuniKorn's and scheduler-plugins' integrations only look whether the label "
        "`ray.io/gang-scheduling-enabled` is there, so that `false` switches it on. KubeRay 1.7's integration of "
        'Kubernetes\' own gangs wants the value "true".',
        write='the value "true", or no label',
        since="KubeRay 1.2-1.7",
        source="KubeRay v1.7.0 scheduler_plugins.go:111-114, yunikorn_scheduler.go:100-104, "
        "kubernetes_was_v1alpha2.go:351-356",
        bad=_labelled('ray.io/gang-scheduling-enabled: "false"'),
        good=_labelled(_OPT_IN),
        check=said("gang-label-false"),
    ),
    Rule(
        code="GANG010",
        name="scheduler-config-clash",
        severity="error",
        title="flags of KubeRay's operator that exclude each other",
        because="the operator does not start, and no Ray cluster is made",
        why="The operator has one scheduler. `--enable-batch-scheduler` is the old way to say Volcano; the feature "
        "gate KubernetesWAS takes the place of the flag. Two of them at once, or a name that KubeRay does not know, "
        "are an error at its start.",
        write="one of --batch-scheduler=volcano, yunikorn, kai-scheduler, scheduler-plugins",
        since="KubeRay 1.3-1.7",
        source="KubeRay v1.7.0 apis/config/v1alpha1/config_utils.go:15-46",
        bad=_deployment("v1.5.0", "--batch-scheduler=volcano", "--enable-batch-scheduler")[4:],
        good=_deployment("v1.5.0", "--batch-scheduler=volcano")[4:],
        check_manifest=_operator("scheduler-config-clash"),
    ),
    Rule(
        code="GANG040",
        name="scheduler-mismatch",
        severity="warning",
        title="fields for another scheduler than the cluster's",
        because="nobody reads them: queue, topology or gang are not what they say",
        why="KubeRay's operator works with one scheduler for all clusters. Labels and annotations of another have no "
        "effect, and pods that name a scheduler which is not there wait for ever.",
        write="the labels of the scheduler that the cluster runs",
        since="KubeRay 1.3-1.7",
        source="KubeRay v1.7.0 controllers/ray/batchscheduler/schedulermanager.go:53-92",
        bad=_labelled("volcano.sh/queue-name: gpus", _OPT_IN, "yunikorn.apache.org/app-id: a")
        + _deployment("v1.5.0", "--batch-scheduler=scheduler-plugins"),
        good=_labelled(_OPT_IN) + _deployment("v1.5.0", "--batch-scheduler=scheduler-plugins"),
        check=said("scheduler-mismatch"),
    ),
    Rule(
        code="GANG041",
        name="kuberay-too-old",
        severity="error",
        title="KubeRay's version does not know this scheduler",
        because="pods start one by one: where not all fit, those that run hold their GPUs for nothing",
        why="KubeRay's integration of KAI came with 1.5, that of Kubernetes' own gangs with 1.7.",
        write="a newer KubeRay, or another scheduler",
        since="KubeRay 1.4-1.6",
        source="KubeRay tags v1.4.2, v1.5.0, v1.7.0: controllers/ray/batchscheduler",
        bad=_labelled(_OPT_IN) + _deployment("v1.6.0", "--feature-gates=KubernetesWAS=true"),
        good=_labelled(_OPT_IN) + _deployment("v1.7.0", "--feature-gates=KubernetesWAS=true"),
        check=said("kuberay-too-old"),
    ),
    Rule(
        code="GANG009",
        name="was-k8s-version",
        severity="error",
        title="KubeRay's native gangs on another Kubernetes than 1.36",
        because="the operator does not start, or makes no gang",
        why="KubeRay 1.7 knows `scheduling.k8s.io/v1alpha2` only, which Kubernetes 1.36 serves. 1.37 serves v1beta1, "
        "with other field names; 1.35 had v1alpha1. With the feature gate KubernetesWAS on, the operator ends at its "
        "start when v1alpha2 is not served.",
        write="let `raygang render` write the PodGroup (scheduler.type: native): it needs no integration",
        since="KubeRay 1.7, Kubernetes 1.35-1.37",
        source="KubeRay v1.7.0 controllers/ray/batchscheduler/kubernetes-was/selector.go:41",
        bad="apiVersion: scheduling.k8s.io/v1beta1\nkind: PodGroup\nmetadata: {name: llama}\n"
        + _deployment("v1.7.0", "--feature-gates=KubernetesWAS=true"),
        good="apiVersion: scheduling.k8s.io/v1alpha2\nkind: PodGroup\nmetadata: {name: llama}\n"
        + _deployment("v1.7.0", "--feature-gates=KubernetesWAS=true"),
        check=said("was-k8s-version"),
        check_manifest=_operator("was-k8s-version"),
    ),
)
