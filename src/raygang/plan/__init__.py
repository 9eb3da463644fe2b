"""Does it fit: parallelism, memory per rank, and the shape of the gang."""

from typing import TYPE_CHECKING

from raygang._lazy import lazily

if TYPE_CHECKING:
    from raygang.plan.choose import plan
    from raygang.plan.description import Description, RankRow, describe
    from raygang.plan.fits import fits_machine, memory_needed
    from raygang.plan.model import HEAD_GROUP, Gang, NodeShape, Plan, Rank

__all__ = [
    "HEAD_GROUP",
    "Description",
    "Gang",
    "NodeShape",
    "Plan",
    "Rank",
    "RankRow",
    "describe",
    "fits_machine",
    "memory_needed",
    "plan",
]

__getattr__ = lazily(
    __name__,
    {
        "choose": ("plan",),
        "description": ("Description", "RankRow", "describe"),
        "fits": ("fits_machine", "memory_needed"),
        "model": ("HEAD_GROUP", "Gang", "NodeShape", "Plan", "Rank"),
    },
)
