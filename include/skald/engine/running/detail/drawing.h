// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/engine/running/sequence.h: what happens to an answer when its rows are computed. Its prompt is
// read, and tokens are drawn. Without memory for that nothing is lost, and the rows are computed again.

#ifndef SKALD_ENGINE_RUNNING_DETAIL_DRAWING_H_
#define SKALD_ENGINE_RUNNING_DETAIL_DRAWING_H_

#include <cstddef>

#include "skald/base/inline.h"
#include "skald/base/no_throw.h"
#include "skald/base/numbers/xxh64.h"
#include "skald/engine/running/sequence.h"
#include "skald/tokenizers/tokenizer_value.h"

namespace skald {

namespace internal {

// Draws in a row for which there was no memory; then an answer ends with that error.
inline constexpr uint32_t kMostTorn = 10;

}  // namespace internal

SKALD_INLINE void Sequence::ReadPrompt(uint32_t position, std::span<const float> row, SamplerScratch& scratch) {
  if (is_finished() || reading_.next() != position) return;
  auto read = reading_.Read(row, scratch, event_);
  // For lack of memory the row is computed and read again.
  if (!read && read.error().code != ErrorCode::kResourceExhausted) EndWith(read.error());
}

SKALD_INLINE Sequence::Drawn Sequence::Draw(std::span<const std::span<const float>> logits,
                                            std::span<const int32_t> drafts, const EngineOptions& options,
                                            SamplerScratch& scratch) {
  Drawn drawn;
  for (size_t i = 0; i < logits.size(); ++i) {
    const auto id = DrawOne(logits[i], options, scratch);
    if (id) ++drawn.tokens;
    if (!id || is_finished() || i == drafts.size() || *id != drafts[i]) break;
    ++drawn.accepted;
    PrepareFilter(options);
    if (is_finished() || awaits_filter_) break;
  }
  const auto drafted = static_cast<uint32_t>(drafts.size());
  draft_length_.Observe(drafted, drawn.accepted);
  usage_.drafted_tokens += drafted;
  usage_.accepted_tokens += drawn.accepted;
  Rewind();
  return drawn;
}

SKALD_INLINE std::optional<int32_t> Sequence::DrawOne(std::span<const float> logits, const EngineOptions& options,
                                                      SamplerScratch& scratch) {
  const auto id = answer_.Draw(logits, scratch, event_);
  if (!id) {
    if (!MayRetry(id.error())) EndWith(id.error());
    return std::nullopt;
  }
  if (request_->digest_logits) usage_.logits_digest = Xxh64(std::as_bytes(logits), usage_.logits_digest);
  torn_ = 0;
  ++usage_.generated_tokens;
  if (!usage_.first_token) usage_.first_token = options.clock();
  if (answer_.finish()) {
    event_.finish = answer_.finish();
    event_.stop_string = answer_.stop_string();
  }
  return *id;
}

SKALD_INLINE void Sequence::PrepareFilter(const EngineOptions& options) {
  if (is_finished()) return;
  awaits_filter_ = filter_work_ != nullptr && !filter_work_->is_done();
  if (awaits_filter_) return;
  filter_work_ = answer_.TakeFilterWork();
  if (filter_work_ != nullptr) {
    const auto added = NoThrow("the work of a filter", [&]() -> Result<void> {
      options.filter_workers->Add(request_->tenant, filter_work_);
      return {};
    });
    awaits_filter_ = true;
    if (!added) filter_work_ = nullptr;  // no memory: the next step tries again
    return;
  }
  const size_t text = event_.text.size();
  if (auto settled = answer_.Settle(event_)) {
    event_.finish = answer_.finish();
  } else {
    event_.text.resize(text);
    if (!MayRetry(settled.error())) EndWith(settled.error());
  }
}

SKALD_INLINE bool Sequence::MayRetry(const Error& error) noexcept {
  return error.code == ErrorCode::kResourceExhausted && ++torn_ < internal::kMostTorn;
}

SKALD_INLINE Result<void> Sequence::Mend(const EngineOptions& options) {
  if (torn_ == 0) return {};
  // Tokens since the draw are those that were not counted.
  SKALD_ASSIGN(auto answer, Answer::Begin(request_, sample_, answer_.max_tokens(), options.tokenizer, drawn(),
                                          answer_.defers_filter()));
  answer_ = std::move(answer);
  return {};
}

}  // namespace skald

#endif  // SKALD_ENGINE_RUNNING_DETAIL_DRAWING_H_
