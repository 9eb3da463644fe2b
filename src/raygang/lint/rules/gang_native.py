"""GANG: Kubernetes' own gang scheduling."""

from __future__ import annotations

from raygang.lint.model import Rule
from raygang.lint.rules.gang_report import said

_OPERATOR = (
    "---\napiVersion: apps/v1\nkind: Deployment\nmetadata: {name: kuberay-operator}\nspec:\n  template:\n    spec:\n"
    "      containers:\n      - image: quay.io/kuberay/operator:v1.7.0\n"
    "        args: [--feature-gates=KubernetesWAS=true]\n"
)
_OPT_IN = 'kind: RayCluster\nmetadata:\n  labels: {ray.io/gang-scheduling-enabled: "true"}\n'
_HEAD = "kind: RayCluster\nspec:\n  headGroupSpec: {template: {metadata: {labels: {raygang.dev/gang: llama}}}}\n"
_BOTH = _HEAD + "  workerGroupSpecs: [{template: {metadata: {labels: {raygang.dev/gang: llama}}}}]\n"
_POD_GROUP = (
    "---\napiVersion: scheduling.k8s.io/{}\nkind: PodGroup\nmetadata: {{name: llama}}\nspec:\n"
    "  schedulingPolicy: {{gang: {{minCount: 3}}}}\n"
)

RULES = (
    Rule(
        code="GANG008",
        name="was-autoscaling",
        severity="error",
        title="KubeRay's native gangs together with the autoscaler",
        because="KubeRay makes no gang, and says so in its log only",
        why="KubeRay 1.7's integration (feature gate KubernetesWAS) leaves clusters with `enableInTreeAutoscaling: "
        "true` alone, and deletes a PodGroup that it made before.",
        write="switch the autoscaler off",
        since="KubeRay 1.7",
        source="KubeRay v1.7.0 kubernetes-was/v1alpha2/kubernetes_was_v1alpha2.go:351-361",
        bad=_OPT_IN + "spec: {enableInTreeAutoscaling: true}\n" + _OPERATOR,
        good=_OPT_IN + _OPERATOR,
        check=said("was-autoscaling"),
    ),
    Rule(
        code="GANG029",
        name="podgroup-missing",
        severity="error",
        title="pods without a PodGroup",
        because="the pods wait for ever, or start one by one",
        why="A pod that names a PodGroup waits until the PodGroup is there; it is a namespaced object, of the same "
        "namespace as the pods. A pod that names none is scheduled by itself.",
        write="add the PodGroup to the manifests",
        since="Kubernetes 1.36-1.37",
        source="Kubernetes v1.36.3 pkg/scheduler/framework/plugins/gangscheduling",
        bad=_BOTH,
        good=_BOTH + _POD_GROUP.format("v1beta1"),
        check=said("podgroup-missing"),
    ),
    Rule(
        code="GANG030",
        name="podgroup-split",
        severity="error",
        title="not all pods are in the same PodGroup",
        because="a part of the gang starts without the rest",
        why="Gang scheduling works for each PodGroup by itself. The head and all groups of workers have to be in one.",
        write="the same gang label in every pod template",
        since="Kubernetes 1.36-1.37",
        source="KubeRay PR 4723 and v1.7.0 kubernetes_was_v1alpha2.go:76-86: one PodGroup for the whole cluster",
        bad=_HEAD + _POD_GROUP.format("v1beta1"),
        good=_BOTH + _POD_GROUP.format("v1beta1"),
        check=said("podgroup-split"),
    ),
    Rule(
        code="GANG031",
        name="native-api",
        severity="error",
        title="a PodGroup of an API version that is not served",
        because="kubectl refuses it, and there is no gang",
        why="Kubernetes 1.36 serves PodGroup as `scheduling.k8s.io/v1alpha2`, 1.37 as `v1beta1`, with other names of "
        "fields; neither serves the other's. 1.35's v1alpha1 has no PodGroup.",
        write="the version that the cluster serves",
        since="Kubernetes 1.35-1.37",
        source="seen: API servers 1.36.3 and 1.37.2",
        bad=_BOTH + _POD_GROUP.format("v1alpha1"),
        good=_BOTH + _POD_GROUP.format("v1beta1"),
        check=said("native-api"),
    ),
)
