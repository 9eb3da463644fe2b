"""The reference: the same model in one vLLM process, without Ray.

python -m tests.support.single MODEL DTYPE MAX_TOKENS < prompts.json > answers.json
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

TOP = 5


@dataclass(frozen=True)
class Answer:
    """Greedy token ids of one prompt, and at each position the log probabilities of the likeliest tokens."""

    tokens: list[int]
    likely: list[dict[int, float]]

    def disagreement(self, other: list[int]) -> float:
        """How much less likely the other's token is, in nats, where the two first differ: 0 when they never do.

        Infinite when the other's token is not even among the likeliest. What follows is not compared: from there on
        the two have different texts.
        """
        assert len(other) == len(self.tokens)
        for mine, its, likely in zip(self.tokens, other, self.likely, strict=True):
            if mine != its:
                return likely[mine] - likely.get(its, -float("inf"))
        return 0


def single_process(model: Path, dtype: str, prompts: list[str], max_tokens: int) -> list[Answer]:
    """The answer to each prompt."""
    env = {k: v for k, v in os.environ.items() if not k.startswith("RAYGANG_CPU")}
    env |= {"VLLM_NO_USAGE_STATS": "1", "VLLM_LOGGING_LEVEL": "ERROR", "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "tests.support.single", str(model), dtype, str(max_tokens)]
    done = subprocess.run(
        command, input=json.dumps(prompts), env=env, text=True, stdout=subprocess.PIPE, check=True, timeout=300
    )
    return [
        Answer(tokens, [{int(k): v for k, v in position.items()} for position in likely])
        for tokens, likely in json.loads(done.stdout.strip().splitlines()[-1])
    ]


def main() -> None:
    from vllm import LLM, SamplingParams

    model, dtype, max_tokens = sys.argv[1], sys.argv[2], int(sys.argv[3])
    prompts = json.load(sys.stdin)
    llm = LLM(model, dtype=dtype, max_model_len=1024, max_num_seqs=16, enforce_eager=True, kv_cache_memory_bytes=2**27)
    sampling = SamplingParams(temperature=0, max_tokens=max_tokens, ignore_eos=True, logprobs=TOP)
    found = []
    for output in llm.generate(prompts, sampling, use_tqdm=False):
        answer = output.outputs[0]
        assert answer.logprobs is not None
        likely = [{token: entry.logprob for token, entry in position.items()} for position in answer.logprobs]
        found.append((list(answer.token_ids), likely))
    sys.stdout.write("\n" + json.dumps(found) + "\n")


if __name__ == "__main__":
    main()
