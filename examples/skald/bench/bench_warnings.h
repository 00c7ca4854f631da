// SPDX-License-Identifier: Apache-2.0
//
// BenchWarnings: tells on stderr why figures may be wrong, or mean something else than they seem to.

#ifndef SKALD_EXAMPLES_SKALD_BENCH_BENCH_WARNINGS_H_
#define SKALD_EXAMPLES_SKALD_BENCH_BENCH_WARNINGS_H_

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>

#include "bench/bench_measure.h"
#include "bench/report/record.h"

namespace skald::program {

class BenchWarnings {
 public:
  // Warns of a load that is there before anything is measured. `are_ranks`: others that compute are no strangers.
  BenchWarnings(const RunFacts& run, bool are_ranks);

  // Warns of weights that fit the cache, once for each model.
  void Note(const BenchSetting& setting, const BenchCase& bench_case, const Measurement& measurement);

  // Warns of rows that others have disturbed, or whose repetitions differ.
  void Finish() const;

 private:
  // How many rows exceed a bound, and the one that does most.
  struct Worst {
    size_t count = 0;
    double value = 0;
    std::string name = {};

    void Note(double measured, double bound, const std::string& of);
  };

  const uint64_t cache_;
  const bool are_ranks_;
  size_t rows_ = 0;
  uint32_t most_threads_ = 0;
  bool knows_others_ = false;
  Worst spread_, others_;
  std::set<std::string> told_;  // models
};

}  // namespace skald::program

#endif  // SKALD_EXAMPLES_SKALD_BENCH_BENCH_WARNINGS_H_
