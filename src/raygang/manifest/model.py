"""What rendering gives."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from raygang.objects import Bundle, Path


@dataclass(frozen=True)
class Rendered:
    """The manifests of a deployment.

    Attributes:
        objects: plain data, in the order in which they are to be applied.
        comments: for each object, why a field is there, by the field's path.
        needs: what the cluster must have, in sentences.
    """

    objects: tuple[dict[str, Any], ...]
    comments: tuple[Mapping[Path, str], ...]
    needs: tuple[str, ...]

    @property
    def bundle(self) -> Bundle:
        """The objects as the other rooms read them."""
        return Bundle.of(list(self.objects))
