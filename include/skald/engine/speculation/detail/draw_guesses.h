// SPDX-License-Identifier: Apache-2.0
//
// Draws guesses from what a head computed, as the texts' own tokens are drawn.

#ifndef SKALD_ENGINE_SPECULATION_DETAIL_DRAW_GUESSES_H_
#define SKALD_ENGINE_SPECULATION_DETAIL_DRAW_GUESSES_H_

#include <cstddef>
#include <span>
#include <vector>

#include "skald/base/result.h"
#include "skald/engine/requests/drafter.h"
#include "skald/model/heads/draft_head.h"
#include "skald/model/workspace.h"
#include "skald/sampling/sampler.h"

namespace skald::internal {

// Adds a guess to each task; `scratch` and `logits` are memory for it. `rows` are those of the head's residual stream
// after its last block, [tasks, model_dim].
inline Result<void> DrawGuesses(const DraftHead& head, std::span<const float> rows, std::span<DraftTask* const> tasks,
                                Workspace& workspace, SamplerScratch& scratch, std::vector<float>& logits) {
  if (tasks.empty()) return {};
  SKALD_TRY(head.Logits(rows, workspace, logits));
  const size_t vocab = logits.size() / tasks.size();
  for (size_t i = 0; i < tasks.size(); ++i) {
    DraftTask& task = *tasks[i];
    SKALD_ASSIGN(auto drawn, Sample(std::span(logits).subspan(i * vocab, vocab), *task.sampler, {},
                                    task.tokens.size() + task.drafts.size(), scratch));
    task.drafts.push_back(drawn.id);
  }
  return {};
}

}  // namespace skald::internal

#endif  // SKALD_ENGINE_SPECULATION_DETAIL_DRAW_GUESSES_H_
