// SPDX-License-Identifier: Apache-2.0

#include "bench/bench_warnings.h"

#include <algorithm>
#include <iomanip>
#include <sstream>

#include "bench/machine/load.h"
#include "terminal/messages.h"

namespace skald::program {
namespace {

constexpr double kWideSpread = 0.1;   // of the median
constexpr double kBusyCpus = 0.25;    // of others, while a row is measured
constexpr double kBusyAtStart = 0.5;  // threads that run or wait; of many CPUs this share of ten
constexpr double kMiB = 1 << 20;

std::string Decimal(double value, int digits) {
  std::ostringstream text;
  text << std::fixed << std::setprecision(digits) << value;
  return text.str();
}

std::string OfRows(size_t count, size_t rows) {
  return std::to_string(count) + " of " + std::to_string(rows) + " rows";
}

}  // namespace

BenchWarnings::BenchWarnings(const RunFacts& run, bool are_ranks)
    : cache_(run.machine.last_level_cache), are_ranks_(are_ranks) {
  if (!run.load || *run.load <= std::max(kBusyAtStart, kBusyAtStart * run.machine.cpus / 10)) return;
  Warn("the load average is " + Decimal(*run.load, 2) +
       " before anything is measured: other programs run on this machine, or have until a minute ago");
}

void BenchWarnings::Worst::Note(double measured, double bound, const std::string& of) {
  if (measured <= bound) return;
  ++count;
  if (measured <= value) return;
  value = measured;
  name = of;
}

void BenchWarnings::Note(const BenchSetting& setting, const BenchCase& bench_case, const Measurement& measurement) {
  ++rows_;
  const std::string name = setting.model + " " + NameOf(bench_case);
  spread_.Note(measurement.Spread(), kWideSpread, name);
  most_threads_ = std::max(most_threads_, bench_case.threads);
  knows_others_ |= measurement.other_cpus.has_value();
  if (!are_ranks_) others_.Note(measurement.other_cpus.value_or(0.0), kBusyCpus, name);
  if (!measurement.weights_fit_cache) return;
  const std::string model = setting.model + " (" + Decimal(static_cast<double>(setting.bytes) / kMiB, 1) + " MiB)";
  if (!told_.insert(model).second) return;
  Warn("the weights of " + model + " fit the last-level cache" +
       (cache_ == 0 ? "" : " (" + Decimal(static_cast<double>(cache_) / kMiB, 1) + " MiB)") +
       ": the speed of memory does not limit them, as it does larger models");
}

void BenchWarnings::Finish() const {
  // Where the system does not say how busy others are, the load may: this run makes one for each thread.
  const double load = knows_others_ || are_ranks_ ? 0.0 : LoadAverage().value_or(0.0);
  if (load > most_threads_ + kBusyAtStart) {
    Warn("the load average is " + Decimal(load, 2) + ", more than the " + std::to_string(most_threads_) +
         " threads of this run make");
  }
  if (others_.count > 0) {
    Warn("other programs were busy while " + OfRows(others_.count, rows_) + " were measured, at most on " +
         Decimal(others_.value, 1) + " CPUs (" + others_.name + ")");
  }
  if (spread_.count > 0) {
    Warn("repetitions differ by more than " + Decimal(100 * kWideSpread, 0) + " % in " + OfRows(spread_.count, rows_) +
         ", at most by " + Decimal(100 * spread_.value, 0) + " % (" + spread_.name +
         "): the machine was busy, or changed its frequency");
  }
}

}  // namespace skald::program
