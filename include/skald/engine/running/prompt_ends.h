// SPDX-License-Identifier: Apache-2.0
//
// PromptEnds: where prompts end, kept for samples that found no place when their prompt was computed, so that it is
// computed once. They only save time, and give way where memory is needed.

#ifndef SKALD_ENGINE_RUNNING_PROMPT_ENDS_H_
#define SKALD_ENGINE_RUNNING_PROMPT_ENDS_H_

#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "skald/base/no_throw.h"
#include "skald/base/result.h"
#include "skald/cache/kv_cache.h"
#include "skald/cache/spare_bytes.h"

namespace skald {

struct PromptEnd {
  std::optional<KVCache> cache;  // empty when it had to give way
  std::vector<float> logits;     // [vocab_size]
};

class PromptEnds {
 public:
  // `cache` stands at the end of a prompt, `logits` [vocab_size] are of its last token. What this returns is kept as
  // long as anyone has it; null where there is no memory for it.
  std::shared_ptr<PromptEnd> Keep(const KVCache& cache, std::span<const float> logits) noexcept {
    std::shared_ptr<PromptEnd> end;
    (void)NoThrow("a prompt's end", [&]() -> Result<void> {
      auto fork = cache.Fork();
      if (!fork) return Failure(fork.error());
      fork->DropResumePoints();
      ends_.push_back(std::make_shared<PromptEnd>(PromptEnd{std::move(*fork), {logits.begin(), logits.end()}}));
      end = ends_.back();
      return {};
    });
    return end;
  }

  void CountIn(SpareBytes& spare) {
    std::erase_if(ends_, [](const auto& end) { return end.use_count() == 1 || !end->cache; });
    for (const auto& end : ends_) spare.AddAll(*end->cache);
  }

  // Gives one up; false where there is none.
  bool Yield() noexcept {
    while (!ends_.empty()) {
      const std::shared_ptr<PromptEnd> end = std::move(ends_.back());
      ends_.pop_back();
      const bool was_kept = end->cache.has_value();
      end->cache.reset();
      if (was_kept) return true;
    }
    return false;
  }

 private:
  std::vector<std::shared_ptr<PromptEnd>> ends_;
};

}  // namespace skald

#endif  // SKALD_ENGINE_RUNNING_PROMPT_ENDS_H_
