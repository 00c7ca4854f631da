// SPDX-License-Identifier: Apache-2.0
//
// The output of skald bench: a Markdown table that grows as it measures, and a JSON file for plots.

#ifndef SKALD_EXAMPLES_SKALD_BENCH_BENCH_REPORT_H_
#define SKALD_EXAMPLES_SKALD_BENCH_BENCH_REPORT_H_

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "bench/bench_measure.h"
#include "benchmarks/machine/machine_limits.h"
#include "skald/base/numbers/numeric.h"
#include "skald/base/result.h"

namespace skald::program {

// Facts of a row besides its case.
struct BenchSetting {
  std::string model;
  DType weight_type;
  std::string simd;
};

class BenchReport {
 public:
  // Prints the head of the table.
  BenchReport();

  void AddLimits(const std::string& simd, uint32_t threads, const MachineLimits& limits);

  // Prints a row.
  void Add(const BenchSetting& setting, const BenchCase& bench_case, const Measurement& measurement);

  // Notes what ranks exchanged meanwhile.
  void AddTraffic(size_t ranks, const BenchCase& bench_case, const Measurement& measurement);

  // Prints the table of limits.
  void PrintLimits() const;

  // Prints the table of what ranks exchanged, if there were any.
  void PrintTraffic() const;

  // Writes everything. Error: the file cannot be written.
  Result<void> WriteJson(const std::filesystem::path& path) const;

 private:
  nlohmann::ordered_json json_;
};

}  // namespace skald::program

#endif  // SKALD_EXAMPLES_SKALD_BENCH_BENCH_REPORT_H_
