"""What a model needs: sizes and bytes per rank, read from its own files; and how to get hold of it."""

from raygang.checkpoint._gguf import Progress
from raygang.checkpoint.model import Checkpoint, read_checkpoint
from raygang.checkpoint.obtain import obtain
from raygang.checkpoint.ranks import RankShare, check_divisible, divisors, pipeline_layers, rank_shares

__all__ = [
    "Checkpoint",
    "Progress",
    "RankShare",
    "check_divisible",
    "divisors",
    "obtain",
    "pipeline_layers",
    "rank_shares",
    "read_checkpoint",
]
