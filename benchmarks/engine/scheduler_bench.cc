// SPDX-License-Identifier: Apache-2.0
//
// The cost of a schedule, against the number of running requests: it is made before every step. As many wait as run;
// one in eight of the running ones computes a prompt; the others write, with drafts or without; a step's time is
// limited.

#include <benchmark/benchmark.h>

#include <cstdint>
#include <random>
#include <vector>

#include "skald/engine/plan/scheduler.h"

namespace skald {
namespace {

void MakeOneSchedule(benchmark::State& state, uint32_t drafts) {
  std::minstd_rand random(1);
  const auto running = static_cast<uint32_t>(state.range(0));
  std::vector<SequenceView> views(2 * running);
  for (uint32_t i = 0; i < views.size(); ++i) {
    SequenceView& view = views[i];
    view.urgency.since = static_cast<double>(random() % 100000);
    view.is_running = i % 2 == 0;
    if (view.is_running) view.cached = static_cast<uint32_t>(random() % 4000);
    if (!view.is_running || i % 16 == 0) view.pending = 1 + static_cast<uint32_t>(random() % 2000);
    if (view.writes()) view.drafts = drafts;
  }
  // Full attention and windows; room for a few more blocks.
  const MemoryModel memory = {{{1 << 20, 64, kUnlimited}, {1 << 20, 64, 18}}};
  const CostModel cost(0.062, 0.001, 3e-7);
  StepLimits limits = {.max_running = 2 * running, .step_tokens = 16 * running, .step_seconds = 0.003 * running};
  limits.free_bytes = uint64_t{20} << 20;
  for (auto _ : state) {
    benchmark::DoNotOptimize(MakeSchedule(views, limits, memory, cost).rows.data());
  }
}

BENCHMARK_CAPTURE(MakeOneSchedule, plain, 0)->Arg(16)->Arg(64)->Arg(256)->Arg(1024)->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(MakeOneSchedule, drafts, 4)->Arg(256)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace skald
