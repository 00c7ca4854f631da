#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Builds the tests for 64-bit Arm with a cross compiler and runs them under qemu, on a machine that is none: the NEON
# targets must give the very bits that are saved from x86. Tests of libraries that Debian has only for the machine
# itself (tokenizer, stores, command line) are left out. Arguments go to ctest: tests/aarch64/run.sh -R kernels
set -euo pipefail
cd "$(dirname "$0")/../.."
.ci/setup aarch64
cmake --preset aarch64
cmake --build --preset aarch64 --parallel "$(getconf _NPROCESSORS_ONLN)"
exec ctest --preset aarch64 --parallel "$(getconf _NPROCESSORS_ONLN)" "$@"
