"""What a model needs: sizes and bytes per rank, read from its own files; and how to get hold of it."""

from raygang.checkpoint._progress import Progress
from raygang.checkpoint._sizes import Parts
from raygang.checkpoint.model import DTYPE_BYTES, Checkpoint, checkpoint_from_config, read_checkpoint
from raygang.checkpoint.obtain import obtain, obtain_config
from raygang.checkpoint.ranks import (
    Indivisible,
    RankShare,
    check_divisible,
    divisors,
    indivisible,
    padded_vocabulary,
    pipeline_layers,
    rank_shares,
    tensor_sizes,
)

__all__ = [
    "DTYPE_BYTES",
    "Checkpoint",
    "Indivisible",
    "Parts",
    "Progress",
    "RankShare",
    "check_divisible",
    "checkpoint_from_config",
    "divisors",
    "indivisible",
    "obtain",
    "obtain_config",
    "padded_vocabulary",
    "pipeline_layers",
    "rank_shares",
    "read_checkpoint",
    "tensor_sizes",
]
