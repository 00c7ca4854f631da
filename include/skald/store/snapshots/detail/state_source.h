// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/store/snapshots/state_source.h.

#ifndef SKALD_STORE_SNAPSHOTS_DETAIL_STATE_SOURCE_H_
#define SKALD_STORE_SNAPSHOTS_DETAIL_STATE_SOURCE_H_

#include "skald/store/snapshots/state_source.h"

#include "skald/base/inline.h"

namespace skald {

SKALD_INLINE void RevocableCache::Revoke() noexcept {
  const std::lock_guard lock(mutex_);
  cache_.reset();
}

SKALD_INLINE bool RevocableCache::is_revoked() {
  const std::lock_guard lock(mutex_);
  return !cache_.has_value();
}

SKALD_INLINE Result<void> StateSource::Check() const {
  return With([](const KVCache&) -> Result<void> { return {}; });
}

}  // namespace skald

#endif  // SKALD_STORE_SNAPSHOTS_DETAIL_STATE_SOURCE_H_
