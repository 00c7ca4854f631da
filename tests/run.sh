#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Installs what is missing, builds everything and runs all tests. Arguments go to ctest: tests/run.sh -R cache
set -euo pipefail
cd "$(dirname "$0")/.."
.ci/setup
.ci/build
# One more than there are processors: some tests wait for others' answers.
exec ctest --preset release --parallel "$(($(getconf _NPROCESSORS_ONLN) + 1))" "$@"
