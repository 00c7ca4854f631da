#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# usage: compile_and_run.sh PROGRAM COMPILER ARGUMENT...
set -eu
program=$1
shift
"$@" -o "$program"
exec "$program"
