// SPDX-License-Identifier: Apache-2.0
//
// The output of skald bench: on stdout in the form that the user chose, which grows as it measures, and files.

#ifndef SKALD_EXAMPLES_SKALD_BENCH_REPORT_BENCH_REPORT_H_
#define SKALD_EXAMPLES_SKALD_BENCH_REPORT_BENCH_REPORT_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "bench/bench_measure.h"
#include "bench/report/output_file.h"
#include "bench/report/record.h"
#include "benchmarks/machine/machine_limits.h"
#include "command_line/options.h"
#include "skald/base/result.h"

namespace skald::program {

class BenchReport {
 public:
  // Opens the files and prints what comes before the first row. Errors: a file cannot be written.
  static Result<BenchReport> Begin(const BenchOptions& options, RunFacts run);

  void AddLimits(const std::string& simd, uint32_t threads, const MachineLimits& limits);

  // Writes a row. Error: a file cannot be written; of stdout its owner tells.
  Result<void> Add(const BenchSetting& setting, const BenchCase& bench_case, const Measurement& measurement);

  // Notes what ranks exchanged meanwhile.
  void AddTraffic(size_t ranks, const BenchCase& bench_case, const Measurement& measurement);

  // Writes what comes after the last row. Error: a file cannot be written.
  Result<void> Finish();

 private:
  using Json = nlohmann::ordered_json;

  BenchReport(BenchOutput form, RunFacts run);
  void PrintHead() const;
  void PrintMachine() const;
  void PrintModels() const;
  void PrintLimits() const;
  void PrintTraffic() const;

  BenchOutput form_;
  RunFacts run_;
  Json columns_;  // of CSV: a record with the fields that can be counted here
  std::optional<OutputFile> json_file_, record_file_;
  Json json_;
};

}  // namespace skald::program

#endif  // SKALD_EXAMPLES_SKALD_BENCH_REPORT_BENCH_REPORT_H_
