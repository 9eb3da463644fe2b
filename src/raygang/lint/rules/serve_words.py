"""What rules about serveConfigV2 share: nearest names, versions, and how their examples are written."""

from __future__ import annotations

import difflib
from collections.abc import Collection
from textwrap import indent

from raygang.lint.model import Case
from raygang.lint.rules.pods_view import ray_containers
from raygang.lint.rules.ray_images import ray_image, ray_version
from raygang.objects import Version

KNOWN_RAY = Version(2, 60)  # the version that the tables of fields were read in


def nearest(name: str, known: Collection[str], close: float = 0.8) -> str | None:
    """The known name that was probably meant."""
    found = difflib.get_close_matches(name, known, n=1, cutoff=close)
    if found:
        return found[0]
    plain = {word.replace("_", "").lower(): word for word in known}
    return plain.get(name.replace("_", "").replace("-", "").lower())


def ray_of(case: Case) -> Version | None:
    """The version of Ray: by an image of Ray's own, or else by rayVersion."""
    images = (ray_image(container.image) for container in ray_containers(case))
    found = next((image.version for image in images if image is not None and image.version is not None), None)
    return found or ray_version(case)


def same(case: Case) -> bool:
    """Whether it has that version: what the tables do not have is unknown to it for certain."""
    version = ray_of(case)
    return version is not None and version.release == KNOWN_RAY.release


def older(case: Case) -> bool:
    """Whether the workload has a version of Ray before the one that the tables were read in."""
    version = ray_of(case)
    return version is not None and version.release < KNOWN_RAY.release


def service(config: str) -> str:
    """An example: a RayService with this serveConfigV2."""
    return "kind: RayService\nspec:\n  serveConfigV2: |\n" + indent(config, "    ")


def model(fields: str = "", engine: str = "", builder: str = "build_openai_app") -> str:
    """An example: a RayService with one model, some of its fields, and some of its engine_kwargs."""
    kwargs = indent(engine, "  ") if engine else "  tensor_parallel_size: 8\n  pipeline_parallel_size: 2\n"
    whole = f"model_loading_config: {{model_id: llama}}\nengine_kwargs:\n{kwargs}{fields}"
    lines = whole.splitlines(keepends=True)
    if builder == "build_openai_app":
        config = "    llm_configs:\n    - " + lines[0] + indent("".join(lines[1:]), "      ")
    else:
        config = "    llm_config:\n" + indent(whole, "      ")
    head = "applications:\n- name: llm\n  route_prefix: /\n"
    return service(f"{head}  import_path: ray.serve.llm:{builder}\n  args:\n{config}")
