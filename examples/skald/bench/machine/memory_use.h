// SPDX-License-Identifier: Apache-2.0
//
// The memory that this process takes, and the pages that it lies in.

#ifndef SKALD_EXAMPLES_SKALD_BENCH_MACHINE_MEMORY_USE_H_
#define SKALD_EXAMPLES_SKALD_BENCH_MACHINE_MEMORY_USE_H_

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

namespace skald::program {

// From now on PeakMemory is that of what follows, where the system can forget what came before (Linux).
void ForgetPeakMemory();

// The most bytes of memory that this process took at a time; 0 where the system does not say.
uint64_t PeakMemory();

// Returns how many bytes of arrays lie in huge pages. The system tells it of whole mappings, in which other things may
// lie beside the arrays: of such a mapping its huge pages count, up to the size of the arrays in it. 0 where it does
// not say. `smaps` is a file as Linux writes it.
uint64_t BytesInHugePages(std::vector<std::span<const std::byte>> arrays,
                          const std::filesystem::path& smaps = "/proc/self/smaps");

}  // namespace skald::program

#endif  // SKALD_EXAMPLES_SKALD_BENCH_MACHINE_MEMORY_USE_H_
