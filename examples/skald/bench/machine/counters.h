// SPDX-License-Identifier: Apache-2.0
//
// HardwareCounters: what the processor counts while the program's threads run.

#ifndef SKALD_EXAMPLES_SKALD_BENCH_MACHINE_COUNTERS_H_
#define SKALD_EXAMPLES_SKALD_BENCH_MACHINE_COUNTERS_H_

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "skald/base/files/system_call.h"

namespace skald::program {

// An event as Linux numbers it (perf_event_open(2)).
struct CounterEvent {
  uint32_t type;
  uint64_t config;
};

struct HardwareCounts {
  double cycles = 0, instructions = 0, cache_misses = 0;  // the last of the last-level cache
};

class HardwareCounters {
 public:
  // Counts from now on, for this thread and all that it starts.
  HardwareCounters();
  // The same for other events than the three.
  explicit HardwareCounters(std::span<const CounterEvent> events);

  bool are_there() const { return !counters_.empty(); }
  // One word why there are none: refused, missing, unsupported; else "read".
  const std::string& state() const { return state_; }
  // Since they were made, a value for each event. A counter that had to share the processor's registers is scaled up.
  // Unset: there are none.
  std::optional<std::vector<double>> Read() const;

 private:
  std::vector<internal::Descriptor> counters_;
  std::string state_;
};

// The three of HardwareCounters() from one reading to another.
HardwareCounts CountsBetween(const std::vector<double>& before, const std::vector<double>& after);

}  // namespace skald::program

#endif  // SKALD_EXAMPLES_SKALD_BENCH_MACHINE_COUNTERS_H_
