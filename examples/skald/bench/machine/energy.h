// SPDX-License-Identifier: Apache-2.0
//
// EnergyMeter: what the processors' packages draw, by the counters that RAPL keeps (sys/class/powercap). Of the whole
// package, so that other programs count too.

#ifndef SKALD_EXAMPLES_SKALD_BENCH_MACHINE_ENERGY_H_
#define SKALD_EXAMPLES_SKALD_BENCH_MACHINE_ENERGY_H_

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace skald::program {

class EnergyMeter {
 public:
  // `root` is the folder with sys/.
  explicit EnergyMeter(const std::filesystem::path& root = "/");

  bool is_there() const { return !zones_.empty(); }
  // One word why it is not: refused, missing; else "read".
  const std::string& state() const { return state_; }
  // Joules since the last call, or since it was made. A counter that began again at 0 is read rightly if calls are
  // less than a minute apart. Unset: it is not there.
  std::optional<double> Joules();

 private:
  struct Zone {
    std::filesystem::path file;
    uint64_t range, last;  // microjoules; the counter begins again after `range`
  };

  std::vector<Zone> zones_;
  std::string state_;
};

}  // namespace skald::program

#endif  // SKALD_EXAMPLES_SKALD_BENCH_MACHINE_ENERGY_H_
