#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Compiles and runs a program with the flags that pkg-config gives for the installed library.
#
# usage: pkg_config.sh PROGRAM PKG_CONFIG_FOLDER COMPILER ARGUMENT...
set -eu
program=$1
export PKG_CONFIG_PATH=$2
shift 2
# shellcheck disable=SC2046  # flags are words
"$@" $(pkg-config --cflags --libs skald) -o "$program"
exec "$program"
