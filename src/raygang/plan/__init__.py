"""Does it fit: parallelism, memory per rank, and the shape of the gang."""

from raygang.plan.choose import plan
from raygang.plan.describe import Description, RankRow, describe
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
