"""A model's directory from wherever it is: made once, whole or not at all."""

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import gguf
import numpy as np
import pytest
from safetensors.numpy import load_file

from raygang.checkpoint import obtain, read_checkpoint
from raygang.spec import ModelSpec, UserError
from tests.checkpoint.gguf_files import TEMPLATE, write_enormous_gguf, write_gguf

HELPER = """
import json, os, resource, sys
from pathlib import Path
from raygang.checkpoint import obtain
from raygang.spec import ModelSpec, UserError
source, cache, how = sys.argv[1:]
def progress(what, done, total):
    if how == "killed":
        os.kill(os.getpid(), 9)
    if done == total and what.startswith("converting"):
        print("converted", flush=True)
if how == "small files":
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
try:
    print(obtain(ModelSpec(source=source), base=Path("/"), cache=Path(cache), dtype="float32", progress=progress))
except UserError as e:
    print(e.message, "|", e.hint)
    sys.exit(10 + e.exit_code)
"""


def spec(source: Path | str) -> ModelSpec:
    return ModelSpec.model_validate({"source": str(source)})


def start(source: Path, cache: Path, how: str = "") -> "subprocess.Popen[str]":
    command = [sys.executable, "-c", HELPER, str(source), str(cache), how]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONWARNINGS": "default"})


def end(process: "subprocess.Popen[str]") -> tuple[int, str]:
    output, _ = process.communicate(timeout=100)
    return process.returncode, output


def models(cache: Path) -> list[str]:
    return sorted(p.name for p in (cache / "models").iterdir() if p.name != "lock")


@pytest.fixture(scope="session")
def converted(tmp_path_factory: pytest.TempPathFactory, tiny_gguf: Path) -> tuple[Path, Path]:
    """The cache after two processes wanted the same model at once, and the directory that both got."""
    cache = tmp_path_factory.mktemp("cache")
    both = [end(process) for process in [start(tiny_gguf, cache), start(tiny_gguf, cache)]]
    assert [code for code, _ in both] == [0, 0]
    places = {output.splitlines()[-1] for _, output in both}
    assert len(places) == 1
    assert sum("converted" in output for _, output in both) == 1
    return cache, Path(places.pop())


def test_two_processes_at_once_make_one_model(converted: tuple[Path, Path]) -> None:
    cache, directory = converted
    assert models(cache) == [directory.name]
    assert directory.name.startswith("tiny-f32-float32-")


def test_a_converted_model_is_the_model(converted: tuple[Path, Path], tiny: Path) -> None:
    _, directory = converted
    before, after = load_file(tiny / "model.safetensors"), load_file(directory / "model.safetensors")
    assert all(np.array_equal(before[name], after[name]) for name in before)
    checkpoint = read_checkpoint(directory)
    assert (checkpoint.layers, checkpoint.dtype, checkpoint.vocab_size) == (2, "float32", 320)
    assert json.loads((directory / "generation_config.json").read_text())["eos_token_id"] == [257, 258]


def test_a_converted_model_keeps_its_tokenizer_and_chat_template(converted: tuple[Path, Path]) -> None:
    from tokenizers import Tokenizer

    _, directory = converted
    assert (directory / "chat_template.jinja").read_text() == TEMPLATE
    tokenizer = Tokenizer.from_file(str(directory / "tokenizer.json"))
    text = "ab <|user|>héllo  12"
    assert tokenizer.decode(tokenizer.encode(text).ids, skip_special_tokens=False) == text
    assert "<|user|>" in tokenizer.encode(text).tokens
    assert "ab" in tokenizer.encode(text).tokens, "merges"
    assert "12" not in tokenizer.encode(text).tokens, "SmolLM's rule: each digit alone, although 1 and 2 have a merge"


def test_a_second_time_nothing_is_converted(converted: tuple[Path, Path], tiny_gguf: Path) -> None:
    cache, directory = converted
    told: list[str] = []
    again = obtain(
        spec(tiny_gguf),
        base=Path("/"),
        cache=cache,
        dtype="float32",
        progress=lambda what, done, total: told.append(what),
    )
    assert again == directory
    assert told == []


def test_a_killed_conversion_leaves_nothing_that_the_next_keeps(tmp_path: Path, tiny_gguf: Path) -> None:
    code, _ = end(start(tiny_gguf, tmp_path, "killed"))
    assert code == -signal.SIGKILL
    assert [name[:8] for name in models(tmp_path)] == [".making-"]
    code, output = end(start(tiny_gguf, tmp_path))
    assert code == 0, output
    assert models(tmp_path) == [Path(output.splitlines()[-1]).name]


def test_a_damaged_model_in_the_cache_is_made_again(
    converted: tuple[Path, Path], tmp_path: Path, tiny_gguf: Path
) -> None:
    cache = tmp_path / "cache"
    shutil.copytree(converted[0], cache)
    weights = cache / "models" / converted[1].name / "model.safetensors"
    os.truncate(weights, 1000)
    code, output = end(start(tiny_gguf, cache))
    assert code == 0, output
    assert weights.stat().st_size > 1000


def test_a_disk_that_is_too_small_is_found_before_anything_is_written(tmp_path: Path, tiny: Path) -> None:
    rows = shutil.disk_usage(tmp_path).free // 128  # makes four times of what is free
    path = write_enormous_gguf(tmp_path / "enormous.gguf", tiny, rows)
    with pytest.raises(UserError, match=r"needs \d+ MiB in .*, and \d+ MiB are free") as e:
        obtain(spec(path), base=tmp_path, cache=tmp_path / "cache")
    assert e.value.exit_code == 1
    assert models(tmp_path / "cache") == []


def test_a_write_that_fails_is_a_message_and_leaves_nothing(tmp_path: Path, tiny_gguf: Path) -> None:
    code, output = end(start(tiny_gguf, tmp_path, "small files"))
    assert code == 11
    assert f"{tmp_path}/models cannot be written: File too large | make room" in output
    assert models(tmp_path) == []


def test_a_cache_that_cannot_be_is_a_message(tmp_path: Path, tiny_gguf: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="cannot be written: Not a directory"):
        obtain(spec(tiny_gguf), base=tmp_path, cache=tmp_path / "file")


def test_a_gguf_is_found_from_the_specifications_directory(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"/sub/x\.gguf: no such file"):
        obtain(spec("./sub/x.gguf"), base=tmp_path, cache=tmp_path)


def test_a_gguf_becomes_floating_point_only(tmp_path: Path, tiny_gguf: Path) -> None:
    with pytest.raises(UserError, match=r"engine\.args\.dtype: a GGUF model cannot be converted to 'int8'"):
        obtain(spec(tiny_gguf), base=tmp_path, cache=tmp_path, dtype="int8")


def test_a_directory_is_itself(tiny: Path) -> None:
    relative = spec(f"./{tiny.name}")
    assert obtain(relative, base=tiny.parent, cache=Path("/nowhere")) == tiny.resolve()


@pytest.mark.parametrize(
    ("files", "words"),
    [
        (["pytorch_model.bin"], "its weights are a pickle (pytorch_model.bin)"),
        (["pytorch_model-00001-of-00002.bin", "pytorch_model-00002-of-00002.bin"], "its weights are a pickle"),
        (["consolidated.00.pth"], "its weights are a pickle (consolidated.00.pth)"),
        (["model-q4.gguf"], "to serve model-q4.gguf, name that file"),
        ([], "no weights in it"),
    ],
)
def test_a_directory_without_safetensors_is_refused(tmp_path: Path, tiny: Path, files: list[str], words: str) -> None:
    shutil.copy(tiny / "config.json", tmp_path)
    for name in files:
        (tmp_path / name).write_bytes(b"weights")
    with pytest.raises(UserError) as e:
        obtain(spec(tmp_path), base=tmp_path, cache=tmp_path)
    assert words in e.value.message
    assert "safetensors" in (e.value.hint or "")


def test_a_directory_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no such directory"):
        obtain(spec("./nothing"), base=tmp_path, cache=tmp_path)


def test_nothing_heavy_is_imported_before_it_is_needed() -> None:
    code = (
        "import sys, raygang.checkpoint, raygang.hardware, raygang.plan\n"
        "heavy = {'torch', 'transformers', 'gguf', 'huggingface_hub', 'vllm', 'ray', 'numpy'} & set(sys.modules)\n"
        "assert not heavy, heavy"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_a_tokenizer_that_does_not_fit_together_is_a_message(tmp_path: Path, tiny: Path) -> None:
    def spoil(writer: gguf.GGUFWriter) -> None:
        writer.kv_data[0].pop("tokenizer.ggml.merges")
        writer.add_token_merges(["x yz"])

    path = write_gguf(tmp_path / "spoilt.gguf", tiny, extra=spoil)
    code, output = end(start(path, tmp_path))
    assert code == 12
    assert f"{path}: its tokenizer cannot be converted: " in output
    assert models(tmp_path) == []
