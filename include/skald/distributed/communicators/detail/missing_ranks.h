// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/distributed/communicators/missing_ranks.h.

#ifndef SKALD_DISTRIBUTED_COMMUNICATORS_DETAIL_MISSING_RANKS_H_
#define SKALD_DISTRIBUTED_COMMUNICATORS_DETAIL_MISSING_RANKS_H_

#include "skald/distributed/communicators/missing_ranks.h"

#include <cstddef>

#include "skald/base/inline.h"

namespace skald {

namespace internal {

SKALD_INLINE std::string NamesOfMissing(const std::vector<bool>& came) {
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

}  // namespace internal
}  // namespace skald

#endif  // SKALD_DISTRIBUTED_COMMUNICATORS_DETAIL_MISSING_RANKS_H_
