"""Does it fit: parallelism, memory per rank, and the shape of the gang."""

from raygang.plan.choose import plan
from raygang.plan.describe import Description, RankRow, describe
from raygang.plan.fits import fits_machine, memory_needed
from raygang.plan.model import NodeShape, Plan, Rank

__all__ = [
    "Description",
    "NodeShape",
    "Plan",
    "Rank",
    "RankRow",
    "describe",
    "fits_machine",
    "memory_needed",
    "plan",
]
