// SPDX-License-Identifier: Apache-2.0
//
// Ranks that share a machine each keep to CPUs of their own: threads that wander, or that a launcher has put on one
// core all together, wait for each other.

#ifndef SKALD_EXAMPLES_SKALD_RANKS_MACHINE_SHARE_H_
#define SKALD_EXAMPLES_SKALD_RANKS_MACHINE_SHARE_H_

#include <compare>
#include <cstdint>
#include <vector>

#include "skald/base/ranks/rank_share.h"

namespace skald::program {

// What threads run on, in the order in which the machine has it: several may be of one core.
struct Cpu {
  int package = 0, core = 0, number = 0;

  friend auto operator<=>(const Cpu&, const Cpu&) = default;
};

// Returns the numbers of the CPUs that one of the ranks on a machine gets: whole cores, one beside the other, where
// there are enough of them; none where there are fewer CPUs than ranks.
std::vector<int> CpusOfRank(std::vector<Cpu> cpus, const RankShare& on_this_machine);

// Keeps this process to its share of the CPUs that whoever started it may use, before it starts threads: unless it has
// been bound to some of them already, and these are enough for as many threads; 0: for its share of all. Returns how
// many threads keep its CPUs busy. Binds nothing where the system tells nothing of CPUs.
uint32_t KeepToShare(const RankShare& on_this_machine, uint32_t threads);

}  // namespace skald::program

#endif  // SKALD_EXAMPLES_SKALD_RANKS_MACHINE_SHARE_H_
