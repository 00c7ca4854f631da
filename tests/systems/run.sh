#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Runs the first two commands of README as a newcomer would, on minimal systems with nothing but their packages' tool:
# examples/demo.sh to its text, then tests/run.sh. Needs root, debootstrap and an archive of each system; a system whose
# archive cannot be had is skipped with a word.
#
# usage: tests/systems/run.sh [--demo] [SYSTEM...]      bookworm, trixie (Debian 12 and 13), noble (Ubuntu 24.04)
#
# With --demo the second command is left out, which takes half an hour on two cores. Systems are made once, in
# build/systems/SYSTEM; each run starts from a copy of the last commit.
set -euo pipefail
cd "$(dirname "$0")/../.."

# A build that scans sources for modules, or joins none, has several times as many.
readonly most_steps=40

demo_only=
if [ "${1:-}" = --demo ]; then
  demo_only=yes
  shift
fi
[ $# -gt 0 ] || set -- bookworm trixie noble
[ "$(id -u)" = 0 ] || { echo "systems: needs root" >&2; exit 1; }
command -v debootstrap >/dev/null || { echo "systems: needs debootstrap" >&2; exit 1; }

archive_of() {
  case $1 in
    bookworm | trixie) echo "${DEBIAN_ARCHIVE:-http://deb.debian.org/debian}" ;;
    noble) echo "${UBUNTU_ARCHIVE:-http://archive.ubuntu.com/ubuntu}" ;;
    *) echo "systems: no system $1; there are bookworm, trixie and noble" >&2; exit 2 ;;
  esac
}

# make_system <name>: false where its archive cannot be had.
make_system() {
  local root=build/systems/$1 archive
  archive=$(archive_of "$1")
  [ ! -e "$root/made" ] || return 0
  rm -rf "$root"
  mkdir -p "$root"
  # Ubuntu has most of what is needed in a component that is not the main one.
  local components=main
  [ "$1" != noble ] || components=main,universe
  debootstrap --variant=minbase --components="$components" "$1" "$root" "$archive" >"$root.log" 2>&1 || return 1
  touch "$root/made"
}

# inside <system> <command>: runs it there as root, with mounts that end with it. Tests need terminals (/dev/pts) and MPI
# the topology of processors (/sys).
inside() {
  local root=build/systems/$1
  unshare --mount --pid --fork bash -c '
    mount --rbind /dev "$1/dev" && mount -t proc proc "$1/proc" && mount --rbind /sys "$1/sys" &&
      mount -t tmpfs tmpfs "$1/dev/shm" &&
      cp /etc/resolv.conf "$1/etc/resolv.conf" && exec chroot "$1" /usr/bin/env -i HOME=/root LC_ALL=C.UTF-8 \
        PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin bash -c "$2"' inside "$root" "$2"
}

# The steps of a build, from what ninja printed.
steps_of() { grep -oE '^\[[0-9]+/[0-9]+\]' "$1" | tail -n 1 | tr -d '[]' | cut -d/ -f2; }

run_demo() {
  local system=$1 out=build/systems/$1.demo steps
  inside "$system" 'cd /skald && examples/demo.sh >/tmp/text 2>/tmp/said; code=$?; cat /tmp/said /tmp/text; exit $code' \
    >"$out" 2>&1 || { tail -n 40 "$out"; echo "systems: $system: examples/demo.sh failed"; return 1; }
  steps=$(steps_of "$out")
  [ -n "$steps" ] && [ "$steps" -le "$most_steps" ] ||
    { echo "systems: $system: the build has ${steps:-no} steps, expected at most $most_steps"; return 1; }
  # The text begins with the prompt, which is said where README says that the model writes.
  [ "$(tail -n 5 "$out" | wc -w)" -ge 20 ] || { tail -n 5 "$out"; echo "systems: $system: no text"; return 1; }
  echo "systems: $system: examples/demo.sh wrote its text; the build has $steps steps"
}

run_tests() {
  local out=build/systems/$1.tests
  inside "$1" 'cd /skald && tests/run.sh' >"$out" 2>&1 ||
    { tail -n 60 "$out"; echo "systems: $1: tests/run.sh failed"; return 1; }
  echo "systems: $1: tests/run.sh passed: $(grep -E 'tests passed' "$out")"
}

mkdir -p build/systems
failed=0
for system in "$@"; do
  archive_of "$system" >/dev/null
  if ! make_system "$system"; then
    echo "systems: SKIPPED $system: its archive, $(archive_of "$system"), cannot be had ($(tail -n 1 "build/systems/$system.log"))"
    continue
  fi
  rm -rf "build/systems/$system/skald"
  mkdir "build/systems/$system/skald"
  git archive HEAD | tar -x -C "build/systems/$system/skald"
  run_demo "$system" || { failed=1; continue; }
  [ -n "$demo_only" ] || run_tests "$system" || failed=1
done
exit $failed
