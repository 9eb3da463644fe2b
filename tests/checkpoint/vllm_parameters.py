"""Bytes of the parameters that vLLM itself makes for each rank, without an engine: the model class alone, over gloo.

python -m tests.checkpoint.vllm_parameters MODEL TENSOR PIPELINE   -> a JSON list, by rank
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path


def parameters_of(model: Path, tensor: int, pipeline: int) -> list[int]:
    """By rank; one process each."""
    with tempfile.TemporaryDirectory() as meeting:
        command = [sys.executable, "-m", "tests.checkpoint.vllm_parameters", str(model), str(tensor), str(pipeline)]
        env = {**os.environ, "VLLM_LOGGING_LEVEL": "ERROR", "OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "lo"}
        env |= {"VLLM_PLUGINS": "", "MEETING": f"file://{meeting}/point", "VLLM_NO_USAGE_STATS": "1"}
        ranks = [
            # Names of their own keep ranks from sharing memory: gloo is enough here.
            subprocess.Popen(
                [*command, str(rank)], env={**env, "VLLM_DIST_IDENT": f"{rank}"}, stdout=subprocess.PIPE, text=True
            )
            for rank in range(tensor * pipeline)
        ]
        try:
            outputs = [rank.communicate(timeout=200)[0] for rank in ranks]
        finally:
            for rank in ranks:
                rank.kill()
                rank.wait()
    return [json.loads(output.strip().splitlines()[-1]) for output in outputs]


def main() -> None:
    import torch
    from vllm.config import set_current_vllm_config
    from vllm.distributed import init_distributed_environment, initialize_model_parallel
    from vllm.engine.arg_utils import EngineArgs
    from vllm.model_executor.models.llama import LlamaForCausalLM

    model, tensor, pipeline, rank = sys.argv[1], *map(int, sys.argv[2:5])
    config = EngineArgs(model, dtype="float32", max_model_len=64, enforce_eager=True).create_engine_config()
    torch.set_default_dtype(torch.float32)
    with set_current_vllm_config(config):
        init_distributed_environment(tensor * pipeline, rank, os.environ["MEETING"], rank, "gloo")
        initialize_model_parallel(tensor, pipeline, backend="gloo")
        made = LlamaForCausalLM(vllm_config=config)
    unique = {p.data_ptr(): p.nbytes for p in made.parameters()}
    sys.stdout.write(f"\n{sum(unique.values())}\n")


if __name__ == "__main__":
    main()
