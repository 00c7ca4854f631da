// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/store/snapshots/whole_state.h.

#ifndef SKALD_STORE_SNAPSHOTS_DETAIL_WHOLE_STATE_H_
#define SKALD_STORE_SNAPSHOTS_DETAIL_WHOLE_STATE_H_

#include "skald/store/snapshots/whole_state.h"

#include "skald/base/inline.h"
#include "skald/base/ranks/rank_share.h"

namespace skald {

namespace internal {

SKALD_INLINE Result<CacheLayout> WholeLayout(const BlockPool& pool) {
  if (pool.layout().share().ranks == 1) return pool.layout();
  if (pool.peers() != nullptr) return pool.peers()->whole().ForTokens(pool.runtime().max_tokens);
  return Fail(ErrorCode::kUnsupported,
              "the pool holds one rank's part of the state, which alone cannot be saved or loaded");
}

}  // namespace internal
}  // namespace skald

#endif  // SKALD_STORE_SNAPSHOTS_DETAIL_WHOLE_STATE_H_
