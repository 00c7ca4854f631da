// SPDX-License-Identifier: Apache-2.0
//
// Benchmarks of kernels on one core: each runs on every SIMD target of the CPU, checks its answer first, and is shown
// beside the limit that the machine sets it, measured on the same target.

#ifndef SKALD_BENCHMARKS_KERNELS_KERNEL_BENCHMARK_H_
#define SKALD_BENCHMARKS_KERNELS_KERNEL_BENCHMARK_H_

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "benchmarks/machine/machine_limits.h"
#include "skald/base/threads/executor.h"
#include "skald/base/threads/float_environment.h"
#include "skald/base/threads/thread_pool.h"
#include "skald/kernels/simd/avx_vnni_support.h"
#include "tests/support/targets.h"

namespace skald {

// The required properties of one run of a kernel.
struct KernelWork {
  double bytes = 0;      // read from memory
  double f32_flops = 0;  // in float
  double bf16_flops = 0;
  double int8_ops = 0;
};

// The limits of one core on the target in use.
inline const MachineLimits& LimitsInUse() {
  static std::map<std::pair<int64_t, bool>, MachineLimits> known;
  const auto [entry, is_new] = known.try_emplace({testing::TargetInUse(), HaveAvxVnni()});
  MachineLimits& limits = entry->second;
  if (is_new) {
    ThreadPool one(1);
    limits = MeasureLimits(ExecutorRef(one));
  }
  return limits;
}

// Reports the rate of what bounds the work, and `of_limit`, its share of the machine's.
inline void ReportWork(benchmark::State& state, const KernelWork& work) {
  const MachineLimits& limits = LimitsInUse();
  const double reading = work.bytes / limits.read_bytes;
  const double computing =
      work.f32_flops / limits.f32_flops + work.bf16_flops / limits.bf16_flops + work.int8_ops / limits.int8_ops;
  const auto add = [&state](const char* name, double amount) {
    state.counters[name] = benchmark::Counter(amount, benchmark::Counter::kIsIterationInvariantRate);
  };
  if (reading > computing) {
    add("GB/s", work.bytes / 1e9);
  } else {
    add("GFLOP/s", (work.f32_flops + work.bf16_flops + work.int8_ops) / 1e9);
  }
  add("of_limit", std::max(reading, computing));
}

// Registers a kernel for one target: AVX2 with or without AVX-VNNI, or any other.
template <class Make>
void RegisterKernelOn(int64_t target, bool avx_vnni, const std::string& name, const Make& make) {
  const auto run = [make, target, avx_vnni](benchmark::State& state) {
    const testing::ScopedTarget scoped(target);
    AllowAvxVnni(avx_vnni);
    const FloatEnvironment contract;
    auto kernel = make();
    kernel.Run();
    if (!kernel.IsCorrect()) return state.SkipWithError("wrong answer");
    for (auto _ : state) kernel.Run();
    ReportWork(state, kernel.work());
  };
  benchmark::RegisterBenchmark(name.c_str(), run)->Unit(benchmark::kMicrosecond);
}

// Registers `name` for every target, whose name is added. `make()` returns a kernel with what it reads and writes:
// Run() computes, IsCorrect() says after one Run whether the answer is right, work() is what a Run takes.
template <class Make>
void RegisterKernel(const std::string& name, const Make& make) {
  for (int64_t rest = HWY_TARGETS & hwy::SupportedTargets(); rest != 0; rest &= rest - 1) {
    const int64_t target = rest & -rest;
    const std::string with_target = name + "/" + hwy::TargetName(target);
    RegisterKernelOn(target, target != HWY_AVX2, with_target, make);
    if (target == HWY_AVX2 && HaveAvxVnni()) RegisterKernelOn(target, true, with_target + "_VNNI", make);
  }
}

}  // namespace skald

#endif  // SKALD_BENCHMARKS_KERNELS_KERNEL_BENCHMARK_H_
