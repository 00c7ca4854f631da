// SPDX-License-Identifier: Apache-2.0
//
// Names of ranks in errors.

#ifndef SKALD_DISTRIBUTED_COMMUNICATORS_MISSING_RANKS_H_
#define SKALD_DISTRIBUTED_COMMUNICATORS_MISSING_RANKS_H_

#include <string>
#include <vector>

namespace skald::internal {

/// Returns "rank 2" or "ranks 1, 2 and 4": those that `came` [ranks] is false of; "a rank" where that is none.
std::string NamesOfMissing(const std::vector<bool>& came);

}  // namespace skald::internal

#ifndef SKALD_COMPILED
#include "skald/distributed/communicators/detail/missing_ranks.h"
#endif

#endif  // SKALD_DISTRIBUTED_COMMUNICATORS_MISSING_RANKS_H_
