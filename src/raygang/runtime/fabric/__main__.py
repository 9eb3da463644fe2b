"""Probes a Ray cluster as a gang would use it: `python -m raygang.runtime.fabric --nodes 2 --ranks 16`.

The report goes to standard output as one line of JSON, its sentence to standard error. Exit code 0 when it passed, 1
when it did not, 2 for wrong arguments, 3 when the cluster is not reached.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from pydantic import ValidationError

from raygang.runtime.fabric import probe
from raygang.runtime.fabric.expected import Expected


def main() -> int:
    """Run it."""
    options = _options()
    try:
        expected = Expected.model_validate_json(options.expected)
    except ValidationError as e:
        for error in e.errors():
            print(f"--expected: {'.'.join(map(str, error['loc']))}: {error['msg']}", file=sys.stderr)  # noqa: T201
        return 2
    import ray

    try:
        ray.init(options.address, log_to_driver=False, configure_logging=False)
    except ConnectionError as e:
        print(f"no Ray cluster at {options.address}: {e}", file=sys.stderr)  # noqa: T201
        return 3
    report = probe.cluster(expected, options.nodes, options.ranks, options.root)
    print(report.model_dump_json(), flush=True)  # noqa: T201
    print(report.sentence(), file=sys.stderr)  # noqa: T201
    return 0 if report.passed else 1


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m raygang.runtime.fabric", description=__doc__)
    parser.add_argument("--nodes", type=int, required=True, help="nodes of the gang")
    parser.add_argument("--ranks", type=int, required=True, help="ranks of the gang, on all nodes together")
    parser.add_argument("--expected", default="{}", help="what the network must be, as JSON")
    parser.add_argument("--address", default="auto", help="of the Ray cluster")
    parser.add_argument("--root", type=Path, default=Path("/"), help="where sys and dev are")
    options = parser.parse_args()
    if not 1 <= options.nodes <= options.ranks:
        parser.error("--nodes must be at least 1, and --ranks at least that many")
    return options


if __name__ == "__main__":
    sys.exit(main())
