// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/engine/running/prompt_ends.h.

#ifndef SKALD_ENGINE_RUNNING_DETAIL_PROMPT_ENDS_H_
#define SKALD_ENGINE_RUNNING_DETAIL_PROMPT_ENDS_H_

#include "skald/engine/running/prompt_ends.h"

#include <utility>

#include "skald/base/inline.h"
#include "skald/base/no_throw.h"
#include "skald/base/result.h"

namespace skald {

SKALD_INLINE std::shared_ptr<PromptEnd> PromptEnds::Keep(const KVCache& cache, std::span<const float> logits) noexcept {
  std::shared_ptr<PromptEnd> end;
  (void)NoThrow("a prompt's end", [&]() -> Result<void> {
    SKALD_ASSIGN(auto fork, cache.Fork());
    fork.DropResumePoints();
    ends_.push_back(std::make_shared<PromptEnd>(PromptEnd{std::move(fork), {logits.begin(), logits.end()}}));
    end = ends_.back();
    return {};
  });
  return end;
}

SKALD_INLINE void PromptEnds::CountIn(SpareBytes& spare) {
  std::erase_if(ends_, [](const auto& end) { return end.use_count() == 1 || !end->cache; });
  for (const auto& end : ends_) spare.AddAll(*end->cache);
}

SKALD_INLINE bool PromptEnds::Yield() noexcept {
  while (!ends_.empty()) {
    const std::shared_ptr<PromptEnd> end = std::move(ends_.back());
    ends_.pop_back();
    const bool was_kept = end->cache.has_value();
    end->cache.reset();
    if (was_kept) return true;
  }
  return false;
}

}  // namespace skald

#endif  // SKALD_ENGINE_RUNNING_DETAIL_PROMPT_ENDS_H_
