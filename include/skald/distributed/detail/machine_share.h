// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/distributed/machine_share.h.

#ifndef SKALD_DISTRIBUTED_DETAIL_MACHINE_SHARE_H_
#define SKALD_DISTRIBUTED_DETAIL_MACHINE_SHARE_H_

#include "skald/distributed/machine_share.h"

#include <algorithm>
#include <cstddef>
#include <fstream>
#include <optional>
#include <string>
#include <thread>

#include "skald/base/inline.h"

namespace skald {

SKALD_INLINE std::vector<int> CpusOfRank(std::vector<Cpu> cpus, const RankShare& on_this_machine) {
  std::ranges::sort(cpus);
  std::vector<std::vector<int>> cores;
  std::optional<Cpu> last;
  for (const Cpu& cpu : cpus) {
    if (!last || last->package != cpu.package || last->core != cpu.core) cores.emplace_back();
    cores.back().push_back(cpu.number);
    last = cpu;
  }
  std::vector<int> own;
  if (cores.size() < on_this_machine.ranks) {
    cores.clear();
    for (const Cpu& cpu : cpus) cores.push_back({cpu.number});
  }
  if (cores.size() < on_this_machine.ranks) return own;
  const auto [begin, end] = Partition(cores.size(), on_this_machine);
  for (size_t i = begin; i < end; ++i) own.insert(own.end(), cores[i].begin(), cores[i].end());
  return own;
}

namespace internal {

SKALD_INLINE uint32_t ThreadsUnbound(const RankShare& on_this_machine) {
  return std::max(1u, std::thread::hardware_concurrency() / static_cast<uint32_t>(on_this_machine.ranks));
}

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

}  // namespace internal

SKALD_INLINE uint32_t KeepToShare(const RankShare& on_this_machine, uint32_t threads) {
  cpu_set_t own, all;
  if (sched_getaffinity(0, sizeof(own), &own) != 0) return internal::ThreadsUnbound(on_this_machine);
  // The launcher's processes are not bound, its ranks may be.
  if (sched_getaffinity(getppid(), sizeof(all), &all) != 0) all = own;
  CPU_OR(&all, &all, &own);
  const auto bound = static_cast<size_t>(CPU_COUNT(&own)), there = static_cast<size_t>(CPU_COUNT(&all));
  const size_t wanted = threads > 0 ? threads : there / on_this_machine.ranks;
  if (bound < there && bound >= wanted) return static_cast<uint32_t>(bound);
  const std::vector<int> share = CpusOfRank(internal::CpusIn(all), on_this_machine);
  if (share.empty()) return 1;
  CPU_ZERO(&own);
  for (const int cpu : share) CPU_SET(cpu, &own);
  if (sched_setaffinity(0, sizeof(own), &own) != 0) return internal::ThreadsUnbound(on_this_machine);
  return static_cast<uint32_t>(share.size());
}

}  // namespace skald

#endif  // SKALD_DISTRIBUTED_DETAIL_MACHINE_SHARE_H_
