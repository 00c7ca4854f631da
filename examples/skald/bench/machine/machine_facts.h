// SPDX-License-Identifier: Apache-2.0
//
// The machine that a benchmark ran on, as far as its system tells.

#ifndef SKALD_EXAMPLES_SKALD_BENCH_MACHINE_MACHINE_FACTS_H_
#define SKALD_EXAMPLES_SKALD_BENCH_MACHINE_MACHINE_FACTS_H_

#include <cstdint>
#include <filesystem>
#include <string>

namespace skald::program {

// Texts that the system does not tell are "unknown", numbers 0.
struct MachineFacts {
  std::string cpu;                // the name that it is sold by
  std::string cpu_family;         // "GenuineIntel 6/143/8": vendor, family, model, stepping; of Arm the part's number
  uint32_t cpus = 0;              // that are online
  uint32_t numa_nodes = 0;        // with CPUs
  uint64_t last_level_cache = 0;  // bytes, all of its instances together
  uint64_t memory = 0;            // bytes
  std::string governor;           // of the CPUs' frequencies; "mixed" if they differ
  std::string huge_pages;         // whether pages become huge by themselves: always, madvise, never
};

// `root` is the folder with proc/ and sys/.
MachineFacts ReadMachineFacts(const std::filesystem::path& root = "/");

}  // namespace skald::program

#endif  // SKALD_EXAMPLES_SKALD_BENCH_MACHINE_MACHINE_FACTS_H_
