#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Links sources that were compiled in one way, and sees that sources of two ways do not link.
#
# usage: mixed.sh FOLDER COMPILER ARGUMENT...
set -eu
folder=$1
shift
mkdir -p "$folder"
printf '#include "skald/base/result.h"\nint main() {}\n' >"$folder/main.cc"
printf '#include "skald/base/result.h"\nvoid Other() {}\n' >"$folder/other.cc"
"$@" -c "$folder/main.cc" -o "$folder/alone_main.o"
"$@" -c "$folder/other.cc" -o "$folder/alone.o"
"$@" -DSKALD_COMPILED -c "$folder/other.cc" -o "$folder/compiled.o"
"$@" "$folder/alone_main.o" "$folder/alone.o" -o "$folder/program"
if "$@" "$folder/alone_main.o" "$folder/compiled.o" -o "$folder/program" 2>"$folder/error.txt"; then
  echo "sources of two ways link"
  exit 1
fi
grep -q way_of_compiling "$folder/error.txt"
