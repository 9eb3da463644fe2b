"""raygang: one spec to a multi-node OpenAI endpoint on Ray Serve and vLLM."""

__version__ = "0.1.0"
