// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/cache/steps/batch.h.

#ifndef SKALD_CACHE_STEPS_DETAIL_BATCH_H_
#define SKALD_CACHE_STEPS_DETAIL_BATCH_H_

#include "skald/cache/steps/batch.h"

#include "skald/base/inline.h"
#include "skald/base/no_throw.h"
#include "skald/base/result.h"

namespace skald {

SKALD_INLINE Batch& Batch::Add(KVCache& cache, std::span<const int32_t> tokens, Want last) {
  return Append([&] {
    Begin(cache, tokens);
    wants_.insert(wants_.end(), tokens.size(), Want::kNothing);
    if (!tokens.empty()) wants_.back() = last;
  });
}

SKALD_INLINE Batch& Batch::Add(KVCache& cache, std::span<const int32_t> tokens, std::span<const Want> wants) {
  return Append([&] {
    Begin(cache, tokens);
    wants_.insert(wants_.end(), wants.begin(), wants.end());
  });
}

SKALD_INLINE std::span<const Want> Batch::wants(size_t request) const {
  const size_t end = request + 1 < first_wants_.size() ? first_wants_[request + 1] : wants_.size();
  return wants().subspan(first_wants_[request], end - first_wants_[request]);
}

template <class Function>
Batch& Batch::Append(Function function) {
  const auto added = NoThrow("Batch::Add", [&]() -> Result<void> {
    function();
    return {};
  });
  is_complete_ = is_complete_ && added.has_value();
  return *this;
}

SKALD_INLINE void Batch::Begin(KVCache& cache, std::span<const int32_t> tokens) {
  requests_.push_back({&cache, tokens});
  first_wants_.push_back(wants_.size());
}

}  // namespace skald

#endif  // SKALD_CACHE_STEPS_DETAIL_BATCH_H_
