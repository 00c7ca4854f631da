// SPDX-License-Identifier: Apache-2.0
//
// PromptReading: what is told of a prompt itself, read from the rows that compute it, in their order: the
// log-probabilities of its tokens, or an embedding of it. A function of the request and of the rows; rows that were
// read and are computed again are not wanted again.

#ifndef SKALD_ENGINE_ANSWERS_PROMPT_READING_H_
#define SKALD_ENGINE_ANSWERS_PROMPT_READING_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "skald/base/no_throw.h"
#include "skald/base/result.h"
#include "skald/cache/steps/step_plan.h"
#include "skald/engine/form/request.h"
#include "skald/sampling/sampler.h"

namespace skald {

class PromptReading {
 public:
  // Nothing is read of the prompt but for `sample` 0. The log-probabilities of `scored` tokens were told before.
  PromptReading(std::shared_ptr<const Request> request, uint32_t sample, uint32_t scored)
      : request_(std::move(request)) {
    const auto tokens = static_cast<uint32_t>(request_->prompt.size());
    if (sample > 0) return;
    if (request_->embedding) {
      want_ = Want::kHidden;
      end_ = tokens;
      if (request_->embedding == Pooling::kLast) next_ = tokens - 1;
    } else if (request_->prompt_logprobs) {
      want_ = Want::kLogits;
      end_ = tokens - 1;  // what follows the last token is drawn
      next_ = std::min(scored, end_);
    }
  }

  // Whether rows are still to be read, for which no known beginning stands in.
  bool is_wanted() const { return next_ < end_; }
  bool wants_logits() const { return is_wanted() && want_ == Want::kLogits; }
  // The row that is read next; at the end any.
  uint32_t next() const { return is_wanted() ? next_ : std::numeric_limits<uint32_t>::max(); }
  // Tokens whose log-probabilities were told.
  uint32_t scored() const { return want_ == Want::kLogits ? next_ : 0; }

  // What is wanted of the row at a position.
  Want WantOf(uint32_t position) const { return position >= next_ && position < end_ ? want_ : Want::kNothing; }

  // Takes the row at next(): logits [vocab_size] or hidden state [model_dim]. News go to `event`. After an error the
  // row may be read again.
  Result<void> Read(std::span<const float> row, SamplerScratch& scratch, Event& event) {
    return NoThrow("reading a prompt", [&]() -> Result<void> {
      if (want_ == Want::kHidden) return AddHidden(row, event);
      auto scored = Score(row, request_->prompt[next_ + 1], *request_->prompt_logprobs, scratch);
      if (!scored) return Failure(scored.error());
      event.prompt_tokens.push_back(*std::move(scored));
      ++next_;
      return {};
    });
  }

 private:
  // Sums in double, in the order of positions: the same whatever pieces the prompt is computed in.
  Result<void> AddHidden(std::span<const float> row, Event& event) {
    if (sums_.empty()) sums_.resize(row.size());
    if (next_ + 1 == end_) event.embedding.resize(row.size());
    for (size_t i = 0; i < row.size(); ++i) sums_[i] += row[i];
    if (++next_ < end_) return {};
    const double rows = request_->embedding == Pooling::kMean ? end_ : 1;
    for (size_t i = 0; i < row.size(); ++i) event.embedding[i] = static_cast<float>(sums_[i] / rows);
    event.finish = FinishReason::kEmbedding;
    return {};
  }

  std::shared_ptr<const Request> request_;
  Want want_ = Want::kNothing;
  uint32_t next_ = 0, end_ = 0;  // positions of rows
  std::vector<double> sums_;     // of what was read
};

}  // namespace skald

#endif  // SKALD_ENGINE_ANSWERS_PROMPT_READING_H_
