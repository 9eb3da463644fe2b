"""No gang scheduler: the default scheduler takes each pod by itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from raygang.gang._kuberay import nobody
from raygang.gang.model import Cause, Context, Request, Sign, Verdict, largest
from raygang.gang.state import Explanation, State, by_pods
from raygang.objects import Bundle, RayWorkload
from raygang.plan import Gang

if TYPE_CHECKING:
    from raygang.spec import Spec

NAME = "none"


def request(gang: Gang, spec: Spec) -> Request:
    """Nothing."""
    return Request()


def signs(workload: RayWorkload, bundle: Bundle) -> tuple[Sign, ...]:
    """None: this is what is left when no other scheduler is asked."""
    return ()


def effective(workload: RayWorkload, bundle: Bundle, context: Context) -> Verdict:
    """No gang."""
    if workload.pods <= 1:
        return Verdict(NAME, None)
    why = f"{nobody(workload)}: where not all fit, those that run hold their GPUs for nothing"
    advice = "use a gang scheduler: `scheduler` in the specification, or the labels of the one that the cluster has"
    return Verdict(NAME, None, (Cause("no-gang", largest(workload).path, why, advice, "warning"),))


def explain(state: State) -> Explanation:
    """From the pods' PodScheduled conditions."""
    return by_pods(state)
