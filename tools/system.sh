#!/usr/bin/env bash
# What the tests in tests/network want of the system: installed by apt where we are root, else only told.
set -euo pipefail
packages=(iproute2 iptables iperf3 procps util-linux)
commands=(ip iptables iperf3 pgrep nsenter)
PATH="$PATH:/usr/sbin:/sbin"

missing=()
for i in "${!commands[@]}"; do
    command -v "${commands[$i]}" > /dev/null || missing+=("${packages[$i]}")
done
if [ ${#missing[@]} = 0 ]; then
    exit 0
elif [ "$(id -u)" != 0 ] || ! command -v apt-get > /dev/null; then
    echo "system: no ${missing[*]} here, and not root with apt: the tests that make networks will be skipped"
else
    echo "system: installing ${missing[*]}"
    apt-get update -qq
    DEBIAN_FRONTEND=noninteractive apt-get install -qq --yes --no-install-recommends "${missing[@]}" > /dev/null
fi
