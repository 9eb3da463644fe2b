"""RAY, PROBE: images of Ray and their versions. Other makers' images are unknown: nothing is said of them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from raygang.lint.model import Case, Found, Report, Rule, Unchecked
from raygang.lint.rules.pods_view import Container, gpus, label, ray_containers
from raygang.objects import Version, text
from raygang.objects.words import counted

HTTP_PROBES = Version(2, 53)  # from here on KubeRay 1.6 and later ask /api/healthz; KubeRay 1.6, pod.go:467-476
HTTP_SINCE = Version(1, 6)
_NAMES = ("rayproject/ray", "rayproject/ray-llm", "rayproject/ray-ml")
_VERSION = re.compile(r"\d+\.\d+\.\d+", re.ASCII)
_PYTHON = re.compile(r"py3\d+\Z", re.ASCII)
_CUDA = re.compile(r"cu\d+\Z", re.ASCII)
_SLIM = re.compile(r"(?:^|[-/:])slim(?:$|[-/:])", re.ASCII)


@dataclass(frozen=True)
class RayImage:
    """One of Ray's own images, by its tag: 2.52.0-py311-cu128, for example.

    Attributes:
        name: rayproject/ray or one of its sisters.
        tag: empty where there is none.
        version: of Ray; None for latest and nightly.
        python: py311, for example, where the tag says it.
        accelerator: cu128, gpu, cpu or tpu, where the tag says it.
    """

    name: str
    tag: str
    version: Version | None
    python: str | None
    accelerator: str | None


@lru_cache(maxsize=1024)
def ray_image(image: str | None) -> RayImage | None:
    """What an image's name says; None unless it is one of Ray's own, in whatever registry."""
    name, _, digest = (image or "").partition("@")
    repository, colon, tag = name.rpartition(":")
    if not colon or "/" in tag:
        repository, tag = name, ""
    own = next((known for known in _NAMES if repository == known or repository.endswith(f"/{known}")), None)
    if own is None or (digest and not tag):
        return None
    parts = tag.split("-")
    match = _VERSION.match(parts[0])
    python = next((part for part in parts if _PYTHON.match(part)), None)
    kinds = ("gpu", "cpu", "tpu")
    accelerator = next((part for part in parts if part in kinds or _CUDA.match(part)), None)
    return RayImage(own, tag, Version.parse(match[0]) if match else None, python, accelerator)


def ray_version(case: Case) -> Version | None:
    """`rayVersion`, as far as it is one."""
    try:
        return Version.parse(text(case.workload.cluster.get("rayVersion")) or "")
    except ValueError:
        return None


def _skew(case: Case) -> Report:
    """Of the first group only that differs: the others differ alike, or RAY009 says so."""
    said = ray_version(case)
    if said is None:
        return
    for container in ray_containers(case):
        image = ray_image(container.image)
        if image and image.version and image.version.release != said.release:
            yield _version_skew(case, container, said, image.version)
            return


def _version_skew(case: Case, container: Container, said: Version, real: Version) -> Found:
    what = f"rayVersion is {said}, and the image {container.image} has Ray {real}"
    path = (*case.workload.path, "rayVersion")
    write = f"write rayVersion: {real}, or the image of Ray {said}"
    asks = case.context.kuberay is None or case.context.kuberay >= HTTP_SINCE
    if said >= HTTP_PROBES > real and asks:
        because = f"KubeRay 1.6 and later ask /api/healthz of it, which Ray {real} does not have: no pod becomes ready"
        return Found(path, what, write, because)
    return Found(path, what, write, severity="warning")


def _mixed(case: Case) -> Report:
    found = [(c, i) for c in ray_containers(case) if (i := ray_image(c.image)) is not None]
    if not found:
        return
    first, base = found[0]
    for container, image in found[1:]:
        for what, one, other in (("Ray", base.version, image.version), ("Python", base.python, image.python)):
            if one is not None and other is not None and one != other:
                yield Found(
                    container.at("image"),
                    f"{label(container.group)} has {what} {other}, and {label(first.group)} has {what} {one}",
                    f"use the image {first.image} in all groups",
                )
                break


def _cpu_image(case: Case) -> Report:
    for container in ray_containers(case):
        image = ray_image(container.image)
        cpu_only = image and image.name == "rayproject/ray" and image.accelerator in (None, "cpu") and image.version
        if cpu_only and image and gpus(container):
            what = f"{container.image} is Ray's image for CPUs, and the pod has {counted(gpus(container), 'GPU')}"
            llm = f"rayproject/ray-llm:{image.version} with its -pyXYZ-cuXYZ"
            write = f"use the tag with -cuXYZ, or {llm} for large language models"
            yield Found(container.at("image"), what, write)


def _floating(case: Case) -> Report:
    for container in ray_containers(case):
        image = ray_image(container.image)
        if image and image.accelerator == "gpu":
            what = f"the tag {image.tag} stands for one of Ray's CUDA images, another one from release to release"
            yield Found(container.at("image"), what, "name CUDA and Python: -py311-cu128, for example")


def _no_wget(case: Case) -> Report:
    for container in ray_containers(case):
        if not _SLIM.search(container.image or ""):
            continue
        missing = [probe for probe in _wget_probes(case, container) if probe not in container.data]
        if missing:
            what = f"{container.image} is a slim image without wget, and KubeRay's own {missing[0]} runs wget in it"
            yield Found(container.at("image"), what)
        elif case.context.kuberay is None and "livenessProbe" not in container.data:
            yield Unchecked("KubeRay's version (--kuberay)")


def _wget_probes(case: Case, container: Container) -> tuple[str, ...]:
    """The probes that KubeRay writes as commands if nobody else writes them."""
    version, kuberay = ray_version(case), case.context.kuberay
    if version is None or version < HTTP_PROBES or (kuberay and kuberay < HTTP_SINCE):
        return ("readinessProbe", "livenessProbe")
    serves = case.workload.kind == "RayService" and not container.group.head
    return ("readinessProbe",) if serves else ()


RULES = (
    Rule(
        code="RAY008",
        name="version-image-skew",
        severity="error",
        title="rayVersion is not the version in the image",
        because="KubeRay chooses probes and features by rayVersion, and the image has other ones",
        why="`rayVersion` does not choose the image. KubeRay decides by it which health check the pods get (HTTP from "
        "2.53 on, with KubeRay 1.6 and later) and which features it may use.",
        write="write the version that the image has",
        since="KubeRay 1.4-1.7; the probes KubeRay 1.6-1.7",
        source="KubeRay 1.6 ray-operator/controllers/ray/common/pod.go:467-500",
        bad="kind: RayCluster\nspec:\n  headGroupSpec:\n    template:\n      spec:\n        containers:\n"
        "        - image: rayproject/ray-llm:2.46.0-py311-cu124\n",
        good="kind: RayCluster\nspec:\n  rayVersion: 2.60.0\n",
        check=_skew,
    ),
    Rule(
        code="RAY009",
        name="mixed-images",
        severity="error",
        title="head and workers have different versions of Ray or Python",
        because="workers refuse to join a head with another version of Ray or Python",
        why="Ray compares the full versions of Ray and Python when a node joins and raises an error where they differ.",
        write="use one image in all groups",
        since="Ray 2.x",
        source="Ray 2.60 ray/_private/utils.py check_version_info",
        bad="kind: RayCluster\nspec:\n  workerGroupSpecs:\n  - template:\n      spec:\n        containers:\n"
        "        - image: rayproject/ray-llm:2.59.0-py311-cu128\n",
        good="kind: RayCluster\nspec:\n  workerGroupSpecs:\n  - template:\n      spec:\n        containers:\n"
        "        - image: rayproject/ray-llm:2.60.0-py311-cu128\n",
        check=_mixed,
    ),
    Rule(
        code="RAY014",
        name="cpu-image-on-gpu",
        severity="warning",
        title="an image for CPUs in a pod with GPUs",
        because="no CUDA libraries and no vLLM are in it: what runs on the GPUs has to be installed at each start",
        why="Ray's tags without -cuXYZ or -gpu are built on an image without CUDA. vLLM is in rayproject/ray-llm only.",
        write="use an image with CUDA",
        since="Ray 2.x",
        source="Ray docker/README.md, docker/ray-llm/Dockerfile",
        bad="kind: RayCluster\nspec:\n  workerGroupSpecs:\n  - template:\n      spec:\n        containers:\n"
        "        - image: rayproject/ray:2.60.0\n",
        good="kind: RayCluster\nspec:\n  workerGroupSpecs:\n  - template:\n      spec:\n        containers:\n"
        "        - image: rayproject/ray-llm:2.60.0-py311-cu128\n",
        check=_cpu_image,
    ),
    Rule(
        code="RAY015",
        name="floating-gpu-tag",
        severity="info",
        title="a tag that does not say which CUDA",
        because="the next release of Ray moves it to another CUDA, which the nodes' driver may not have",
        why="`-gpu` is an alias of one of the `-cuXYZ` tags, which one depends on the release of Ray.",
        write="name CUDA and Python in the tag",
        since="Ray 2.x",
        source="Ray docker/README.md",
        bad="kind: RayCluster\nspec:\n  workerGroupSpecs:\n  - template:\n      spec:\n        containers:\n"
        "        - image: rayproject/ray:2.60.0-gpu\n",
        good="kind: RayCluster\nspec:\n  workerGroupSpecs:\n  - template:\n      spec:\n        containers:\n"
        "        - image: rayproject/ray:2.60.0-py311-cu128\n",
        check=_floating,
    ),
    Rule(
        code="PROBE001",
        name="no-wget",
        severity="error",
        title="KubeRay's probe runs wget, and the image has none",
        because="the probe fails every time: the pod never becomes ready and is restarted",
        why="Below Ray 2.53, and with KubeRay before 1.6, KubeRay's own probes are `wget` commands. For the workers of "
        "a RayService the readiness "
        "probe stays one in any version, since it also asks Serve's proxy.",
        write="use an image with wget, or write readinessProbe and livenessProbe with httpGet",
        since="KubeRay 1.4-1.7",
        source="KubeRay 1.6 ray-operator/controllers/ray/common/pod.go:478-575, utils/constant.go:254-256",
        bad="kind: RayCluster\nspec:\n  rayVersion: 2.50.0\n  headGroupSpec:\n    template:\n      spec:\n"
        "        containers:\n        - image: registry.example.com/ray:2.50.0-slim\n",
        good="kind: RayCluster\nspec:\n  headGroupSpec:\n    template:\n      spec:\n"
        "        containers:\n        - image: registry.example.com/ray:2.60.0-slim\n",
        check=_no_wget,
    ),
)
