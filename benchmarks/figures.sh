#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Measures everything that benchmarks/README.md shows and draws its plots. For an idle machine, after .ci/build; takes
# about half an hour and 6 GB of memory. Results go to build/results (or the folder given), plots to benchmarks/plots.
#
# SHAPES and TYPES (spaces, commas between them) choose other models and weights, BUILD and PLOTS other folders; QUICK=1
# only tries that everything works.
set -euo pipefail
cd "$(dirname "$0")/.."

results=${1:-build/results}
shapes=${SHAPES:-tinyllama-1.1b gemma2-2b}
types=${TYPES:-bf16}
build=${BUILD:-build/release}
skald=$build/examples/skald/skald
mkdir -p "$results"

# bench NAME ARGUMENTS...: one run of skald bench, its table to NAME.md and its numbers to NAME.json.
bench() {
  local name=$1
  shift
  echo "== $name"
  "$skald" bench --json "$results/$name.json" "$@" | tee "$results/$name.md"
}

prompts=512,1024,2048,4096 depths=0,512,2048,8192 tokens=64 batches=1,2,4,8,16,32 short=128 repetitions=5 minimum=0.5
if [ -n "${QUICK:-}" ]; then
  shapes=demo prompts=16,32 depths=0,64 tokens=4 batches=1,2 short=16 repetitions=1 minimum=0.01
fi
one_type=${types%%,*}
one_shape=${shapes%% *}

for shape in $shapes; do
  bench "$shape-prefill" --shape "$shape" --dtype "$types" -p "$prompts" -n 0 -r "$repetitions"
  bench "$shape-decode" --shape "$shape" --dtype "$types" -p 0 -n "$tokens" -d "$depths" -r "$repetitions"
  bench "$shape-batch" --shape "$shape" --dtype "$types" -p 0 -n "$tokens" -b "$batches" -r "$repetitions"
done
bench "$one_shape-threads" --shape "$one_shape" --dtype "$one_type" -t "1,$(getconf _NPROCESSORS_ONLN)" \
  -p "${prompts%%,*}" -n "$tokens" -r "$repetitions"
bench "$one_shape-simd" --shape "$one_shape" --dtype "$one_type" --simd all -p "$short" -n "$tokens" -r "$repetitions"

for kernels in matmul attention rows recurrence; do
  echo "== $kernels"
  "$build/benchmarks/${kernels}_bench" --benchmark_min_time="$minimum" --benchmark_out_format=json \
    --benchmark_out="$results/$kernels.json" ${QUICK:+--benchmark_filter='/1/|Decode.*/512/'} | tee "$results/$kernels.txt"
done

/usr/bin/python3 benchmarks/plot.py "${PLOTS:-benchmarks/plots}" "$results"/*-{prefill,decode,batch,threads,simd}.json
