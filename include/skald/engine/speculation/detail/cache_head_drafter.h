// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/engine/speculation/cache_head_drafter.h.

#ifndef SKALD_ENGINE_SPECULATION_DETAIL_CACHE_HEAD_DRAFTER_H_
#define SKALD_ENGINE_SPECULATION_DETAIL_CACHE_HEAD_DRAFTER_H_

#include "skald/engine/speculation/cache_head_drafter.h"

#include <algorithm>

#include "skald/base/inline.h"
#include "skald/base/no_throw.h"
#include "skald/cache/steps/batch.h"
#include "skald/engine/speculation/detail/draw_guesses.h"
#include "skald/model/forward_options.h"

namespace skald {

SKALD_INLINE Result<void> CacheHeadDrafter::Draft(std::span<DraftTask> tasks) {
  return NoThrow("CacheHeadDrafter", [&]() -> Result<void> {
    std::vector<DraftTask*> works;
    std::vector<float> rows;
    for (DraftTask& task : tasks) {
      const size_t floats = head_.row_floats(), told = task.rows.values.size() / floats;
      if (told > 0) {
        const std::span<const float> last = task.rows.values.last(floats);
        rows_[task.sequence] = {task.rows.begin + static_cast<uint32_t>(told) - 1, {last.begin(), last.end()}};
      }
      const auto found = rows_.find(task.sequence);
      if (task.most == 0 || found == rows_.end() || task.cache == nullptr) continue;
      const size_t kept = task.cache->size();
      if (kept + 1 != task.tokens.size() || found->second.position + 1 != kept) continue;
      works.push_back(&task);
      rows.insert(rows.end(), found->second.values.begin(), found->second.values.end());
    }
    auto from = DraftHead::From::kModel;
    while (!works.empty()) {
      std::vector<int32_t> tokens;
      for (const DraftTask* task : works) {
        tokens.push_back(task->drafts.empty() ? task->tokens.back() : task->drafts.back());
      }
      SKALD_TRY(Compute(works, tokens, rows, from));
      SKALD_TRY(internal::DrawGuesses(head_, rows, works, workspace_, scratch_, logits_));
      const size_t width = rows.size() / works.size();
      size_t left = 0;
      for (size_t i = 0; i < works.size(); ++i) {
        if (works[i]->drafts.size() >= works[i]->most) continue;
        std::copy_n(rows.begin() + static_cast<std::ptrdiff_t>(i * width), width,
                    rows.begin() + static_cast<std::ptrdiff_t>(left * width));
        works[left++] = works[i];
      }
      works.resize(left);
      rows.resize(left * width);
      from = DraftHead::From::kHead;
    }
    return {};
  });
}

SKALD_INLINE Result<void> CacheHeadDrafter::Compute(std::span<DraftTask* const> tasks, std::span<const int32_t> tokens,
                                                    std::vector<float>& rows, DraftHead::From from) {
  const AnyModel& body = head_.body();
  const auto dim = static_cast<size_t>(body.spec().model_dim);
  SKALD_TRY(head_.Inputs(tokens, rows, from, workspace_, inputs_));
  constexpr Want kNothing[] = {Want::kNothing};
  std::vector<WholeText> texts;
  for (size_t i = 0; i < tasks.size(); ++i) {
    texts.push_back({.tokens = tokens.subspan(i, 1), .wants = kNothing, .beside = tasks[i]->cache});
  }
  rows.resize(tasks.size() * dim);
  const auto begin = [&](const HookRows& stream) {
    for (size_t i = 0; i < stream.rows(); ++i) std::copy_n(inputs_.data() + i * dim, dim, stream.row(i).data());
  };
  const auto end = [&](const HookRows& stream) { std::ranges::copy(stream.values(), rows.begin()); };
  const size_t blocks = body.spec().blocks.size();
  SKALD_TRY(body.Encode(texts, workspace_, {.hooks = {{StreamBefore(0), begin}, {StreamBefore(blocks), end}}}));
  return {};
}

}  // namespace skald

#endif  // SKALD_ENGINE_SPECULATION_DETAIL_CACHE_HEAD_DRAFTER_H_
