// SPDX-License-Identifier: Apache-2.0
//
// PromptLookup: guesses that a text repeats itself: after the latest tokens come the tokens that followed them at their
// last earlier place (prompt lookup decoding, A. Saxena 2023; LLMA, Yang et al., arXiv:2304.04487). Needs no model; it
// pays if answers copy from their prompts, as in editing, summarising and code.

#ifndef SKALD_ENGINE_SPECULATION_PROMPT_LOOKUP_H_
#define SKALD_ENGINE_SPECULATION_PROMPT_LOOKUP_H_

#include <cstdint>
#include <span>

#include "skald/base/result.h"
#include "skald/engine/requests/drafter.h"

namespace skald {

/// Lengths of the repetitions that PromptLookup looks for.
struct PromptLookupOptions {
  uint32_t longest = 4, shortest = 2;  ///< tokens that must agree; longer agreement is tried first
};

class PromptLookup : public Drafter {
 public:
  /// A `shortest` of 0 counts as 1.
  explicit PromptLookup(const PromptLookupOptions& options = {}) : options_(options) {}

  Result<void> Draft(std::span<DraftTask> tasks) override;

  /// Returns the tokens after the latest earlier place where `tokens` have the same last tokens; empty if there is
  /// none. O(tokens) for each length tried.
  static std::span<const int32_t> Following(std::span<const int32_t> tokens, const PromptLookupOptions& options);

 private:
  const PromptLookupOptions options_;
};

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/engine/speculation/detail/prompt_lookup.h"
#endif

#endif  // SKALD_ENGINE_SPECULATION_PROMPT_LOOKUP_H_
