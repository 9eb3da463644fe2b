import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from raygang.runtime.config import AppConfig, GangConfig

sizes = st.integers(1, 16)


@given(sizes, sizes)
def test_one_bundle_per_rank_with_one_gpu_each(tensor: int, pipeline: int) -> None:
    bundles = GangConfig(tensor=tensor, pipeline=pipeline, nodes=pipeline).bundles()
    assert len(bundles) == tensor * pipeline
    assert all(b["GPU"] == 1 for b in bundles)


@given(sizes, sizes)
def test_the_replica_shares_the_first_bundle_and_no_other(tensor: int, pipeline: int) -> None:
    first, *others = GangConfig(tensor=tensor, pipeline=pipeline, nodes=1, cpus_per_rank=2, replica_cpus=3).bundles()
    assert first["CPU"] == 5
    assert all(b["CPU"] == 2 for b in others)


def test_ranks_that_have_a_node_each_are_spread_strictly() -> None:
    assert GangConfig(tensor=1, pipeline=2, nodes=2).strategy() == "STRICT_SPREAD"


def test_several_ranks_on_a_node_are_packed() -> None:
    assert GangConfig(tensor=8, pipeline=2, nodes=2).strategy() == "PACK"


def test_an_unknown_argument_is_refused() -> None:
    with pytest.raises(ValidationError, match="max_model_length"):
        AppConfig.model_validate({"served_name": "m", "model_path": "/m", "max_model_length": 1})
