#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# usage: config_texts.sh PROGRAM FOLDER SOURCE COMPILER...
# Lets PROGRAM write SOURCE of what FOLDER holds, and compiles it.
set -e
program=$1 folder=$2 source=$3
shift 3
"$program" "$folder" > "$source"
exec "$@" "$source"
