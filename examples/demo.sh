#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Installs what is missing, builds the skald program and lets the demo model write. Arguments go to
# `skald generate`: examples/demo.sh --prompt "And it came to pass"
set -euo pipefail
cd "$(dirname "$0")/.."
.ci/setup program
.ci/build --program skald_cli
exec build/release/examples/skald/skald generate "$@"
