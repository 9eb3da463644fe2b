"""Versions of Kubernetes, KubeRay and schedulers, as far as rules about them need."""

from __future__ import annotations

import re
from dataclasses import dataclass

_FORM = re.compile(r"v?(\d{1,6})\.(\d{1,6})(?:\.(\d{1,6}))?(?:[-+.]\S*)?", re.ASCII)


@dataclass(frozen=True, order=True)
class Version:
    """major.minor.patch, compared in that order."""

    major: int
    minor: int
    patch: int = 0

    @staticmethod
    def parse(value: str) -> Version:
        """The version of a text such as "1.36", "v1.37.2" or "1.36.3-gke.100". Raises ValueError for anything else."""
        match = _FORM.fullmatch(value.strip())
        if match is None:
            raise ValueError("a version such as 1.37 or v1.37.2")
        return Version(int(match[1]), int(match[2]), int(match[3] or 0))

    def __str__(self) -> str:
        return f"{self.major}.{self.minor}.{self.patch}"

    @property
    def release(self) -> tuple[int, int]:
        """major and minor: what facts about an API depend on."""
        return self.major, self.minor
