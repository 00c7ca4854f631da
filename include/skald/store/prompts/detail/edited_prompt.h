// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/store/prompts/edited_prompt.h.

#ifndef SKALD_STORE_PROMPTS_DETAIL_EDITED_PROMPT_H_
#define SKALD_STORE_PROMPTS_DETAIL_EDITED_PROMPT_H_

#include "skald/store/prompts/edited_prompt.h"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "skald/base/inline.h"
#include "skald/base/no_throw.h"

namespace skald {

SKALD_INLINE Result<std::optional<SharedSpan>> FindSharedSpan(std::span<const int32_t> old_tokens,
                                                              std::span<const int32_t> new_tokens,
                                                              uint32_t min_tokens) {
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

SKALD_INLINE Result<void> KeepSpan(KVCache& cache, const SharedSpan& span) {
  SKALD_ASSIGN(auto edited, cache.Fork());
  SKALD_TRY(edited.Erase(span.old_begin + span.length, edited.size()));
  SKALD_TRY(edited.Erase(span.prefix, span.old_begin));
  cache = std::move(edited);
  return {};
}

SKALD_INLINE Result<void> PlaceSpan(KVCache& cache, const SharedSpan& span) {
  return cache.Shift(span.prefix, span.prefix + span.length, span.new_begin);
}

}  // namespace skald

#endif  // SKALD_STORE_PROMPTS_DETAIL_EDITED_PROMPT_H_
