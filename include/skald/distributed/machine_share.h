// SPDX-License-Identifier: Apache-2.0
//
// Ranks that share a machine each keep to CPUs of their own: threads that wander, or that a launcher has put on one
// core all together, wait for each other.

#ifndef SKALD_DISTRIBUTED_MACHINE_SHARE_H_
#define SKALD_DISTRIBUTED_MACHINE_SHARE_H_

#include <compare>
#include <cstdint>
#include <vector>

#include "skald/base/ranks/rank_share.h"

namespace skald {

/// The CPUs that threads run on, in the machine's order: several may be of one core.
struct Cpu {
  /// Numbers that the system gives the package, the core in it, and the CPU.
  int package = 0, core = 0, number = 0;

  friend auto operator<=>(const Cpu&, const Cpu&) = default;
};

/// Returns the numbers of the CPUs that one of the ranks on a machine gets: whole neighbouring cores, if there are
/// enough of them; none if there are fewer CPUs than ranks. Throws std::bad_alloc.
std::vector<int> CpusOfRank(std::vector<Cpu> cpus, const RankShare& on_this_machine);

/// Binds this process to its share of the CPUs that it may use, before it starts threads. If it is bound to some of
/// them already, and these are enough for as many threads, changes nothing; 0: for its share of all. Returns how many
/// threads keep its CPUs busy. Binds nothing if the system reports no CPUs, or is not Linux. Throws std::bad_alloc.
uint32_t KeepToShare(const RankShare& on_this_machine, uint32_t threads);

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/distributed/detail/machine_share.h"
#endif

#endif  // SKALD_DISTRIBUTED_MACHINE_SHARE_H_
