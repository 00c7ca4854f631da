#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# The deep checks, for before a release: what tests/run.sh leaves out because it takes hours.
#
# usage: tests/deep.sh [STAGE...]      all of them where none is named
#
#   asan       every test that runs under the address and undefined-behaviour sanitizers
#   tsan       the same under the thread sanitizer
#   aarch64    the tests for 64-bit Arm, under qemu
#   fuzz       every fuzz target for a minute (FUZZ_SECONDS), from its corpus on; needs clang
#   standards  every header alone, and as C++20 and C++23, with and without exceptions, by g++ and clang; programs run
#   tidy       clang-tidy with the checks of .clang-tidy; needs clang-tidy 14
#   newcomers  three newcomers on clean clones, with README's words alone; the seconds to their first success
#   systems    both commands of README on minimal systems; needs root and debootstrap
#   python     the Python module is installed into a clean environment and tested
#   peers      the same files and tokens in the llama.cpp of this machine, whose libraries SKALD_LLAMA_CPP names
#   cross      programs for macOS, Windows and musl are compiled, and run where this machine can: Zig, MinGW-w64, Wine, qemu
#
# It stops at the first stage that fails. CTEST_ARGUMENTS go to ctest, as in CTEST_ARGUMENTS="-R cache" tests/deep.sh asan
set -euo pipefail
cd "$(dirname "$0")/.."

readonly stages=(asan tsan aarch64 fuzz standards tidy newcomers systems python peers cross)
readonly found=build/deep
jobs=$(getconf _NPROCESSORS_ONLN)
read -ra ctest_arguments <<< "${CTEST_ARGUMENTS:-}"

need() {
  for program in "$@"; do
    command -v "$program" > /dev/null || { echo "deep.sh: needs $program" >&2; exit 1; }
  done
}

# The compilers that there are: clang of whichever version.
clang() { compgen -c clang++ | sort | head -n 1; }
compilers() { echo g++ && clang; }

# Where Highway is built from, or nothing if the system's is used.
highway() { [ ! -d build/deps/highway ] || echo -isystem build/deps/highway; }

# A source that includes every header which can stand alone, in a program of headers alone, without MPI.
every_header() {
  (cd include && find skald -name '*.h' ! -name '*-inl.h' ! -path 'skald/compiled*' ! -name 'mpi_*' ! -path '*/detail/windows/*' | LC_ALL=C sort | sed 's/.*/#include "&"/')
}

# All tests but those of what compiles, with further arguments for ctest.
sanitized() {
  cmake --preset "$1"
  cmake --build --preset "$1" --parallel "$jobs"
  ctest --preset "$1" --parallel "$jobs" --label-exclude compile "${@:2}" "${ctest_arguments[@]}"
}

asan() { sanitized asan; }
# The sanitizer's own system calls, before it is ready for them, go through those that system_calls replaces.
tsan() { sanitized tsan --exclude-regex '^system_calls$'; }
aarch64() { tests/aarch64/run.sh "${ctest_arguments[@]}"; }

python() {
  need python3
  python3 -m venv "$found/python"
  "$found/python/bin/pip" install --quiet ./examples/python pytest hypothesis mypy nbclient ipykernel matplotlib
  "$found/python/bin/python" -m pytest -q examples/python/tests
}

fuzz() {
  local compiler
  compiler=$(clang || echo clang++)
  need "$compiler"
  cmake -B build/fuzz -DCMAKE_CXX_COMPILER="$compiler" -DCMAKE_BUILD_TYPE=Release -DSKALD_FUZZ=ON \
    -DCMAKE_CXX_FLAGS="-march=native -DHWY_COMPILE_ONLY_STATIC -fsanitize=fuzzer-no-link,address,undefined" \
    -DSKALD_BUILD_EXAMPLES=OFF -DSKALD_BUILD_BENCHMARKS=OFF
  for source in tests/fuzz/*_fuzz.cc; do
    local program name
    program=$(basename "$source" .cc)
    name=${program%_fuzz}
    cmake --build build/fuzz --parallel "$jobs" --target "$program"
    mkdir -p "$found/$name"
    echo "== $program"
    build/fuzz/tests/fuzz/"$program" -max_total_time="${FUZZ_SECONDS:-60}" -print_final_stats=1 \
      -artifact_prefix="$found/$name-" "$found/$name" "tests/fuzz/corpus/$name"
  done
}

standards() {
  .ci/build odr
  ctest --preset release -C deep -R '^headers_alone\.all$'
  every_header > "$found/every_header.cc"
  for compiler in $(compilers); do
    for flags in -std=c++20 -std=c++2b "-std=c++20 -fno-exceptions" "-std=c++2b -fno-exceptions"; do
      echo "== $compiler $flags: every header"
      # shellcheck disable=SC2046,SC2086  # words
      "$compiler" $flags -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror -fsyntax-only \
        -DHWY_COMPILE_ONLY_STATIC -Iinclude $(highway) "$found/every_header.cc"
    done
    echo "== $compiler -fno-exceptions: a model"
    # shellcheck disable=SC2046  # words
    "$compiler" -std=c++2b -fno-exceptions -O1 -march=native -ffp-contract=off -DHWY_COMPILE_ONLY_STATIC -Iinclude \
      -Iexamples $(highway) examples/13_own_layer.cc tests/consumer/highway.cc -pthread -o "$found/no_exceptions"
    "$found/no_exceptions"
    echo "== $compiler: README's program, for all SIMD targets"
    # shellcheck disable=SC2046  # words
    python3 tests/consumer/readme.py "$found/readme" "$compiler" tests/consumer/highway.cc $(highway)
  done
}

tidy() {
  need clang-tidy-14
  every_header > "$found/every_header.cc"
  # shellcheck disable=SC2046  # words
  clang-tidy-14 --quiet --config-file=.clang-tidy "$found/every_header.cc" -- -std=c++20 -DHWY_COMPILE_ONLY_STATIC \
    -Iinclude $(highway)
}

newcomers() {
  for name in application research comparison; do
    "tests/newcomers/$name.py" || [ $? = 77 ]
  done
}

systems() { tests/systems/run.sh; }
peers() {
  tests/peers/llama_cpp/compare.py || [ $? = 77 ]
  tests/peers/llama_cpp/encoders.py || [ $? = 77 ]
}
# Tools that this machine lacks are told, and fail nothing.
cross() { tests/systems/cross/run.py || [ $? = 77 ]; }

for stage in "$@"; do
  [[ " ${stages[*]} " == *" $stage "* ]] || { echo "deep.sh: no stage $stage; there are ${stages[*]}" >&2; exit 2; }
done
mkdir -p "$found"
for stage in "${@:-${stages[@]}}"; do
  echo "=== $stage"
  "$stage"
done
echo "=== all passed: ${*:-${stages[*]}}"
