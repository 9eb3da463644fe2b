"""Speed and memory of `raygang lint` against kubeconform, measured in one run.

python -m benchmarks.lint [--documents 1000] [--rounds 7]

KubeRay's own samples, as often as it takes, with changed names. kubeconform v0.8.0 checks them against the schemas of
KubeRay's CRDs and nothing else; raygang checks the same schemas and all its rules. Each round runs both, the first one
in turns; the ratio is the median over the rounds of the ratio within a round, with the lowest and the highest behind
it. Needs Go, and its module proxy the first time. Prints Markdown. Absolute figures are this machine's.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

KUBERAY = "github.com/ray-project/kuberay/ray-operator@v1.5.0"
KUBECONFORM = "github.com/yannh/kubeconform"
KUBECONFORM_VERSION = "v0.8.0"
SCHEMA_FILE = "{{.ResourceKind}}-{{.Group}}-{{.ResourceAPIVersion}}.json"
RAYGANG = str(Path(sys.executable).with_name("raygang"))
LINES = 100_000
_NAME = re.compile(r"^(metadata:\n(?:  .*\n)*?  name: *)([\w.-]+)", re.MULTILINE)
_KIND = re.compile(r"^kind: *(RayCluster|RayService|RayJob)\b", re.MULTILINE)


@dataclass(frozen=True)
class Run:
    """A process that has ended: wall time, and the most memory that it held."""

    seconds: float
    peak_mib: float
    code: int


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--documents", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        kuberay = downloaded(KUBERAY)
        theirs = [str(built(work)), "-ignore-missing-schemas", "-schema-location", str(schemas(kuberay, work))]
        texts = list(samples(kuberay))
        print("| | documents | lines | raygang lint, s | kubeconform, s | ratio |")
        print("|---|---|---|---|---|---|")
        for what, chosen in (("all", texts), ("Ray workloads", [t for t in texts if _KIND.search(t)])):
            corpus = written(chosen, options.documents, work / what.replace(" ", "-"))
            lines = sum(path.read_text().count("\n") for path in corpus.iterdir())
            ours, others = rounds([RAYGANG, "lint", str(corpus)], [*theirs, str(corpus)], options.rounds)
            ratios = [a.seconds / b.seconds for a, b in zip(ours, others, strict=True)]
            cells = [span([r.seconds for r in runs]) for runs in (ours, others)] + [span(ratios)]
            print(f"| {what} | {options.documents} | {lines} | " + " | ".join(cells) + " |")
        print("\n| | seconds | peak memory, MiB |\n|---|---|---|")
        alone(f"raygang lint of a file of {LINES} lines", [RAYGANG, "lint", str(long_file(texts, work))], 3)
        alone("raygang --help", [RAYGANG, "--help"], 2 * options.rounds)


def downloaded(module: str) -> Path:
    """A Go module's directory in the module cache."""
    done = subprocess.run(["go", "mod", "download", "-json", module], capture_output=True, text=True, check=True)
    return Path(json.loads(done.stdout)["Dir"])


def built(work: Path) -> Path:
    """kubeconform, built from its module in a module of its own."""
    place = work / "kubeconform"
    place.mkdir()
    (place / "go.mod").write_text(f"module scratch\n\ngo 1.24\n\nrequire {KUBECONFORM} {KUBECONFORM_VERSION}\n")
    environment = os.environ | {"GOFLAGS": "-mod=mod"}
    command = ["go", "build", "-o", "kubeconform", f"{KUBECONFORM}/cmd/kubeconform"]
    subprocess.run(command, cwd=place, env=environment, capture_output=True, check=True)
    return place / "kubeconform"


def schemas(kuberay: Path, work: Path) -> Path:
    """KubeRay's CRDs as JSON schemas, and the form of their paths."""
    place = work / "schemas"
    place.mkdir()
    for path in sorted((kuberay / "config" / "crd" / "bases").glob("*.yaml")):
        crd: Any = yaml.load(path.read_bytes(), getattr(yaml, "CSafeLoader", yaml.SafeLoader))
        for version in crd["spec"]["versions"]:
            name = f"{crd['spec']['names']['kind'].lower()}-{crd['spec']['group']}-{version['name']}.json"
            (place / name).write_text(json.dumps(version["schema"]["openAPIV3Schema"]))
    return place / SCHEMA_FILE


def samples(kuberay: Path) -> Iterator[str]:
    """KubeRay's samples, document by document."""
    for path in sorted((kuberay / "config" / "samples").rglob("*.yaml")):
        for text in re.split(r"^---.*\n", path.read_text(), flags=re.MULTILINE):
            if re.search(r"^kind:", text, re.MULTILINE) and path.name != "kustomization.yaml":
                yield text if text.endswith("\n") else text + "\n"


def written(texts: list[str], count: int, place: Path) -> Path:
    """So many documents with changed names, ten in a file."""
    place.mkdir()
    for number in range(0, count, 10):
        renamed = (copy(texts, n) for n in range(number, min(number + 10, count)))
        (place / f"{number:05}.yaml").write_text("---\n".join(renamed))
    return place


def copy(texts: list[str], number: int) -> str:
    return _NAME.sub(rf"\g<1>\g<2>-{number}", texts[number % len(texts)], count=1)


def long_file(texts: list[str], work: Path) -> Path:
    """One file of as many documents as make its lines."""
    path, lines = work / "long.yaml", 0
    with path.open("w") as f:
        for number in itertools.count():
            if lines >= LINES:
                break
            text = copy(texts, number)
            lines += text.count("\n") + 1
            f.write(text + "---\n")
    return path


def rounds(ours: list[str], theirs: list[str], count: int) -> tuple[list[Run], list[Run]]:
    """Both in turns, after one run of each that is not counted: what the machine does besides hits both."""
    measured(ours)
    measured(theirs)
    found: tuple[list[Run], list[Run]] = ([], [])
    for turn in range(count):
        for which in (0, 1) if turn % 2 else (1, 0):
            found[which].append(measured((ours, theirs)[which]))
    return found


def alone(what: str, command: list[str], count: int) -> None:
    measured(command)
    runs = [measured(command) for _ in range(count)]
    print(f"| {what} | {span([r.seconds for r in runs])} | {span([r.peak_mib for r in runs])} |")


def measured(command: list[str]) -> Run:
    """Run a command, its output thrown away. Raises RuntimeError when it fails otherwise than with findings."""
    # As installed: with the bytecode that Python keeps, which some build machines switch off.
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    began = time.perf_counter()
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment) as process:
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - began
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in (0, 1):
        raise RuntimeError(f"{' '.join(command)}: exit code {process.returncode}")
    return Run(seconds, usage.ru_maxrss / 1024, process.returncode)


def span(values: list[float]) -> str:
    form = ".0f" if min(values) >= 100 else ".2f"
    return f"{statistics.median(values):{form}} ({min(values):{form}}-{max(values):{form}})"


if __name__ == "__main__":
    main()
