// SPDX-License-Identifier: Apache-2.0
//
// PromptReading: what is told of a prompt itself, read from the rows that compute it, in their order: the
// log-probabilities of its tokens, or an embedding of it. A function of the request and of the rows; rows that were
// read and are computed again are not wanted again.

#ifndef SKALD_ENGINE_ANSWERS_PROMPT_READING_H_
#define SKALD_ENGINE_ANSWERS_PROMPT_READING_H_

#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <vector>

#include "skald/base/result.h"
#include "skald/cache/steps/step_plan.h"
#include "skald/engine/requests/request.h"
#include "skald/sampling/sampler.h"

namespace skald {

class PromptReading {
 public:
  /// Nothing is read of the prompt but for `sample` 0. The log-probabilities of `scored` tokens were told before.
  PromptReading(std::shared_ptr<const Request> request, uint32_t sample, uint32_t scored);

  /// Whether rows are still to be read that no known beginning replaces.
  bool is_wanted() const { return next_ < end_; }
  /// Whether the rows that are still to be read are logits [vocab_size], not hidden states.
  bool wants_logits() const { return is_wanted() && want_ == Want::kLogits; }
  /// The row that is read next; at the end any.
  uint32_t next() const { return is_wanted() ? next_ : std::numeric_limits<uint32_t>::max(); }
  /// Tokens whose log-probabilities were told.
  uint32_t scored() const { return want_ == Want::kLogits ? next_ : 0; }

  /// The wanted output of the row at a position.
  Want WantOf(uint32_t position) const { return position >= next_ && position < end_ ? want_ : Want::kNothing; }

  /// Takes the row at next(): logits [vocab_size] or hidden state [model_dim]. News go to `event`. After an error the
  /// row may be read again.
  Result<void> Read(std::span<const float> row, SamplerScratch& scratch, Event& event);

 private:
  // Sums in double, in the order of positions: the same whatever pieces the prompt is computed in.
  Result<void> AddHidden(std::span<const float> row, Event& event);

  std::shared_ptr<const Request> request_;
  Want want_ = Want::kNothing;
  uint32_t next_ = 0, end_ = 0;  ///< positions of rows
  std::vector<double> sums_;     ///< of what was read
};

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/engine/answers/detail/prompt_reading.h"
#endif

#endif  // SKALD_ENGINE_ANSWERS_PROMPT_READING_H_
