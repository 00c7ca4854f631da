// SPDX-License-Identifier: Apache-2.0
//
// The CPUs that the program's threads run on: lists of them as taskset reads them, and keeping to them.

#ifndef SKALD_EXAMPLES_SKALD_BENCH_MACHINE_CPUS_H_
#define SKALD_EXAMPLES_SKALD_BENCH_MACHINE_CPUS_H_

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "skald/base/result.h"

namespace skald::program {

// Reads numbers as "0-3,8" or "0-6:2" name them, ascending and without repetitions. Unset: the text is none such, or a
// number is larger than that of any CPU.
std::optional<std::vector<int>> ParseCpuList(std::string_view text);

// The opposite: "0-3,8".
std::string CpuListText(std::span<const int> cpus);

// Returns the CPUs of NUMA nodes. `root` is the folder with sys/. Error: kNotFound names a node that is not there.
Result<std::vector<int>> CpusOfNodes(std::span<const int> nodes, const std::filesystem::path& root = "/");

// From now on this thread, and those that it starts, run on these CPUs alone. Errors: kNotFound names a CPU that is not
// there, kFailedPrecondition one that this process may not use, kUnsupported.
Result<void> KeepToCpus(std::span<const int> cpus);

// Returns the CPUs that this thread may run on; none where the system does not say.
std::vector<int> CpusOfThread();

}  // namespace skald::program

#endif  // SKALD_EXAMPLES_SKALD_BENCH_MACHINE_CPUS_H_
