// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/engine/answers/prompt_reading.h.

#ifndef SKALD_ENGINE_ANSWERS_DETAIL_PROMPT_READING_H_
#define SKALD_ENGINE_ANSWERS_DETAIL_PROMPT_READING_H_

#include "skald/engine/answers/prompt_reading.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "skald/base/inline.h"
#include "skald/base/no_throw.h"

namespace skald {

SKALD_INLINE PromptReading::PromptReading(std::shared_ptr<const Request> request, uint32_t sample, uint32_t scored)
    : request_(std::move(request)) {
  const auto tokens = static_cast<uint32_t>(request_->prompt.size());
  if (sample > 0) return;
  if (request_->embedding) {
    want_ = Want::kHidden;
    end_ = tokens;
    if (request_->embedding == PromptEmbedding::kLast) next_ = tokens - 1;
  } else if (request_->prompt_logprobs) {
    want_ = Want::kLogits;
    end_ = tokens - 1;  // what follows the last token is drawn
    next_ = std::min(scored, end_);
  }
}

SKALD_INLINE Result<void> PromptReading::Read(std::span<const float> row, SamplerScratch& scratch, Event& event) {
  return NoThrow("reading a prompt", [&]() -> Result<void> {
    if (want_ == Want::kHidden) return AddHidden(row, event);
    SKALD_ASSIGN(auto scored, Score(row, request_->prompt[next_ + 1], *request_->prompt_logprobs, scratch));
    event.prompt_tokens.push_back(std::move(scored));
    ++next_;
    return {};
  });
}

SKALD_INLINE Result<void> PromptReading::AddHidden(std::span<const float> row, Event& event) {
  if (sums_.empty()) sums_.resize(row.size());
  if (next_ + 1 == end_) event.embedding.resize(row.size());
  for (size_t i = 0; i < row.size(); ++i) sums_[i] += row[i];
  if (++next_ < end_) return {};
  const double rows = request_->embedding == PromptEmbedding::kMean ? end_ : 1;
  for (size_t i = 0; i < row.size(); ++i) event.embedding[i] = static_cast<float>(sums_[i] / rows);
  event.finish = FinishReason::kEmbedding;
  return {};
}

}  // namespace skald

#endif  // SKALD_ENGINE_ANSWERS_DETAIL_PROMPT_READING_H_
