// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/store/prompts/prompt_fetch.h.

#ifndef SKALD_STORE_PROMPTS_DETAIL_PROMPT_FETCH_H_
#define SKALD_STORE_PROMPTS_DETAIL_PROMPT_FETCH_H_

#include "skald/store/prompts/prompt_fetch.h"

#include <algorithm>

#include "skald/base/inline.h"

namespace skald {

namespace internal {

SKALD_INLINE Result<bool> WantedStore::Has(const ChunkKey& key) {
  return IfWanted([&] { return store_.Has(key); });
}

SKALD_INLINE Result<ChunkBytes> WantedStore::Get(const ChunkKey& key) {
  return IfWanted([&] { return store_.Get(key); });
}

SKALD_INLINE Result<void> WantedStore::Put(const ChunkKey& key, std::span<const std::byte> value) {
  return IfWanted([&] { return store_.Put(key, value); });
}

SKALD_INLINE Result<void> WantedStore::Drop(const ChunkKey& key) {
  return IfWanted([&] { return store_.Drop(key); });
}

SKALD_INLINE Result<std::vector<ChunkKey>> WantedStore::List() {
  return IfWanted([&] { return store_.List(); });
}

}  // namespace internal

SKALD_INLINE PromptFetch& PromptFetch::operator=(PromptFetch&& other) noexcept {
  Abandon();
  state_ = std::move(other.state_);
  return *this;
}

SKALD_INLINE bool PromptFetch::IsOf(std::span<const int32_t> tokens) const {
  return state_ != nullptr && std::ranges::equal(state_->tokens, tokens);
}

SKALD_INLINE void PromptFetch::Abandon() noexcept {
  if (state_ != nullptr) state_->is_wanted = false;
  state_ = nullptr;
}

}  // namespace skald

#endif  // SKALD_STORE_PROMPTS_DETAIL_PROMPT_FETCH_H_
