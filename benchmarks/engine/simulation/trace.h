// SPDX-License-Identifier: Apache-2.0
//
// Traces: the arrival times and sizes of users' requests. The same seed gives the same trace with every compiler, so
// distributions are implemented here and not taken from the standard library.

#ifndef SKALD_BENCHMARKS_ENGINE_SIMULATION_TRACE_H_
#define SKALD_BENCHMARKS_ENGINE_SIMULATION_TRACE_H_

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numbers>
#include <random>
#include <string_view>
#include <vector>

namespace skald {

// One request. Lengths are tokens, times seconds.
struct SimulatedRequest {
  double arrival = 0.0;
  uint32_t prompt = 1, answer = 1;
  uint32_t tenant = 0;
  int32_t priority = 0;
  // The prompt's first `shared` tokens are the same in all requests of a group.
  uint32_t group = 0, shared = 0;
  double cancelled = std::numeric_limits<double>::infinity();  // when its user goes away, if it is not answered then
};

enum class TraceKind : uint8_t {
  kPoisson,         // independent users, one tenant in four asks for more than half
  kBursts,          // about fifty at a time
  kLongTails,       // lengths that differ by powers of ten
  kSharedPrefixes,  // four fifths begin with one of twenty system prompts
  kCancellations,   // every fifth user goes away early
  kGreedy,          // four tenants whose requests are all there at the start, and differ in length and number
};

inline constexpr std::string_view kTraceNames[] = {"poisson", "bursts", "long-tails", "shared", "cancelled", "greedy"};

struct TraceOptions {
  TraceKind kind = TraceKind::kPoisson;
  uint32_t users = 1000;
  double per_second = 1.0;  // users who come; infinity: all at once
  uint64_t seed = 1;
};

namespace internal {

class TraceMaker {
 public:
  explicit TraceMaker(const TraceOptions& options) : options_(options), random_(options.seed) {}

  std::vector<SimulatedRequest> Make() {
    std::vector<SimulatedRequest> trace;
    double now = 0.0;
    uint32_t left_of_burst = 0;
    for (uint32_t i = 0; i < options_.users; ++i) {
      SimulatedRequest request = Next(i);
      if (options_.kind != TraceKind::kBursts) {
        now += Wait(options_.per_second);
      } else if (left_of_burst-- == 0) {
        now += Wait(options_.per_second / kBurst);
        left_of_burst = static_cast<uint32_t>(Wait(1.0 / (kBurst - 1)));
      }
      request.arrival = options_.kind == TraceKind::kGreedy ? 0.0 : now;
      if (options_.kind == TraceKind::kCancellations && Uniform() < 0.2) request.cancelled = now + Wait(1.0 / 8.0);
      trace.push_back(request);
    }
    return trace;
  }

 private:
  static constexpr double kBurst = 50.0;

  SimulatedRequest Next(uint32_t index) {
    SimulatedRequest request;
    const bool has_long_tails = options_.kind == TraceKind::kLongTails;
    request.prompt = Length(200.0, has_long_tails ? 1.5 : 0.8, 8000.0);
    request.answer = Length(100.0, has_long_tails ? 1.2 : 0.7, 2000.0);
    request.tenant = Uniform() < 0.55 ? 0 : 1 + Pick(3);
    request.priority = Uniform() < 0.2 ? 1 : 0;
    if (options_.kind == TraceKind::kSharedPrefixes && Uniform() < 0.8) {
      request.group = Pick(20);
      request.shared = 200 + 50 * request.group;
      request.prompt += request.shared;
    }
    if (options_.kind == TraceKind::kGreedy) {
      // Half of the requests are the first tenant's. Each asks for as many tokens in all, or more.
      constexpr uint32_t kTenants[] = {0, 1, 0, 2, 0, 3};
      constexpr uint32_t kPrompts[] = {300, 900, 60, 600}, kAnswers[] = {100, 300, 900, 600};
      request.tenant = kTenants[index % 6];
      request.prompt = kPrompts[request.tenant] + Pick(100);
      request.answer = kAnswers[request.tenant] + Pick(100);
    }
    return request;
  }

  double Uniform() { return (static_cast<double>(random_() >> 11) + 0.5) * 0x1p-53; }
  uint32_t Pick(uint32_t count) { return static_cast<uint32_t>(Uniform() * count); }
  double Wait(double rate) { return -std::log(Uniform()) / rate; }
  uint32_t Length(double median, double sigma, double most) {
    const double normal = std::sqrt(-2.0 * std::log(Uniform())) * std::cos(2.0 * std::numbers::pi * Uniform());
    return static_cast<uint32_t>(std::clamp(median * std::exp(sigma * normal), 1.0, most));
  }

  const TraceOptions options_;
  std::mt19937_64 random_;
};

}  // namespace internal

// Returns requests in the order of their arrival.
inline std::vector<SimulatedRequest> MakeTrace(const TraceOptions& options) {
  return internal::TraceMaker(options).Make();
}

}  // namespace skald

#endif  // SKALD_BENCHMARKS_ENGINE_SIMULATION_TRACE_H_
