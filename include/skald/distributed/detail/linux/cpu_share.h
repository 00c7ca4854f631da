// SPDX-License-Identifier: Apache-2.0
//
// The CPUs that Linux lets a process use, and the process's share of them.

#ifndef SKALD_DISTRIBUTED_DETAIL_LINUX_CPU_SHARE_H_
#define SKALD_DISTRIBUTED_DETAIL_LINUX_CPU_SHARE_H_

#include <sched.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include "skald/distributed/machine_share.h"

namespace skald::internal {

// One number that the kernel tells of a CPU; 0 where it tells nothing.
inline int TopologyOf(int cpu, const char* name) {
  std::ifstream file("/sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/topology/" + name);
  int value = 0;
  file >> value;
  return value;
}

inline std::vector<Cpu> CpusIn(const cpu_set_t& set) {
  std::vector<Cpu> cpus;
  for (int i = 0; i < CPU_SETSIZE; ++i) {
    if (CPU_ISSET(i, &set)) cpus.push_back({TopologyOf(i, "physical_package_id"), TopologyOf(i, "core_id"), i});
  }
  return cpus;
}

// As KeepToShare; nothing where the system refuses.
inline std::optional<uint32_t> BindToShare(const RankShare& on_this_machine, uint32_t threads) {
  cpu_set_t own, all;
  if (sched_getaffinity(0, sizeof(own), &own) != 0) return std::nullopt;
  // The launcher's processes are not bound, its ranks may be.
  if (sched_getaffinity(getppid(), sizeof(all), &all) != 0) all = own;
  CPU_OR(&all, &all, &own);
  const auto bound = static_cast<size_t>(CPU_COUNT(&own)), there = static_cast<size_t>(CPU_COUNT(&all));
  const size_t wanted = threads > 0 ? threads : there / on_this_machine.ranks;
  if (bound < there && bound >= wanted) return static_cast<uint32_t>(bound);
  const std::vector<int> share = CpusOfRank(CpusIn(all), on_this_machine);
  if (share.empty()) return 1;
  CPU_ZERO(&own);
  for (const int cpu : share) CPU_SET(cpu, &own);
  if (sched_setaffinity(0, sizeof(own), &own) != 0) return std::nullopt;
  return static_cast<uint32_t>(share.size());
}

}  // namespace skald::internal

#endif  // SKALD_DISTRIBUTED_DETAIL_LINUX_CPU_SHARE_H_
