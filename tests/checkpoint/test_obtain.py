"""Getting hold of a model: whole or not at all, and once."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from raygang.checkpoint import obtain, read_checkpoint
from raygang.spec import ModelSource, ModelSpec, SecretRef, UserError
from tests.support.tiny import make_tiny_llama


def model(source: str, **fields: object) -> ModelSpec:
    return ModelSpec.model_validate({"source": ModelSource.parse(source), **fields})


def get(source: str, base: Path, **options: object) -> Path:
    return obtain(model(source), base=base, cache=base / "cache", **options)  # type: ignore[arg-type]


def test_a_directory_is_used_where_it_is(tmp_path: Path) -> None:
    make_tiny_llama(tmp_path / "tiny")
    assert get("./tiny", tmp_path) == tmp_path / "tiny"


def test_a_directory_without_weights(tmp_path: Path) -> None:
    make_tiny_llama(tmp_path / "tiny")
    (tmp_path / "tiny" / "model.safetensors").rename(tmp_path / "tiny" / "pytorch_model.bin")
    with pytest.raises(UserError, match=r"its weights are a pickle \(pytorch_model\.bin\)"):
        get("./tiny", tmp_path)
    (tmp_path / "tiny" / "pytorch_model.bin").unlink()
    with pytest.raises(UserError, match="no weights in it"):
        get("./tiny", tmp_path)


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    told: list[tuple[str, int, int]] = []
    base = tmp_path_factory.mktemp("demo")
    path = get("demo:smollm2", base, progress=lambda what, done, total: told.append((what, done, total)))
    assert told[-1][1] == told[-1][2]
    assert [t[1] for t in told] == sorted(t[1] for t in told)
    return path


def test_the_demo_becomes_a_checkpoint_with_a_chat_template(demo: Path) -> None:
    found = read_checkpoint(demo)
    assert (found.layers, found.attention_heads, found.kv_heads, found.vocab_size) == (30, 9, 3, 49152)
    assert found.tied_embeddings
    assert found.total_bytes == 2 * 134_515_008
    files = {p.name for p in demo.iterdir()}
    assert {"config.json", "model.safetensors", "tokenizer.json", "generation_config.json"} <= files
    texts = [
        p.read_text()
        for p in demo.iterdir()
        if (p.suffix in (".json", ".jinja") and "token" in p.name) or p.suffix == ".jinja"
    ]
    assert any("chat_template" in t or "im_start" in t for t in texts)


def test_a_conversion_is_not_done_twice(demo: Path) -> None:
    before = (demo / "model.safetensors").stat().st_mtime_ns
    assert get("demo:smollm2", demo.parents[2]) == demo
    assert (demo / "model.safetensors").stat().st_mtime_ns == before


def test_nothing_half_made_stays_and_two_can_ask_at_once(demo: Path, tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from raygang.checkpoint import obtain\n"
        "from raygang.spec import ModelSource, ModelSpec\n"
        "spec = ModelSpec(source=ModelSource.parse('demo:smollm2'))\n"
        f"print(obtain(spec, base=Path('.'), cache=Path({str(tmp_path)!r})))\n"
    )
    both = [subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) for _ in range(2)]
    paths = {p.communicate(timeout=100)[0].strip() for p in both}
    assert len(paths) == 1
    assert [p.returncode for p in both] == [0, 0]
    assert sorted(p.name for p in (tmp_path / "models").iterdir()) == sorted(["lock", demo.name])


def gguf(path: Path, architecture: str) -> Path:
    from gguf import GGUFWriter

    writer = GGUFWriter(path, architecture)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def test_a_gguf_of_another_architecture_is_named(tmp_path: Path) -> None:
    gguf(tmp_path / "m.gguf", "mamba")
    with pytest.raises(UserError, match="architecture 'mamba'; only llama can be converted"):
        get("./m.gguf", tmp_path)


@pytest.mark.parametrize(
    ("content", "message"), [(b"PK\x03\x04", "not a GGUF file"), (b"GGUF\x03\0\0\0\x01", "damaged or cut off")]
)
def test_what_is_no_gguf(tmp_path: Path, content: bytes, message: str) -> None:
    (tmp_path / "m.gguf").write_bytes(content)
    with pytest.raises(UserError, match=message):
        get("./m.gguf", tmp_path)


def test_a_gguf_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no such file"):
        get("./m.gguf", tmp_path)


def test_no_room_for_the_conversion(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from raygang.checkpoint import obtain as module  # noqa: F401

    usage = os.statvfs(tmp_path)
    assert usage.f_bavail > 0
    monkeypatch.setattr("shutil.disk_usage", lambda _: type("Usage", (), {"free": 10 * 2**20})())
    with pytest.raises(UserError, match="10 MiB are free") as e:
        get("demo:smollm2", tmp_path)
    assert e.value.exit_code == 1
    assert [p.name for p in (tmp_path / "cache" / "models").iterdir()] == ["lock"]


def test_a_conversion_to_a_type_that_cannot_be(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="cannot be converted to 'fp8'"):
        get("demo:smollm2", tmp_path, dtype="fp8")


def test_a_hub_model_without_network_is_exit_code_3(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code = (
        "from pathlib import Path; from raygang.checkpoint import obtain\n"
        "from raygang.spec import ModelSource, ModelSpec, UserError\n"
        "try: obtain(ModelSpec(source=ModelSource.parse('org/name')), base=Path('.'), cache=Path('.'))\n"
        "except UserError as e: print(e.exit_code, e.message, '|', e.hint)\n"
    )
    env = {**os.environ, "HF_HUB_OFFLINE": "1", "HF_HOME": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", code], env=env, text=True, capture_output=True, timeout=100, check=True
    )
    assert done.stdout.startswith("3 org/name is not in the local cache, and HF_HUB_OFFLINE is set |")


def test_a_token_by_reference_must_be_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MY_TOKEN", raising=False)
    spec = model("org/name", token=SecretRef(env="MY_TOKEN"))
    with pytest.raises(UserError, match="MY_TOKEN, which is not set"):
        obtain(spec, base=tmp_path, cache=tmp_path)


def test_what_is_in_the_hub_cache_is_used_offline(tmp_path: Path) -> None:
    """The cache's own layout (huggingface_hub 1.x), filled by hand."""
    repo = tmp_path / "hub" / "models--org--name"
    made = make_tiny_llama(repo / "snapshots" / "abc")
    (repo / "refs").mkdir()
    (repo / "refs" / "main").write_text("abc")
    code = (
        "from pathlib import Path; from raygang.checkpoint import obtain\n"
        "from raygang.spec import ModelSource, ModelSpec\n"
        "print(obtain(ModelSpec(source=ModelSource.parse('org/name')), base=Path('.'), cache=Path('.')))\n"
    )
    env = {**os.environ, "HF_HUB_OFFLINE": "1", "HF_HOME": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", code], env=env, text=True, capture_output=True, timeout=100, check=True
    )
    assert done.stdout.strip() == str(made)
    assert json.loads((made / "config.json").read_text())["model_type"] == "llama"
