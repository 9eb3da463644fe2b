"""KubeRay's own use of Kubernetes' gang scheduling: feature gate KubernetesWAS, alpha and off, since 1.7.

kubernetes-was/v1alpha2/kubernetes_was_v1alpha2.go of v1.7.0: one PodGroup `<cluster>-cluster` of the head and all
desired workers, for RayClusters with the label "true" and without the autoscaler (:351-361). It knows
scheduling.k8s.io/v1alpha2 only, which Kubernetes 1.36 serves and 1.37 does not: there the operator does not start
(kubernetes-was/selector.go:41).
"""

from __future__ import annotations

from collections.abc import Iterator

from raygang.gang import _kuberay as kuberay
from raygang.gang.model import Cause, Change, Context, Verdict, gang_of
from raygang.objects import RayWorkload, Version
from raygang.objects.words import agreed

NAME = "native"
SINCE = Version(1, 7)
KUBERNETES = (1, 36)
GATE = "feature gate KubernetesWAS of KubeRay's operator, with no --batch-scheduler"


def effective(workload: RayWorkload, context: Context) -> Verdict:
    """What the integration would make; nothing without its label."""
    if not kuberay.opted_in(workload):
        return Verdict(NAME, None, (_nothing(workload),))
    refused = tuple(_refused(workload, context))
    if refused:
        return Verdict(NAME, None, refused)
    assumes = [GATE]
    if context.kuberay is None:
        assumes.append("KubeRay 1.7 or later (--kuberay)")
    if context.kubernetes is None:
        assumes.append("Kubernetes 1.36 (--kubernetes)")
    return Verdict(NAME, gang_of(workload, None, {}), (), tuple(assumes))


def _refused(workload: RayWorkload, context: Context) -> Iterator[Cause]:
    path = (*kuberay.LABELS, kuberay.OPT_IN)
    if kuberay.before(context, SINCE):
        yield kuberay.too_old(workload, context, "Kubernetes' own gang scheduling", SINCE)
        return
    if context.kubernetes and context.kubernetes.release != KUBERNETES:
        why = (
            f"KubeRay's integration needs scheduling.k8s.io/v1alpha2, which Kubernetes {context.kubernetes} does not "
            "serve: with the gate on the operator does not start"
        )
        advice = "let `raygang render` write the PodGroup itself (scheduler.type: native), or use another scheduler"
        yield Cause("was-k8s-version", path, why, advice)
    value = str(workload.manifest.labels[kuberay.OPT_IN])
    if value.lower() != "true":
        why = f'here the label counts only with the value "true", and it is "{value}": no gang'
        fix = (Change("set", path, "true"),)
        yield Cause("gang-label-false", path, why, 'write "true", or remove the label', fix=fix)
    if workload.autoscaling:
        why = "KubeRay makes no PodGroup of a cluster with the autoscaler; only its log says so"
        autoscaler = (*workload.path, "enableInTreeAutoscaling")
        yield Cause("was-autoscaling", autoscaler, why, "switch the autoscaler off")


def _nothing(workload: RayWorkload) -> Cause:
    them = agreed(workload.pods, "it", "them")
    why = f"the default scheduler takes {kuberay.one_by_one(workload)}: nothing puts {them} into a PodGroup"
    advice = "write a PodGroup and set spec.schedulingGroup of the pods, for example with `raygang render`"
    return Cause("podgroup-missing", workload.groups[0].path, why, advice)
