"""Packages whose names are imported on first use: who needs one of them does not pay for all.

A module that only wants `UserError` would otherwise load pydantic and build the models of the specification, which is
half of the start of `raygang lint`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module


def lazily(package: str, homes: Mapping[str, tuple[str, ...]]) -> Callable[[str], object]:
    """The `__getattr__` of a package.

    Args:
        package: its `__name__`.
        homes: module below it -> the names that the package has from there. No name may be that of a module.
    """
    home = {name: module for module, names in homes.items() for name in names}

    def __getattr__(name: str) -> object:  # noqa: N807  (it becomes the package's)
        if name not in home:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(f"{package}.{home[name]}"), name)

    return __getattr__
