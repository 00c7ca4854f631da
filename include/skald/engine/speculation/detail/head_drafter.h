// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/engine/speculation/head_drafter.h.

#ifndef SKALD_ENGINE_SPECULATION_DETAIL_HEAD_DRAFTER_H_
#define SKALD_ENGINE_SPECULATION_DETAIL_HEAD_DRAFTER_H_

#include "skald/engine/speculation/head_drafter.h"

#include <algorithm>
#include <cstddef>

#include "skald/base/inline.h"
#include "skald/base/no_throw.h"
#include "skald/cache/create.h"
#include "skald/cache/layout/runtime_config.h"
#include "skald/cache/steps/batch.h"
#include "skald/engine/speculation/detail/draw_guesses.h"
#include "skald/model/forward_options.h"
#include "skald/model/outputs.h"

namespace skald {

SKALD_INLINE Result<void> HeadDrafter::Draft(std::span<DraftTask> tasks) {
  return NoThrow("HeadDrafter", [&]() -> Result<void> {
    std::vector<Work> works;
    for (DraftTask& task : tasks) {
      Text* const text = Read(task);
      if (text == nullptr) continue;
      const size_t rows = text->unread.size() / head_.row_floats();
      if (rows == 0 || (task.most == 0 && rows < kMostUnread)) continue;
      if (task.most > 0 && text->next() + rows + 1 != task.tokens.size()) continue;  // some were not told
      const std::span<const int32_t> tokens = task.tokens.subspan(text->next() + 1, rows);
      works.push_back({&task, text, {tokens.begin(), tokens.end()}, std::exchange(text->unread, {})});
    }
    SKALD_TRY(Compute(works, DraftHead::From::kModel));
    std::vector<std::pair<const DraftTask*, uint32_t>> right;
    for (const Work& work : works) right.emplace_back(work.task, work.text->cache.size());
    std::erase_if(works, [](const Work& work) { return work.task->most == 0; });
    auto done = Guess(works);
    while (done && !works.empty()) {
      std::erase_if(works, [](const Work& work) { return work.task->drafts.size() >= work.task->most; });
      for (Work& work : works) {
        work.tokens = {work.task->drafts.back()};
        work.rows = std::exchange(work.last, {});
      }
      done = Compute(works, DraftHead::From::kHead);
      if (done) done = Guess(works);
    }
    for (const auto& [task, size] : right) Finish(*task, size);
    return done;
  });
}

SKALD_INLINE HeadDrafter::Text* HeadDrafter::Read(const DraftTask& task) {
  const auto count = static_cast<uint32_t>(task.rows.values.size() / head_.row_floats());
  const uint32_t end = task.rows.begin + count;
  auto found = texts_.find(task.sequence);
  if (found != texts_.end() && count > 0) {
    const Text& text = found->second;
    const uint32_t known = text.next() + static_cast<uint32_t>(text.unread.size() / head_.row_floats());
    if (task.rows.begin > known) {
      texts_.erase(found);
      found = texts_.end();
    }
  }
  if (found == texts_.end()) {
    if (count == 0) return nullptr;
    auto cache = CreateKVCache(pool_);
    if (!cache) return nullptr;
    found = texts_.emplace(task.sequence, Text{std::move(*cache), task.rows.begin, {}}).first;
  }
  Text& text = found->second;
  const uint32_t known = text.next() + static_cast<uint32_t>(text.unread.size() / head_.row_floats());
  if (end > known) {
    const auto fresh = task.rows.values.last((end - known) * head_.row_floats());
    text.unread.insert(text.unread.end(), fresh.begin(), fresh.end());
  }
  const size_t tokens = text.cache.size() + text.unread.size() / head_.row_floats() + task.most;
  if (tokens <= pool_->runtime().max_tokens && std::max(end, known) < task.tokens.size()) return &text;
  texts_.erase(found);
  return nullptr;
}

SKALD_INLINE Result<void> HeadDrafter::Compute(std::vector<Work>& works, DraftHead::From from) {
  while (!works.empty()) {
    const auto done = Forward(works, from);
    if (done) return {};
    const auto sequence = done.error().facts.sequence;
    if (!sequence || *sequence >= works.size()) {
      while (!works.empty()) Drop(works, works.size() - 1);
      return done;
    }
    if (!MakeRoom(works)) Drop(works, *sequence);
  }
  return {};
}

SKALD_INLINE Result<void> HeadDrafter::Forward(std::vector<Work>& works, DraftHead::From from) {
  const AnyModel& body = head_.body();
  const size_t dim = static_cast<size_t>(body.spec().model_dim), blocks = body.spec().blocks.size();
  std::vector<int32_t> tokens;
  std::vector<float> rows;
  std::vector<size_t> first;     // of each work's rows
  std::vector<uint32_t> before;  // tokens in its cache
  Batch batch;
  for (Work& work : works) {
    first.push_back(tokens.size());
    before.push_back(work.text->cache.size());
    tokens.insert(tokens.end(), work.tokens.begin(), work.tokens.end());
    rows.insert(rows.end(), work.rows.begin(), work.rows.end());
    batch.Add(work.text->cache, work.tokens, std::vector<Want>(work.tokens.size(), Want::kNothing));
    work.last.resize(dim);
  }
  SKALD_TRY(head_.Inputs(tokens, rows, from, workspace_, inputs_));
  const auto begin = [&](const HookRows& stream) {
    for (size_t i = 0; i < stream.rows(); ++i) {
      const size_t at = stream.positions[i] - before[stream.sequences[i]];
      std::copy_n(inputs_.data() + (first[stream.sequences[i]] + at) * dim, dim, stream.row(i).data());
    }
  };
  const auto end = [&](const HookRows& stream) {
    for (size_t i = 0; i < stream.rows(); ++i) {
      Work& work = works[stream.sequences[i]];
      const size_t at = stream.positions[i] - before[stream.sequences[i]];
      if (at + 1 == work.tokens.size()) std::ranges::copy(stream.row(i), work.last.begin());
    }
  };
  SKALD_TRY(
      body.Forward(batch, workspace_, {.hooks = {{StreamBefore(head_.entry()), begin}, {StreamBefore(blocks), end}}}));
  return {};
}

SKALD_INLINE Result<void> HeadDrafter::Guess(std::vector<Work>& works) {
  std::vector<float> rows;
  std::vector<DraftTask*> tasks;
  for (const Work& work : works) {
    rows.insert(rows.end(), work.last.begin(), work.last.end());
    tasks.push_back(work.task);
  }
  return internal::DrawGuesses(head_, rows, tasks, workspace_, scratch_, logits_);
}

SKALD_INLINE void HeadDrafter::Finish(const DraftTask& task, uint32_t right) {
  const auto found = texts_.find(task.sequence);
  if (found == texts_.end()) return;
  KVCache& cache = found->second.cache;
  if (cache.size() > right && !cache.Truncate(right)) texts_.erase(found);
}

SKALD_INLINE void HeadDrafter::Drop(std::vector<Work>& works, size_t at) {
  texts_.erase(works[at].task->sequence);
  works.erase(works.begin() + static_cast<std::ptrdiff_t>(at));
}

SKALD_INLINE bool HeadDrafter::MakeRoom(std::span<const Work> works) {
  for (auto it = texts_.begin(); it != texts_.end(); ++it) {
    const auto is_it = [&](const Work& work) { return work.text == &it->second; };
    if (it->second.cache.size() == 0 || std::ranges::any_of(works, is_it)) continue;
    texts_.erase(it);
    return true;
  }
  return false;
}

}  // namespace skald

#endif  // SKALD_ENGINE_SPECULATION_DETAIL_HEAD_DRAFTER_H_
