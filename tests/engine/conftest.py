import signal
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import openai
import pytest

from tests.support.cli import Run
from tests.support.tiny import make_tiny_llama

pytestmark = pytest.mark.engine


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.engine)
            item.add_marker(pytest.mark.timeout(400))


def write_spec(
    path: Path, model: Path | str, *, dtype: str = "float32", tensor: int = 1, pipeline: int = 2, **args: object
) -> Path:
    """A specification for ranks on CPUs, one per node."""
    lines = [
        f"name: {path.stem}",
        f"model: {{source: '{model}'}}",
        f"parallelism: {{tensor: {tensor}, pipeline: {pipeline}}}",
        f"nodes: {{count: {tensor * pipeline}, accelerator: cpu}}",
        "limits: {start_timeout: 5m}",
        "engine:",
        "  args:",
        *(f"    {k}: {v}" for k, v in {**ENGINE, "dtype": dtype, **args}.items()),
    ]
    path.write_text("\n".join(lines) + "\n")
    return path


ENGINE = {
    "max_model_len": 1024,
    "max_num_seqs": 16,
    "kv_cache_memory_bytes": 2**27,
    "enable_auto_tool_choice": "true",
    "tool_call_parser": "hermes",
}


@dataclass(frozen=True)
class Endpoint:
    url: str
    model: str
    path: Path
    spec: Path
    cache: Path
    run: Run
    client: openai.OpenAI


@pytest.fixture(scope="session", autouse=True)
def sigint_reaches_children() -> None:
    """A shell that starts us in the background has SIGINT ignored, and so would every run that we start."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_tiny_llama(tmp_path_factory.mktemp("models") / "tiny")


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(scope="session")
def endpoint(tmp_path_factory: pytest.TempPathFactory, tiny: Path, cache: Path) -> Iterator[Endpoint]:
    """The tiny model, pipeline parallel over two Ray nodes."""
    spec = write_spec(tmp_path_factory.mktemp("spec") / "tiny.yaml", tiny)
    with Run(spec, "--port", "18431", cache=cache) as run:
        url = run.until_ready()
        with openai.OpenAI(base_url=url, api_key="none", timeout=60, max_retries=0) as client:
            yield Endpoint(url, "tiny", tiny, spec, cache, run, client)
