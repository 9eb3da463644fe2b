"""KubeRay's operator as a Deployment among the manifests: which scheduler it is told to use, and flags that clash.

KubeRay 1.4-1.7: apis/config/v1alpha1/config_utils.go:15-46 and main.go; the image's tag is the version.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from raygang.gang.model import Cause, Context
from raygang.objects import Bundle, Manifest, Path, Version, at, sequence, text

SCHEDULERS = {  # value of --batch-scheduler -> the scheduler's name here
    "volcano": "volcano",
    "yunikorn": "yunikorn",
    "kai-scheduler": "kai",
    "scheduler-plugins": "coscheduling",
}
LEGACY_FLAG = "enable-batch-scheduler"
_NATIVE = "scheduling.k8s.io"
_FLAG = re.compile(r"--?([a-z-]+)(?:=(.*))?", re.DOTALL)
_CONTAINERS: Path = ("spec", "template", "spec", "containers")
_IMAGE = re.compile(r"(?:.*/)?(?:kuberay[/-])?operator:(v?\d[\w.+-]*)")


@dataclass(frozen=True)
class Operator:
    """What a Deployment says of it. `flags`: by name, with its value and where it stands."""

    manifest: Manifest
    flags: dict[str, tuple[str, Path]]
    version: Version | None

    @property
    def native(self) -> bool:
        """Whether the feature gate for Kubernetes' own gangs is on."""
        return "kuberneteswas=true" in self.flags.get("feature-gates", ("", ()))[0].lower().replace(" ", "")

    @property
    def legacy(self) -> bool:
        """Whether the old flag for Volcano is set."""
        return self.flags.get(LEGACY_FLAG, ("false", ()))[0] in ("", "true")

    @property
    def scheduler(self) -> str | None:
        """The scheduler that it is told to use; None where nothing says so."""
        if self.native:
            return "native"
        named = SCHEDULERS.get(self.flags.get("batch-scheduler", ("", ()))[0])
        return named or ("volcano" if self.legacy else None)


def operator_of(manifest: Manifest) -> Operator | None:
    """The operator that a manifest deploys, None where it deploys something else."""
    if (manifest.group, manifest.kind) != ("apps", "Deployment"):
        return None
    for index, container in enumerate(sequence(at(manifest.data, *_CONTAINERS))):
        image = _IMAGE.fullmatch(text(at(container, "image")) or "")
        if image and "kuberay" in (text(at(container, "image")) or "") + manifest.name:
            path = (*_CONTAINERS, index, "args")
            return Operator(manifest, _flags(sequence(at(container, "args")), path), _version(image[1]))
    return None


def _operator(bundle: Bundle) -> Operator | None:
    return next((o for m in bundle.find("apps", "Deployment") if (o := operator_of(m))), None)


def informed(context: Context, bundle: Bundle) -> Context:
    """The context with what the operator's Deployment says, where nothing else was given."""
    found = bundle.once(_operator)
    if found is None:
        return context
    scheduler = context.scheduler or found.scheduler
    return replace(context, scheduler=scheduler, kuberay=context.kuberay or found.version)


def clashes(operator: Operator, bundle: Bundle, context: Context) -> Iterator[Cause]:
    """Flags with which the operator does not start."""
    yield from _wrong_release(operator, bundle, context)
    name, path = operator.flags.get("batch-scheduler", ("", ()))
    if operator.native and (name or operator.legacy):
        gates = operator.flags["feature-gates"][1]
        why = "the feature gate KubernetesWAS goes with no --batch-scheduler: the operator does not start"
        yield _clash(operator, gates, why, "keep one of the two")
    elif name and operator.legacy:
        why = f"--{LEGACY_FLAG} and --batch-scheduler={name} are both set: the operator does not start"
        yield _clash(operator, operator.flags[LEGACY_FLAG][1], why, f"remove --{LEGACY_FLAG}")
    elif name and name not in SCHEDULERS:
        why = f"--batch-scheduler={name} is no scheduler that KubeRay knows: the operator does not start"
        yield _clash(operator, path, why, f"one of {', '.join(SCHEDULERS)}")
    elif name == "kai-scheduler" and operator.version and operator.version < Version(1, 5):
        why = f"KubeRay {operator.version} does not know kai-scheduler: the operator does not start"
        yield _clash(operator, path, why, "use KubeRay 1.5 or later")


def _wrong_release(operator: Operator, bundle: Bundle, context: Context) -> Iterator[Cause]:
    """The gate asks for an API that Kubernetes 1.36 alone serves (kubernetes-was/selector.go:41)."""
    if not operator.native:
        return
    other = next((m for m in bundle.find(_NATIVE, "PodGroup") if m.version != "v1alpha2"), None)
    if context.kubernetes and context.kubernetes.release != (1, 36):
        there = f"Kubernetes {context.kubernetes} does not serve it"
    elif context.kubernetes is None and other:
        there = f"the PodGroup {other.name} of {_NATIVE}/{other.version} is for a Kubernetes that does not serve it"
    else:
        return
    why = f"the gate KubernetesWAS needs {_NATIVE}/v1alpha2, and {there}: the operator does not start"
    path = operator.flags["feature-gates"][1]
    advice = "remove the gate: `raygang render` needs no integration"
    yield Cause("was-k8s-version", path, why, advice, manifest=operator.manifest)


def _clash(operator: Operator, path: Path, why: str, advice: str) -> Cause:
    return Cause("scheduler-config-clash", path, why, advice, manifest=operator.manifest)


def _flags(args: object, path: Path) -> dict[str, tuple[str, Path]]:
    found: dict[str, tuple[str, Path]] = {}
    words = sequence(args)
    for index, word in enumerate(words):
        match = _FLAG.fullmatch(text(word) or "")
        if match is None:
            continue
        value = match[2]
        if value is None:  # "--flag value", or a flag that stands alone
            follows = text(words[index + 1]) if index + 1 < len(words) else None
            value = follows if follows is not None and not follows.startswith("-") else ""
        found[match[1]] = (value, (*path, index))
    return found


def _version(tag: str) -> Version | None:
    try:
        return Version.parse(tag)
    except ValueError:
        return None
