// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/distributed/machine_share.h.

#ifndef SKALD_DISTRIBUTED_DETAIL_MACHINE_SHARE_H_
#define SKALD_DISTRIBUTED_DETAIL_MACHINE_SHARE_H_

#include "skald/distributed/machine_share.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <thread>

#include "skald/base/inline.h"

#if defined(__linux__)
namespace skald::internal {
inline std::optional<uint32_t> BindToShare(const RankShare& on_this_machine, uint32_t threads);
}  // namespace skald::internal

#include "skald/distributed/detail/linux/cpu_share.h"
#endif

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

SKALD_INLINE uint32_t KeepToShare(const RankShare& on_this_machine, [[maybe_unused]] uint32_t threads) {
#if defined(__linux__)
  if (const auto bound = internal::BindToShare(on_this_machine, threads)) return *bound;
#endif
  return std::max(1u, std::thread::hardware_concurrency() / static_cast<uint32_t>(on_this_machine.ranks));
}

}  // namespace skald

#endif  // SKALD_DISTRIBUTED_DETAIL_MACHINE_SHARE_H_
