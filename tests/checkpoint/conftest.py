from pathlib import Path

import pytest

from tests.checkpoint.gguf_files import write_gguf
from tests.support.tiny import make_tiny_llama


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_tiny_llama(tmp_path_factory.mktemp("models") / "tiny", layers=2)


@pytest.fixture(scope="session")
def tiny_gguf(tmp_path_factory: pytest.TempPathFactory, tiny: Path) -> Path:
    return write_gguf(tmp_path_factory.mktemp("gguf") / "Tiny-F32.gguf", tiny)
