// SPDX-License-Identifier: Apache-2.0
//
// Names of ranks in errors.

#ifndef SKALD_DISTRIBUTED_COMMUNICATORS_MISSING_RANKS_H_
#define SKALD_DISTRIBUTED_COMMUNICATORS_MISSING_RANKS_H_

#include <cstddef>
#include <string>
#include <vector>

namespace skald::internal {

// Returns "rank 2" or "ranks 1, 2 and 4": those that `came` [ranks] is false of; "a rank" where that is none.
inline std::string NamesOfMissing(const std::vector<bool>& came) {
  std::vector<std::string> missing;
  for (size_t rank = 0; rank < came.size(); ++rank) {
    if (!came[rank]) missing.push_back(std::to_string(rank));
  }
  if (missing.empty()) return "a rank";
  std::string names = missing.size() == 1 ? "rank " : "ranks ";
  for (size_t i = 0; i < missing.size(); ++i) {
    if (i > 0) names += i + 1 < missing.size() ? ", " : " and ";
    names += missing[i];
  }
  return names;
}

}  // namespace skald::internal

#endif  // SKALD_DISTRIBUTED_COMMUNICATORS_MISSING_RANKS_H_
