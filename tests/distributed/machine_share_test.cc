// SPDX-License-Identifier: Apache-2.0
//
// Which CPUs the ranks on a machine keep to.

#include "skald/distributed/machine_share.h"

#include <algorithm>
#include <cstddef>
#include <random>
#include <vector>

#include "doctest/doctest.h"

namespace skald::testing {
namespace machine_share_test {

// Packages of cores of CPUs, numbered as Linux does: the first CPUs of all cores before their second ones. In no order.
std::vector<Cpu> Machine(int packages, int cores, int threads) {
  std::vector<Cpu> cpus;
  for (int i = 0; i < packages * cores * threads; ++i) {
    const int core = i % (packages * cores);
    cpus.push_back({core / cores, core % cores, i});
  }
  std::mt19937 random(7);
  std::ranges::shuffle(cpus, random);
  return cpus;
}

TEST_CASE("each CPU belongs to one rank, and each core, where there are as many cores as ranks") {
  for (const int threads : {1, 2}) {
    const std::vector<Cpu> cpus = Machine(2, 6, threads);
    for (size_t ranks = 1; ranks <= cpus.size(); ++ranks) {
      CAPTURE(threads);
      CAPTURE(ranks);
      std::vector<size_t> owner_of_core(12, ranks);
      std::vector<int> found;
      for (size_t rank = 0; rank < ranks; ++rank) {
        const std::vector<int> own = CpusOfRank(cpus, {rank, ranks});
        CHECK(!own.empty());
        for (const int cpu : own) {
          size_t& owner = owner_of_core[static_cast<size_t>(cpu) % 12];
          if (ranks <= 12) CHECK((owner == ranks || owner == rank));
          owner = rank;
          found.push_back(cpu);
        }
      }
      std::ranges::sort(found);
      CHECK(found.size() == cpus.size());
      CHECK(std::ranges::adjacent_find(found) == found.end());
    }
  }
}

TEST_CASE("two ranks have a package each, and more ranks than CPUs have none") {
  const std::vector<int> first = CpusOfRank(Machine(2, 3, 2), {0, 2});
  CHECK(first == std::vector<int>{0, 6, 1, 7, 2, 8});
  CHECK(CpusOfRank(Machine(1, 2, 1), {0, 3}).empty());
}

}  // namespace machine_share_test
}  // namespace skald::testing
