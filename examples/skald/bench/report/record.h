// SPDX-License-Identifier: Apache-2.0
//
// One measurement as a record: everything that a reader must know of it, in a flat list of names and values. All forms
// of output are made of records.

#ifndef SKALD_EXAMPLES_SKALD_BENCH_REPORT_RECORD_H_
#define SKALD_EXAMPLES_SKALD_BENCH_REPORT_RECORD_H_

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "bench/bench_measure.h"
#include "bench/machine/machine_facts.h"
#include "skald/base/numbers/numeric.h"

namespace skald::program {

// Facts that hold for all rows of a run.
struct RunFacts {
  MachineFacts machine;
  std::optional<double> load;    // before anything was measured
  std::string pinned;            // the CPUs that threads were told to keep to; empty: none
  std::string counters, energy;  // a word on each: "read", or why not
};

// Facts of a row besides its case.
struct BenchSetting {
  std::string model, file;             // the file's name without its folder; empty of random weights
  uint64_t bytes = 0, parameters = 0;  // of this process
  DType weight_type = DType::kBF16;
  std::string simd;
};

// "pp512", "tg64 @ 2048", "pp512+tg64 x 16": what is computed, after how many tokens, for how many sequences.
std::string NameOf(const BenchCase& bench_case);

// Returns the record. Numbers that were not counted have no fields in it.
nlohmann::ordered_json RecordOf(const RunFacts& run, const BenchSetting& setting, const BenchCase& bench_case,
                                const Measurement& measurement);

// Returns a record of nothing that has all fields, those that cannot be counted here too.
nlohmann::ordered_json WholeRecord();

}  // namespace skald::program

#endif  // SKALD_EXAMPLES_SKALD_BENCH_REPORT_RECORD_H_
