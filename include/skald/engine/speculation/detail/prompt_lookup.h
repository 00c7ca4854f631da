// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/engine/speculation/prompt_lookup.h.

#ifndef SKALD_ENGINE_SPECULATION_DETAIL_PROMPT_LOOKUP_H_
#define SKALD_ENGINE_SPECULATION_DETAIL_PROMPT_LOOKUP_H_

#include "skald/engine/speculation/prompt_lookup.h"

#include <algorithm>
#include <cstddef>

#include "skald/base/inline.h"
#include "skald/base/no_throw.h"

namespace skald {

SKALD_INLINE Result<void> PromptLookup::Draft(std::span<DraftTask> tasks) {
  return NoThrow("PromptLookup", [&]() -> Result<void> {
    for (DraftTask& task : tasks) {
      const std::span<const int32_t> following = Following(task.tokens, options_);
      const size_t count = std::min<size_t>(task.most, following.size());
      task.drafts.assign(following.begin(), following.begin() + static_cast<std::ptrdiff_t>(count));
    }
    return {};
  });
}

SKALD_INLINE std::span<const int32_t> PromptLookup::Following(std::span<const int32_t> tokens,
                                                              const PromptLookupOptions& options) {
  for (size_t length = options.longest; length >= std::max(1u, options.shortest); --length) {
    if (tokens.size() <= length) continue;
    const std::span<const int32_t> tail = tokens.last(length);
    const std::span<const int32_t> before = tokens.first(tokens.size() - 1);
    const auto found = std::find_end(before.begin(), before.end(), tail.begin(), tail.end());
    if (found != before.end()) return tokens.subspan(static_cast<size_t>(found - before.begin()) + length);
  }
  return {};
}

}  // namespace skald

#endif  // SKALD_ENGINE_SPECULATION_DETAIL_PROMPT_LOOKUP_H_
