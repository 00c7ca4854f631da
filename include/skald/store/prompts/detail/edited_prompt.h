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

#ifndef SKALD_STORE_PROMPTS_DETAIL_EDITED_PROMPT_H_
#define SKALD_STORE_PROMPTS_DETAIL_EDITED_PROMPT_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "skald/base/no_throw.h"
#include "skald/base/result.h"
#include "skald/cache/kv_cache.h"

namespace skald {

// A run of tokens that is in an old and a new sequence, at or after the first difference.
struct SharedSpan {
  uint32_t prefix;  // tokens that both begin with
  uint32_t old_begin, new_begin;
  uint32_t length;

  friend bool operator==(const SharedSpan&, const SharedSpan&) = default;
};

// Returns the longest such run, or nothing if it has fewer than `min_tokens`. It never includes the last token of
// `new_tokens`, because the tokens after it need computed logits. Takes time in proportion to the product of the two
// lengths. Error: kResourceExhausted.
inline Result<std::optional<SharedSpan>> FindSharedSpan(std::span<const int32_t> old_tokens,
                                                        std::span<const int32_t> new_tokens, uint32_t min_tokens) {
  return NoThrow("FindSharedSpan", [&]() -> Result<std::optional<SharedSpan>> {
    if (new_tokens.empty()) return std::nullopt;
    const auto wanted = new_tokens.first(new_tokens.size() - 1);
    const auto parted = std::mismatch(old_tokens.begin(), old_tokens.end(), wanted.begin(), wanted.end());
    SharedSpan best{static_cast<uint32_t>(parted.first - old_tokens.begin()), 0, 0, 0};
    // run[j]: how many tokens before old position i and new position j, both included, are the same.
    std::vector<uint32_t> run(wanted.size() + 1, 0);
    for (uint32_t i = best.prefix; i < old_tokens.size(); ++i) {
      for (auto j = static_cast<uint32_t>(wanted.size()); j-- > best.prefix;) {
        run[j + 1] = old_tokens[i] == wanted[j] ? run[j] + 1 : 0;
        if (run[j + 1] > best.length) best = {best.prefix, i + 1 - run[j + 1], j + 1 - run[j + 1], run[j + 1]};
      }
    }
    if (best.length < min_tokens || best.length == 0) return std::nullopt;
    return best;
  });
}

// Leaves the prefix and the span in `cache`, which holds the old tokens. Errors: those of KVCache::Erase; the cache
// then is as it was.
inline Result<void> KeepSpan(KVCache& cache, const SharedSpan& span) {
  SKALD_ASSIGN(auto edited, cache.Fork());
  SKALD_TRY(edited.Erase(span.old_begin + span.length, edited.size()));
  SKALD_TRY(edited.Erase(span.prefix, span.old_begin));
  cache = std::move(edited);
  return {};
}

// Moves the span to after the new tokens, which were appended since KeepSpan. Errors: those of KVCache::Shift.
inline Result<void> PlaceSpan(KVCache& cache, const SharedSpan& span) {
  return cache.Shift(span.prefix, span.prefix + span.length, span.new_begin);
}

}  // namespace skald

#endif  // SKALD_STORE_PROMPTS_DETAIL_EDITED_PROMPT_H_
