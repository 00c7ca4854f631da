// SPDX-License-Identifier: Apache-2.0
//
// PromptEnds: where prompts end, kept for samples that found no place when their prompt was computed, so that it is
// computed once. They only save time, and give way where memory is needed.

#ifndef SKALD_ENGINE_RUNNING_PROMPT_ENDS_H_
#define SKALD_ENGINE_RUNNING_PROMPT_ENDS_H_

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "skald/cache/kv_cache.h"
#include "skald/cache/spare_bytes.h"

namespace skald {

/// The state at the end of a prompt.
struct PromptEnd {
  std::optional<KVCache> cache;  ///< empty when it had to give way
  std::vector<float> logits;     ///< [vocab_size]
};

class PromptEnds {
 public:
  /// `cache` ends where a prompt ends; `logits` [vocab_size] are of its last token. The result is kept as long as a
  /// sequence has it. Null if there is no memory for it.
  std::shared_ptr<PromptEnd> Keep(const KVCache& cache, std::span<const float> logits) noexcept;

  /// Adds the blocks of the kept caches to `spare`.
  void CountIn(SpareBytes& spare);

  /// Gives one up; false if there is none.
  bool Yield() noexcept;

 private:
  std::vector<std::shared_ptr<PromptEnd>> ends_;
};

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/engine/running/detail/prompt_ends.h"
#endif

#endif  // SKALD_ENGINE_RUNNING_PROMPT_ENDS_H_
