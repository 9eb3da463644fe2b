"""VER: versions that are old, unreadable or about to go."""

from __future__ import annotations

from raygang.gang import Context
from raygang.lint.model import Case, Edit, Found, Report, Rule
from raygang.lint.rules.ray_images import ray_version
from raygang.lint.schema_table import GROUP, table
from raygang.objects import Bundle, Manifest, Version

NEWEST_RAY = Version(2, 60)  # of 2026-11; Ray has a minor release every month
_OLD = 10  # minor releases


def _stale(case: Case) -> Report:
    version = ray_version(case)
    if version and (version.major < NEWEST_RAY.major or version.minor <= NEWEST_RAY.minor - _OLD):
        behind = f"{NEWEST_RAY.minor - version.minor} minor releases behind" if version.major == 2 else "far behind"
        what = f"Ray {version} is {behind} {NEWEST_RAY.major}.{NEWEST_RAY.minor}"
        yield Found((*case.workload.path, "rayVersion"), what)


def _unreadable(case: Case) -> Report:
    value = case.workload.cluster.get("rayVersion")
    if value in (None, ""):
        yield Found(case.workload.path, f"the {case.workload.kind} has no rayVersion", key=True)
    elif ray_version(case) is None and isinstance(value, str):
        path = (*case.workload.path, "rayVersion")
        yield Found(path, f"rayVersion {value} is no version", "write the image's version, such as 2.60.0")


def _alpha(manifest: Manifest, bundle: Bundle, context: Context) -> Report:
    if manifest.group == GROUP and manifest.version == "v1alpha1" and f"{manifest.kind}/v1" in table().roots:
        fix = (Edit("set", ("apiVersion",), f"{GROUP}/v1"),)
        yield Found(("apiVersion",), f"{GROUP}/v1alpha1 is deprecated", f"write {GROUP}/v1", fix=fix)


RULES = (
    Rule(
        code="VER001",
        name="ray-stale",
        severity="info",
        title="Ray is old",
        because="it has faults that are mended since, and its vLLM does not know recent models",
        why="Ray has a minor release about every month, and its image for language models one of vLLM with it.",
        write="update rayVersion and the images together",
        since="Ray 2.60",
        source="github.com/ray-project/ray/releases",
        bad="kind: RayCluster\nspec:\n  rayVersion: 2.9.0\n",
        good="kind: RayCluster\nspec:\n  rayVersion: 2.60.0\n",
        check=_stale,
    ),
    Rule(
        code="VER002",
        name="api-deprecated",
        severity="warning",
        title="ray.io/v1alpha1",
        because="it will be gone in a later KubeRay, and has fewer fields",
        why="ray.io/v1 came with KubeRay 1.0. KubeRay 1.7 warns of v1alpha1.",
        write="write ray.io/v1",
        since="KubeRay 1.0-1.7",
        source="KubeRay 1.7 ray-operator/config/crd/bases/ray.io_rayservices.yaml (deprecated: true)",
        bad="apiVersion: ray.io/v1alpha1\nkind: RayCluster\n",
        good="apiVersion: ray.io/v1\nkind: RayCluster\n",
        check_manifest=_alpha,
    ),
    Rule(
        code="VER003",
        name="ray-version-unknown",
        severity="info",
        title="KubeRay cannot tell Ray's version",
        because="it takes the probes of old versions and refuses authOptions",
        why="KubeRay looks at rayVersion, never at the image.",
        write="write rayVersion",
        since="KubeRay 1.4-1.7",
        source="KubeRay 1.6 ray-operator/controllers/ray/common/pod.go:467-476",
        bad="kind: RayCluster\nspec:\n  rayVersion: null\n",
        good="kind: RayCluster\nspec:\n  rayVersion: 2.60.0\n",
        check=_unreadable,
    ),
)
