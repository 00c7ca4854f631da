#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Makes the Debian package of a build, unpacks it, runs its program, and compiles and runs a program with the flags that
# pkg-config gives for the library in it.
#
# usage: deb.sh BUILD WORK LIBRARY_FOLDER VERSION COMPILER ARGUMENT...
set -eu
build=$1 work=$2 library=$3 version=$4
shift 4
rm -rf "$work" && mkdir -p "$work"
export DPKG_DEB_COMPRESSOR_LEVEL=0 # that of releases takes half a minute
package=$("$(dirname "$0")/../../.ci/deb" "$build" "$work")
dpkg-deb --info "$package" | grep -q "Version: $version$"
dpkg-deb --info "$package" | grep -q 'Depends:.*libc6'
dpkg-deb -x "$package" "$work/root"
grep -q 'Apache License' "$work/root/usr/share/doc/skald/copyright"
"$work/root/usr/bin/skald" --version | grep -q "$version"
export PKG_CONFIG_PATH="$work/root/usr/$library/pkgconfig"
[ "$(pkg-config --modversion skald)" = "$version" ]
# shellcheck disable=SC2046  # flags are words
"$@" $(pkg-config --cflags --libs skald) -o "$work/program"
exec "$work/program"
