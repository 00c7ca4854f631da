// SPDX-License-Identifier: Apache-2.0
//
// How busy the machine is with other things than this program.

#ifndef SKALD_EXAMPLES_SKALD_BENCH_MACHINE_LOAD_H_
#define SKALD_EXAMPLES_SKALD_BENCH_MACHINE_LOAD_H_

#include <filesystem>
#include <optional>

namespace skald::program {

// Threads that ran or waited for a CPU in the last minute, on average. Unset: the system does not say.
std::optional<double> LoadAverage();

// CPUs that others keep busy: programs, the kernel for them, and a hypervisor that takes a CPU away.
class OtherLoad {
 public:
  // Begins to measure. `root` is the folder with proc/.
  explicit OtherLoad(const std::filesystem::path& root = "/");
  // How many CPUs, on average since the beginning. Unset: the system does not say.
  std::optional<double> Cpus() const;

 private:
  struct Times {
    double all, own, clock;  // seconds: of all CPUs, of this process, that passed
  };
  std::optional<Times> Read() const;

  const std::filesystem::path file_;
  const std::optional<Times> begin_;
};

}  // namespace skald::program

#endif  // SKALD_EXAMPLES_SKALD_BENCH_MACHINE_LOAD_H_
