// SPDX-License-Identifier: Apache-2.0
//
// Approximate reuse of a prompt that was edited near its beginning: the text after the edit keeps its state and is
// moved to its new place. THE RESULT IS NOT THAT OF COMPUTING THE PROMPT: the moved tokens' state still depends on the
// removed tokens, and does not depend on the new ones. KVCache::exact_tokens says where this begins, and no prompt
// cache takes such state for exact. For models with attention alone.
//
//   if (const auto span = FindSharedSpan(cache.tokens(), prompt, 64).value()) {
//     KeepSpan(cache, *span);                                                    // the cache holds [prefix, span]
//     Forward(cache, prompt[span->prefix .. span->new_begin));                   // ... and the new tokens
//     PlaceSpan(cache, *span);                                                   // [prefix, new tokens, span]
//     Forward(cache, prompt[cache.size() ..));                                   // and the rest
//   }

#ifndef SKALD_STORE_PROMPTS_EDITED_PROMPT_H_
#define SKALD_STORE_PROMPTS_EDITED_PROMPT_H_

#include <cstdint>
#include <optional>
#include <span>

#include "skald/base/result.h"
#include "skald/cache/kv_cache.h"

namespace skald {

/// A run of tokens that is in an old and a new sequence, at or after the first difference. All in tokens.
struct SharedSpan {
  uint32_t prefix;                ///< length of the beginning that both have
  uint32_t old_begin, new_begin;  ///< where the run is in the old and in the new sequence
  uint32_t length;                ///< of the run

  friend bool operator==(const SharedSpan&, const SharedSpan&) = default;
};

/// Returns the longest such run, or nothing if it has fewer than `min_tokens`. It never includes the last token of
/// `new_tokens`, because the tokens after it need computed logits. Takes time in proportion to the product of the two
/// lengths. Error: kResourceExhausted.
Result<std::optional<SharedSpan>> FindSharedSpan(std::span<const int32_t> old_tokens,
                                                 std::span<const int32_t> new_tokens, uint32_t min_tokens);

/// Leaves the prefix and the span in `cache`, which holds the old tokens. Errors: those of KVCache::Erase; the cache
/// then is as it was.
Result<void> KeepSpan(KVCache& cache, const SharedSpan& span);

/// Moves the span to after the new tokens, which were appended since KeepSpan. Errors: those of KVCache::Shift.
Result<void> PlaceSpan(KVCache& cache, const SharedSpan& span);

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/store/prompts/detail/edited_prompt.h"
#endif

#endif  // SKALD_STORE_PROMPTS_EDITED_PROMPT_H_
