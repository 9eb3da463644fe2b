"""vLLM over several Ray nodes without GPUs: what stock vLLM 0.32 lacks on its CPU platform.

Stock vLLM refuses ("current platform cpu does not support ray"). Ranks here are logical GPU slots of Ray nodes
(`ray start --num-gpus=N`); everything else is vLLM's own CPU platform.
"""
