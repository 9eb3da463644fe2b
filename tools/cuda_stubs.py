# /// script
# requires-python = ">=3.11"
# dependencies = ["pyelftools>=0.32", "ziglang>=0.15"]
# ///
"""Stand-ins for the CUDA libraries that PyPI's torch links, for machines without a GPU.

PyPI has torch for Linux x86-64 only as a CUDA build. Its libraries name cuDNN, NCCL, cuBLAS and others
(2 GB of wheels) that are never called when no GPU is there, yet the dynamic loader wants every one of them.
For each library that is named and missing this script writes a shared object with the same name and the
symbols that torch asks of it; each symbol traps when called. `import torch` then works, and
`torch.cuda.is_available()` is False.

usage: uv run --no-project --script tools/cuda_stubs.py VENV

Needs no compiler on the machine: the `ziglang` wheel brings one. Seen to work with torch 2.13.0.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from elftools.elf.dynamic import DynamicSection
from elftools.elf.elffile import ELFFile
from elftools.elf.gnuversions import GNUVerNeedSection, GNUVerSymSection
from elftools.elf.sections import SymbolTableSection

# Library (up to its version) -> the symbols that belong to it. Symbols that carry a version name their library
# themselves; most CUDA symbols carry none.
OWNERS = {
    "libcublas.so": r"^cublas(?!Lt)",
    "libcublasLt.so": r"^cublasLt",
    "libcudnn.so": r"^cudnn",
    "libcufft.so": r"^cufft",
    "libcufile.so": r"^cuFile",
    "libcurand.so": r"^curand",
    "libcusparse.so": r"^cusparse(?!Lt)",
    "libcusparseLt.so": r"^cusparseLt",
    "libnccl.so": r"^nccl",
    "libnvrtc.so": r"^nvrtc",
    "libnvshmem_host.so": r"^nvshmem",
}
Symbol = tuple[str, str]  # name, version ("" where it has none)


def main() -> int:
    if len(sys.argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    libs = next(Path(sys.argv[1]).glob("lib/python3*/site-packages/torch/lib"), None)
    if libs is None:
        print(f"cuda_stubs: no torch below {sys.argv[1]}", file=sys.stderr)
        return 2
    wanted = missing_libraries(libs)
    symbols = symbols_of(libs, wanted)
    for name in sorted(wanted):
        build(libs / name, symbols[name])
        print(f"cuda_stubs: {name}: {len(symbols[name])} symbols")
    if not wanted:
        print("cuda_stubs: nothing is missing")
    return 0


def missing_libraries(libs: Path) -> set[str]:
    """The CUDA libraries that torch's own libraries name and that no wheel brought."""
    present = {p.name for p in libs.iterdir()} | {p.name for p in libs.parents[1].glob("nvidia/**/*.so*")}
    named = {tag.needed for p in elf_files(libs) for tag in dynamic_tags(p) if tag.entry.d_tag == "DT_NEEDED"}
    return {n for n in named - present if n.partition(".so")[0] + ".so" in OWNERS}


def symbols_of(libs: Path, wanted: set[str]) -> dict[str, set[Symbol]]:
    """For each wanted library, the undefined symbols of torch's libraries that it has to define."""
    owners = {n: re.compile(OWNERS[n.partition(".so")[0] + ".so"]) for n in wanted}
    found: dict[str, set[Symbol]] = defaultdict(set)
    for path in elf_files(libs):
        for name, version in undefined(path):
            for library, pattern in owners.items():
                if pattern.match(name):
                    found[library].add((name, version))
    return found


def elf_files(libs: Path) -> Iterator[Path]:
    return (p for p in sorted(libs.iterdir()) if ".so" in p.name and p.is_file())


def dynamic_tags(path: Path) -> list:
    with path.open("rb") as f:
        section = ELFFile(f).get_section_by_name(".dynamic")
        return list(section.iter_tags()) if isinstance(section, DynamicSection) else []


def undefined(path: Path) -> Iterator[Symbol]:
    with path.open("rb") as f:
        elf = ELFFile(f)
        table = elf.get_section_by_name(".dynsym")
        if not isinstance(table, SymbolTableSection):
            return
        versions = version_names(elf)
        index = elf.get_section_by_name(".gnu.version")
        for i, symbol in enumerate(table.iter_symbols()):
            if symbol.name and symbol["st_shndx"] == "SHN_UNDEF":
                number = index.get_symbol(i)["ndx"] if isinstance(index, GNUVerSymSection) else 0
                yield symbol.name, versions.get(number, "")


def version_names(elf: ELFFile) -> dict[int, str]:
    section = elf.get_section_by_name(".gnu.version_r")
    if not isinstance(section, GNUVerNeedSection):
        return {}
    return {aux["vna_other"]: aux.name for _, entries in section.iter_versions() for aux in entries}


def build(target: Path, symbols: set[Symbol]) -> None:
    names = sorted({n for n, _ in symbols}) or ["raygang_cuda_stub"]
    by_version: dict[str, list[str]] = defaultdict(list)
    for name, version in sorted(symbols):
        if version:
            by_version[version].append(name)
    with tempfile.TemporaryDirectory() as tmp:
        source, script = Path(tmp, "stub.c"), Path(tmp, "stub.map")
        source.write_text("".join(f"void {n}(void) {{ __builtin_trap(); }}\n" for n in names))
        command = [sys.executable, "-m", "ziglang", "cc", "-target", "x86_64-linux-gnu", "-shared", "-fPIC", "-s", "-w"]
        command += ["-nostdlib", f"-Wl,-soname,{target.name}", "-o", str(target), str(source)]
        if by_version:
            script.write_text("\n".join(f"{v} {{ global: {'; '.join(ns)}; }};" for v, ns in by_version.items()))
            command.append(f"-Wl,--version-script={script}")
        subprocess.run(command, check=True, timeout=300)


if __name__ == "__main__":
    sys.exit(main())
