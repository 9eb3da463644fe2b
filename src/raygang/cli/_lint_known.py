"""What `raygang lint` knows when it judges: which rules were asked for, and what the cluster is like."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from raygang.cli._choice import nearest
from raygang.gang import SCHEDULERS, Context
from raygang.lint import Outcome, Source, Unreadable, lint
from raygang.lint.fix import Fixed, fix
from raygang.objects import Version
from raygang.spec import UserError


@dataclass(frozen=True)
class Known:
    """How texts are judged.

    Attributes:
        wanted: whether a rule's code was asked for.
        context: what is known of the cluster.
        there: objects that the cluster has.
        unseen: what could not be read of the cluster, a sentence each.
    """

    wanted: Callable[[str], bool]
    context: Context
    there: tuple[Mapping[str, Any], ...] = ()
    unseen: tuple[str, ...] = ()

    def lint(self, texts: Iterable[Source | Unreadable]) -> Outcome:
        """What is wrong with them as one bundle; what could not be seen of the cluster is among what is unchecked."""
        outcome = lint(texts, self.context, wanted=self.wanted, there=self.there)
        return replace(outcome, unchecked=tuple(sorted((*outcome.unchecked, *self.unseen))))

    def fix(self, texts: Iterable[Source | Unreadable]) -> list[Fixed]:
        """Them mended, where rules are certain."""
        return fix(texts, self.context, wanted=self.wanted, there=self.there)


def known(
    wanted: Callable[[str], bool],
    *,
    scheduler: str | None,
    kuberay: str | None,
    kubernetes: str | None,
    kubeconfig_context: str | None,
) -> Known:
    """What the command line says, and where it is silent what the cluster of a kubeconfig's context says.

    Raises:
        UserError: an unknown scheduler, what is no version; no such context; exit code 3: no answer from the cluster.
    """
    said = _said(scheduler, kuberay, kubernetes)
    if kubeconfig_context is None:
        return Known(wanted, said)
    from raygang.cluster import cluster_facts, connect

    with connect(kubeconfig_context) as connection:
        facts = cluster_facts(connection)
    context = Context(
        said.scheduler or facts.context.scheduler,
        said.kuberay or facts.context.kuberay,
        said.kubernetes or facts.context.kubernetes,
    )
    return Known(wanted, context, facts.objects, facts.unseen)


def _said(scheduler: str | None, kuberay: str | None, kubernetes: str | None) -> Context:
    if scheduler is not None and scheduler not in SCHEDULERS:
        near = nearest(scheduler, SCHEDULERS)
        hint = f"did you mean {near}?" if near else f"allowed: {', '.join(SCHEDULERS)}"
        raise UserError(f"--scheduler {scheduler}: there is no such scheduler", hint=hint)
    return Context(scheduler, _version("--kuberay", kuberay), _version("--kubernetes", kubernetes))


def _version(option: str, text: str | None) -> Version | None:
    if text is None:
        return None
    try:
        return Version.parse(text)
    except ValueError as e:
        raise UserError(f"{option} {text}: is no version", hint=f"write {e}") from None
