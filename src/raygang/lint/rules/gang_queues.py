"""GANG: queues, and what Kueue takes and reserves."""

from __future__ import annotations

from raygang.lint.model import Rule
from raygang.lint.rules.gang_report import said

_VOLCANO_QUEUE = (
    "---\napiVersion: scheduling.volcano.sh/v1beta1\nkind: Queue\nmetadata: {{name: {}}}\nspec:\n"
    '  capability: {{nvidia.com/gpu: "{}"}}\n'
)
_VOLCANO = "kind: RayCluster\nmetadata:\n  labels: {volcano.sh/queue-name: gpus}\n"
_KUEUE = "kind: RayCluster\nmetadata:\n  labels: {kueue.x-k8s.io/queue-name: gpus}\n"
_LOCAL_QUEUE = (
    "---\napiVersion: kueue.x-k8s.io/v1beta2\nkind: LocalQueue\nmetadata: {name: gpus, namespace: models}\n"
    "spec: {clusterQueue: all}\n"
)
_CLUSTER_QUEUE = (
    "---\napiVersion: kueue.x-k8s.io/v1beta2\nkind: ClusterQueue\nmetadata: {{name: all}}\nspec:\n  resourceGroups:\n"
    "  - coveredResources: [cpu, memory{}]\n    flavors:\n    - name: h100\n      resources:\n"
    '      - {{name: cpu, nominalQuota: "1000"}}\n      - {{name: memory, nominalQuota: 8Ti}}\n{}'
)
_GPU_QUOTA = '      - {name: nvidia.com/gpu, nominalQuota: "16"}\n'
_CONFIGURATION = (
    "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {{name: kueue-manager-config}}\ndata:\n"
    "  controller_manager_config.yaml: |\n    apiVersion: config.kueue.x-k8s.io/v1beta2\n    kind: Configuration\n{}"
)
_TEMPLATE = "spec:\n  workerGroupSpecs:\n  - template: {metadata: {annotations: {%s}}}\n"
_REQUIRED = "kueue.x-k8s.io/podset-required-topology: rack"

RULES = (
    Rule(
        code="GANG001",
        name="queue-as-annotation",
        severity="warning",
        title="Volcano's queue in an annotation",
        because="the gang goes to the queue default, with its quota and its priority",
        why="KubeRay reads `volcano.sh/queue-name` from the labels of the Ray object. Annotations it only copies to "
        "the PodGroup, where Volcano does not look for a queue.",
        write="the same key under metadata.labels",
        since="KubeRay 1.0-1.7",
        source="KubeRay v1.7.0 volcano_scheduler.go:31 and 253-255",
        bad="kind: RayCluster\nmetadata:\n  annotations: {volcano.sh/queue-name: gpus}\n",
        good=_VOLCANO,
        check=said("queue-as-annotation"),
    ),
    Rule(
        code="GANG005",
        name="queue-missing",
        severity="error",
        title="the queue is not there, or not open",
        because="the gang waits for ever, and no pod says why",
        why="Volcano's webhook refuses a PodGroup whose queue does not exist or is not Open, so that KubeRay makes no "
        "pods. KAI and Kueue let the gang wait until the queue is there. A LocalQueue has to be in the workload's "
        "namespace.",
        write="the name of a queue that is there",
        since="Volcano 1.11-1.16, KAI 0.10-0.14, Kueue 0.17-0.20",
        source="Volcano v1.14.1 pkg/webhooks/admission/podgroups/validate/validate_podgroup.go:102-118",
        bad=_VOLCANO + _VOLCANO_QUEUE.format("gpu", 64),
        good=_VOLCANO + _VOLCANO_QUEUE.format("gpus", 64),
        check=said("queue-missing"),
    ),
    Rule(
        code="GANG019",
        name="kueue-queue-annotation",
        severity="error",
        title="Kueue's queue in an annotation",
        because="Kueue leaves the workload alone: it starts without quota, pod by pod",
        why="Kueue reads `kueue.x-k8s.io/queue-name` from the labels of the Ray object.",
        write="the same key under metadata.labels",
        since="Kueue 0.17-0.20",
        source="Kueue v0.17.0 pkg/controller/jobframework/interface.go (QueueName)",
        bad="kind: RayCluster\nmetadata:\n  annotations: {kueue.x-k8s.io/queue-name: gpus}\n",
        good=_KUEUE,
        check=said("kueue-queue-annotation"),
    ),
    Rule(
        code="GANG020",
        name="kueue-uncovered-resource",
        severity="error",
        title="a resource that the ClusterQueue does not cover",
        because="Kueue never admits the workload",
        why="Every resource that a pod asks for has to be in coveredResources of the ClusterQueue, also cpu, memory, "
        "RDMA devices and ephemeral storage, unless Kueue's Configuration leaves it out "
        "(resources.excludeResourcePrefixes).",
        write="the resource in coveredResources, with a quota",
        since="Kueue 0.17-0.20",
        source="Kueue v0.17.0 pkg/scheduler/flavorassigner/flavorassigner.go:783",
        bad=_KUEUE + _LOCAL_QUEUE + _CLUSTER_QUEUE.format("", ""),
        good=_KUEUE + _LOCAL_QUEUE + _CLUSTER_QUEUE.format(", nvidia.com/gpu", _GPU_QUOTA),
        check=said("kueue-uncovered-resource"),
    ),
    Rule(
        code="GANG021",
        name="kueue-not-gang",
        severity="warning",
        title="Kueue admits sums, and nothing sees to places",
        because="a gang may be admitted of which not all pods fit, and keep its quota and its GPUs",
        why="Kueue's quota is a sum: 4 + 4 free GPUs on two nodes admit a pod that asks for 8. Topology-aware "
        "scheduling counts places; waitForPodsReady takes a gang back that does not get ready in time.",
        write="a topology on the pod templates, or waitForPodsReady in Kueue's Configuration",
        since="Kueue 0.17-0.20",
        source="Kueue's documentation, tasks/manage/setup_wait_for_pods_ready",
        bad=_KUEUE + _CONFIGURATION.format("    integrations: {frameworks: [ray.io/raycluster]}\n"),
        good=_KUEUE + _CONFIGURATION.format("    waitForPodsReady: {timeout: 30m}\n"),
        check=said("kueue-not-gang"),
    ),
    Rule(
        code="GANG022",
        name="kueue-autoscaling",
        severity="error",
        title="Ray's autoscaler in a workload of Kueue's",
        because="Kueue's webhook refuses the workload",
        why="Kueue reserves quota for a fixed number of pods. It takes a cluster with the autoscaler only as an "
        "elastic job, with the feature gate ElasticJobsViaWorkloadSlices on.",
        write='enableInTreeAutoscaling: false, or the annotation kueue.x-k8s.io/elastic-job: "true"',
        since="Kueue 0.17-0.20",
        source="Kueue v0.17.0 pkg/controller/jobs/raycluster/raycluster_webhook.go:137-143",
        bad=_KUEUE + "spec: {enableInTreeAutoscaling: true}\n",
        good=_KUEUE,
        check=said("kueue-autoscaling"),
    ),
    Rule(
        code="GANG023",
        name="kueue-groups",
        severity="error",
        title="worker groups that Kueue refuses",
        because="Kueue's webhook refuses the workload",
        why="Each group of pods is a pod set of Kueue's Workload, and one is the head's, named `head`. At most 7 "
        "worker groups are taken by Kueue 0.17, 9 by 0.18 and 17 since 0.19.",
        write="fewer groups, none of them named head",
        since="Kueue 0.17-0.20",
        source="Kueue v0.17.0 raycluster_webhook.go:146, v0.19.2 pkg/controller/jobframework/constants.go:21",
        bad=_KUEUE + "spec:\n  workerGroupSpecs:\n  - groupName: head\n",
        good=_KUEUE + "spec:\n  workerGroupSpecs:\n  - groupName: workers\n",
        check=said("kueue-groups"),
    ),
    Rule(
        code="GANG032",
        name="kueue-queue-missing",
        severity="error",
        title="Kueue's fields, and no queue",
        because="Kueue leaves the workload alone: it starts without quota, pod by pod",
        why="Kueue manages what has the label `kueue.x-k8s.io/queue-name`; its other labels and annotations count only "
        "then. (A LocalQueue named default in the namespace, or manageJobsWithoutQueueName, would take it all the "
        "same.)",
        write="the label kueue.x-k8s.io/queue-name with the name of a LocalQueue",
        since="Kueue 0.17-0.20",
        source="Kueue v0.17.0 pkg/controller/jobframework/defaults.go",
        bad="kind: RayCluster\nmetadata:\n  labels: {kueue.x-k8s.io/priority-class: high}\n",
        good="kind: RayCluster\nmetadata:\n"
        "  labels: {kueue.x-k8s.io/priority-class: high, kueue.x-k8s.io/queue-name: gpus}\n",
        check=said("kueue-queue-missing"),
    ),
    Rule(
        code="GANG034",
        name="kueue-topology-level",
        severity="warning",
        title="Kueue's topology on the Ray object",
        because="it does nothing: the pods are spread over domains",
        why="Kueue reads topology annotations from the metadata of pod templates, for each group by itself.",
        write="the annotation in template.metadata.annotations of each group",
        since="Kueue 0.17-0.20",
        source="Kueue v0.17.0 pkg/controller/jobs/raycluster/common.go:64-95",
        bad="kind: RayCluster\nmetadata:\n  labels: {kueue.x-k8s.io/queue-name: gpus}\n"
        f"  annotations: {{{_REQUIRED}}}\n",
        good=_KUEUE + _TEMPLATE % _REQUIRED,
        check=said("kueue-topology-level"),
    ),
    Rule(
        code="GANG035",
        name="kueue-topology-refused",
        severity="error",
        title="topology annotations that Kueue refuses",
        because="Kueue's webhook refuses the workload",
        why="`podset-group-name` puts exactly two groups of pods into one domain, one of them of a single pod, and "
        "both have to ask for the same level. A group has one topology annotation.",
        write="the same level and group name on the head and on one group of workers",
        since="Kueue 0.17-0.20",
        source="Kueue v0.17.0 pkg/controller/jobframework/tas_validation.go:51-87 and 205-280",
        bad=_KUEUE + _TEMPLATE % f"{_REQUIRED}, kueue.x-k8s.io/podset-group-name: llama",
        good=_KUEUE + _TEMPLATE % _REQUIRED,
        check=said("kueue-topology-refused"),
    ),
    Rule(
        code="GANG042",
        name="queue-too-small",
        severity="error",
        title="the queue is smaller than the gang",
        because="the gang never starts, however long it waits",
        why="A gang gets all of its resources at once or none. Volcano compares the sum with the queue's capability, "
        "Kueue with the nominal quota, unless the ClusterQueue is in a cohort that it may borrow from.",
        write="a larger queue, or a smaller gang",
        since="Volcano 1.11-1.16, Kueue 0.17-0.20",
        source="Volcano v1.14.1 pkg/scheduler/plugins/capacity/capacity.go:944; Kueue v0.17.0 flavorassigner.go:1038",
        bad=_VOLCANO + _VOLCANO_QUEUE.format("gpus", 8),
        good=_VOLCANO + _VOLCANO_QUEUE.format("gpus", 16),
        check=said("queue-too-small"),
    ),
)
