"""The reference: the same model in one vLLM process, without Ray.

python -m tests.support.single MODEL DTYPE MAX_TOKENS < prompts.json > token_ids.json
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path


def single_process_tokens(model: Path, dtype: str, prompts: list[str], max_tokens: int) -> list[list[int]]:
    """Greedy token ids of each prompt."""
    env = {k: v for k, v in os.environ.items() if not k.startswith("RAYGANG_CPU")}
    env |= {"VLLM_NO_USAGE_STATS": "1", "VLLM_LOGGING_LEVEL": "ERROR", "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "tests.support.single", str(model), dtype, str(max_tokens)]
    done = subprocess.run(
        command, input=json.dumps(prompts), env=env, text=True, stdout=subprocess.PIPE, check=True, timeout=300
    )
    return json.loads(done.stdout.strip().splitlines()[-1])


def main() -> None:
    from vllm import LLM, SamplingParams

    model, dtype, max_tokens = sys.argv[1], sys.argv[2], int(sys.argv[3])
    prompts = json.load(sys.stdin)
    llm = LLM(model, dtype=dtype, max_model_len=1024, max_num_seqs=16, enforce_eager=True, kv_cache_memory_bytes=2**27)
    sampling = SamplingParams(temperature=0, max_tokens=max_tokens, ignore_eos=True)
    outputs = llm.generate(prompts, sampling, use_tqdm=False)
    sys.stdout.write("\n" + json.dumps([list(o.outputs[0].token_ids) for o in outputs]) + "\n")


if __name__ == "__main__":
    main()
