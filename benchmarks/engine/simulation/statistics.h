// SPDX-License-Identifier: Apache-2.0
//
// Statistics of simulated schedules: percentiles of times, and how fairly tenants were served.

#ifndef SKALD_BENCHMARKS_ENGINE_SIMULATION_STATISTICS_H_
#define SKALD_BENCHMARKS_ENGINE_SIMULATION_STATISTICS_H_

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace skald {

// Positive numbers, each remembered to within half a percent.
class LogHistogram {
 public:
  void Add(double value) {
    const double place = (std::log(value) - kLeastLog) * kPerUnit;
    const auto bucket = static_cast<size_t>(std::max(0.0, place));
    if (bucket >= counts_.size()) counts_.resize(bucket + 1);
    ++counts_[bucket];
    ++count_;
  }

  // 0 <= part <= 1. 0 if there are no values.
  double Quantile(double part) const {
    const auto rank = static_cast<uint64_t>(part * static_cast<double>(count_));
    uint64_t seen = 0;
    for (size_t bucket = 0; bucket < counts_.size(); ++bucket) {
      seen += counts_[bucket];
      if (seen > rank || (seen == count_ && seen > 0)) {
        return std::exp((static_cast<double>(bucket) + 0.5) / kPerUnit + kLeastLog);
      }
    }
    return 0.0;
  }

  uint64_t count() const { return count_; }

 private:
  static constexpr double kLeastLog = -14.0, kPerUnit = 100.0;  // from a microsecond
  std::vector<uint64_t> counts_;
  uint64_t count_ = 0;
};

// 1 where all are equal, 1/n where one has all (Jain, Chiu, Hawe: DEC-TR-301, 1984).
inline double JainIndex(std::span<const double> shares) {
  double sum = 0.0, squares = 0.0;
  for (const double share : shares) {
    sum += share;
    squares += share * share;
  }
  return squares > 0.0 ? sum * sum / (static_cast<double>(shares.size()) * squares) : 1.0;
}

// Watches tenants while they wait, for fairness among those that want more than they get: a tenant that asks for little
// gets little.
class FairnessMeter {
 public:
  // After a step: tokens that each tenant was given so far, and its sequences that wait.
  void Observe(std::span<const double> service, std::span<const uint32_t> waiting) {
    const size_t tenants = service.size();
    pairs_.resize(tenants * tenants);
    for (size_t a = 0; a < tenants; ++a) {
      for (size_t b = 0; b < a; ++b) {
        Pair& pair = pairs_[a * tenants + b];
        const double difference = service[a] - service[b];
        if (waiting[a] == 0 || waiting[b] == 0) {
          pair.both_wait = false;
          continue;
        }
        pair.least = pair.both_wait ? std::min(pair.least, difference) : difference;
        pair.most = pair.both_wait ? std::max(pair.most, difference) : difference;
        pair.both_wait = true;
        largest_difference_ = std::max(largest_difference_, pair.most - pair.least);
      }
    }
    shares_.resize(tenants);
    const bool all_wait = std::ranges::count(waiting, 0u) == 0;
    for (size_t a = 0; a < tenants && all_wait && all_waited_; ++a) shares_[a] += service[a] - before_[a];
    before_.assign(service.begin(), service.end());
    all_waited_ = all_wait;
  }

  // By how many tokens the service of two tenants differed, over any time in which both waited throughout.
  double largest_difference() const { return largest_difference_; }
  // Jain's index of what tenants were given while all of them waited; 1 if they never did.
  double jain() const { return JainIndex(shares_); }

 private:
  struct Pair {
    bool both_wait = false;
    double least = 0.0, most = 0.0;
  };
  std::vector<Pair> pairs_;
  std::vector<double> shares_, before_;  // of each tenant: tokens while all waited; of the last step
  bool all_waited_ = false;
  double largest_difference_ = 0.0;
};

}  // namespace skald

#endif  // SKALD_BENCHMARKS_ENGINE_SIMULATION_STATISTICS_H_
