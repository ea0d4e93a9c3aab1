#!/bin/sh
# Builds Fovea and tries it on this machine's graphics processor (tools/bench/on_card).
#   tools/bench/gpu.sh [DEVICE [PYTHON]]      DEVICE: cuda (default), cuda:1, opencl
set -eu
cd "$(dirname "$0")/../.."
cmake --preset release -DFOVEA_LEAVE_OUT= -DFOVEA_TESTS=ON >/dev/null
cmake --build --preset release --target inspect verify bench backend-test
# The full set of golden cases lies beside a checkout where there is one.
fixtures=tests/fixtures
[ ! -d ../shared/fixtures ] || fixtures=../shared/fixtures
exec tools/bench/on_card build/release "$fixtures" build/on_card "$@"
