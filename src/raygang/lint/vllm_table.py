"""vLLM's engine arguments and environment variables, as of the version in data/vllm.json (tools/vllm_arguments.py)."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from importlib import resources

FILE = "vllm.json"
# Engine arguments of earlier versions, with what took their place; empty where nothing did.
GONE: dict[str, str] = {
    "cuda_graph_sizes": "cudagraph_capture_sizes", "calculate_kv_scales": "", "device": "",
    "disable_async_output_proc": "async_scheduling", "disable_frontend_multiprocessing": "",
    "disable_log_requests": "enable_log_requests", "disable_mm_preprocessor_cache": "mm_processor_cache_gb: 0",
    "enable_lora_bias": "", "enable_multimodal_encoder_data_parallel": "mm_encoder_tp_mode: data",
    "enable_prompt_adapter": "", "enable_reasoning": "reasoning_parser", "engine_use_ray": "",
    "full_cuda_graph": "compilation_config", "guided_decoding_backend": "structured_outputs_config.backend",
    "guided_decoding_disable_additional_properties": "structured_outputs_config",
    "guided_decoding_disable_any_whitespace": "structured_outputs_config",
    "guided_decoding_disable_fallback": "structured_outputs_config", "limit_mm_preprocessing": "",
    "logits_processor_pattern": "", "long_lora_scaling_factors": "", "lora_extra_vocab_size": "",
    "max_context_len_to_capture": "max_cudagraph_capture_size", "max_cpu_prompt_adapters": "",
    "max_long_partial_prefills": "", "max_num_partial_prefills": "", "max_prompt_adapter_token": "",
    "max_prompt_adapters": "", "max_seq_len_to_capture": "max_cudagraph_capture_size",
    "multi_step_stream_outputs": "", "ngram_prompt_lookup_max": "speculative_config",
    "ngram_prompt_lookup_min": "speculative_config", "num_lookahead_slots": "", "num_scheduler_steps": "",
    "num_speculative_tokens": "speculative_config", "override_neuron_config": "additional_config",
    "override_pooler_config": "pooler_config", "preemption_mode": "", "qlora_adapter_name_or_path": "",
    "rope_scaling": "hf_overrides: {rope_parameters: ...}", "rope_theta": "hf_overrides: {rope_parameters: ...}",
    "scheduler_delay_factor": "", "speculative_disable_by_batch_size": "speculative_config",
    "speculative_draft_tensor_parallel_size": "speculative_config", "speculative_max_model_len": "speculative_config",
    "speculative_model": "speculative_config", "swap_space": "", "task": "runner and convert",
    "tokenizer_pool_extra_config": "", "tokenizer_pool_size": "", "tokenizer_pool_type": "",
    "typical_acceptance_sampler_posterior_alpha": "", "typical_acceptance_sampler_posterior_threshold": "",
    "spec_decoding_acceptance_method": "speculative_config", "use_v2_block_manager": "", "worker_use_ray": "",
}  # fmt: skip


@dataclass(frozen=True)
class Table:
    """All of it.

    Attributes:
        version: of vLLM.
        engine: engine arguments with what they take: int, float, bool, str, the name of a list of words, or any; a ?
            follows where null is allowed.
        frontend: arguments of the HTTP server that Ray takes among the engine's.
        choices: lists of words by name.
        variables: environment variables.
    """

    version: str
    engine: dict[str, str]
    frontend: frozenset[str]
    choices: dict[str, list[str]]
    variables: frozenset[str]


@cache
def vllm() -> Table:
    """The table."""
    text = resources.files("raygang.lint").joinpath("data", FILE).read_text()
    data = json.loads(text)
    return Table(
        data["version"], data["engine"], frozenset(data["frontend"]), data["choices"], frozenset(data["variables"])
    )
