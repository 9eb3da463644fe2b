#!/usr/bin/env bash
# KubeRay's sample manifests, which the linter is tested on: they come with KubeRay's Go module.
set -euo pipefail
if ! command -v go > /dev/null; then
    echo "samples: no Go here: the tests on KubeRay's samples will be skipped"
    exit 0
fi
cd "$(mktemp -d)"
for version in v1.5.0 v1.6.0; do
    go mod download "github.com/ray-project/kuberay/ray-operator@$version"
done
echo "samples: KubeRay 1.5.0 and 1.6.0"
