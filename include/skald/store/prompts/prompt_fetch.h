// SPDX-License-Identifier: Apache-2.0
//
// PromptFetch: a prompt's beginning on its way from a store, while the caller does other work.

#ifndef SKALD_STORE_PROMPTS_PROMPT_FETCH_H_
#define SKALD_STORE_PROMPTS_PROMPT_FETCH_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "skald/base/result.h"
#include "skald/store/chunks/chunk_key.h"
#include "skald/store/chunks/chunk_store.h"
#include "skald/store/snapshots/staged_cache.h"

namespace skald {

namespace internal {

/// The state that the requesting thread and the reading thread share.
struct FetchState {
  std::atomic<bool> is_wanted = true, is_done = false;
  std::vector<int32_t> tokens = {};  ///< the tokens that are looked for; fixed
  /// Written before is_done is set, read after: the result, and the error of the first store that failed.
  std::optional<StagedCache> found = {};
  uint32_t matched = 0;
  std::vector<float> logits = {};
  std::optional<Error> store_error = {};
};

/// A store for a fetch: once the fetch is abandoned, every call fails.
class WantedStore {
 public:
  WantedStore(ChunkStoreRef store, const FetchState& fetch) : store_(store), fetch_(fetch) {}

  Result<bool> Has(const ChunkKey& key);
  Result<ChunkBytes> Get(const ChunkKey& key);
  Result<void> Put(const ChunkKey& key, std::span<const std::byte> value);
  Result<void> Drop(const ChunkKey& key);
  Result<std::vector<ChunkKey>> List();

 private:
  template <class Call>
  auto IfWanted(Call call) -> decltype(call()) {
    if (fetch_.is_wanted) return call();
    return Fail(ErrorCode::kFailedPrecondition, "the fetch was abandoned");
  }

  const ChunkStoreRef store_;
  const FetchState& fetch_;
};

}  // namespace internal

/// Made by PromptCache::LookupBeside. Move-only; its destructor ends the reading soon. Used by one thread at a time.
class PromptFetch {
 public:
  /// For PromptCache alone.
  explicit PromptFetch(std::shared_ptr<internal::FetchState> state) : state_(std::move(state)) {}
  PromptFetch(PromptFetch&&) noexcept = default;
  PromptFetch& operator=(PromptFetch&& other) noexcept;
  ~PromptFetch() { Abandon(); }

  /// Whether the fetch has ended.
  bool is_done() const { return state_ == nullptr || state_->is_done; }

  /// Whether it was started for these tokens, and not abandoned.
  bool IsOf(std::span<const int32_t> tokens) const;

  /// Abandons the fetch: it is then done, and has found nothing.
  void Abandon() noexcept;

 private:
  friend class PromptCache;

  std::shared_ptr<internal::FetchState> state_;  ///< null: abandoned
};

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/store/prompts/detail/prompt_fetch.h"
#endif

#endif  // SKALD_STORE_PROMPTS_PROMPT_FETCH_H_
