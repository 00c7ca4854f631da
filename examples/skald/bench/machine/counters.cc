// SPDX-License-Identifier: Apache-2.0

#include "bench/machine/counters.h"

#include <cerrno>
#include <utility>

#if defined(__linux__) && __has_include(<linux/perf_event.h>)  // musl's own headers lack it
#define SKALD_HAS_PERF_EVENT
#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace skald::program {

#if defined(SKALD_HAS_PERF_EVENT)

namespace {

constexpr std::array kEvents = {
    CounterEvent{PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES},
    CounterEvent{PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS},
    CounterEvent{PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES},
};

internal::Descriptor OpenCounter(const CounterEvent& event) {
  perf_event_attr attributes = {};
  attributes.size = sizeof(attributes);
  attributes.type = event.type;
  attributes.config = event.config;
  attributes.inherit = 1;
  attributes.exclude_kernel = 1;  // what users may count
  attributes.exclude_hv = 1;
  attributes.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
  const long fd = ::syscall(SYS_perf_event_open, &attributes, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
  return internal::Descriptor(static_cast<int>(fd));
}

const char* WordFor(int error) {
  return error == EACCES || error == EPERM ? "refused" : error == ENOSYS ? "unsupported" : "missing";
}

}  // namespace

HardwareCounters::HardwareCounters() : HardwareCounters(kEvents) {}

HardwareCounters::HardwareCounters(std::span<const CounterEvent> events) : state_("read") {
  for (const CounterEvent& event : events) {
    counters_.push_back(OpenCounter(event));
    if (counters_.back().get() >= 0) continue;
    state_ = WordFor(errno);
    counters_.clear();
    return;
  }
}

std::optional<std::vector<double>> HardwareCounters::Read() const {
  if (counters_.empty()) return std::nullopt;
  std::vector<double> values;
  for (const internal::Descriptor& counter : counters_) {
    struct {
      uint64_t value, enabled, running;  // the times in nanoseconds
    } read = {};
    if (::read(counter.get(), &read, sizeof(read)) != sizeof(read)) return std::nullopt;
    const double scale =
        read.running == 0 ? 0.0 : static_cast<double>(read.enabled) / static_cast<double>(read.running);
    values.push_back(static_cast<double>(read.value) * scale);
  }
  return values;
}

#else

HardwareCounters::HardwareCounters() : state_("unsupported") {}
HardwareCounters::HardwareCounters(std::span<const CounterEvent>) : state_("unsupported") {}
std::optional<std::vector<double>> HardwareCounters::Read() const { return std::nullopt; }

#endif

HardwareCounts CountsBetween(const std::vector<double>& before, const std::vector<double>& after) {
  return {after[0] - before[0], after[1] - before[1], after[2] - before[2]};
}

}  // namespace skald::program
