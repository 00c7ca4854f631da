// SPDX-License-Identifier: Apache-2.0
//
// Between sequences and what is written down of them: how the samples of a request begin, or go on as they stood when
// an engine was suspended, and what is written down then.

#ifndef SKALD_ENGINE_RUNNING_DETAIL_SUSPENDING_H_
#define SKALD_ENGINE_RUNNING_DETAIL_SUSPENDING_H_

#include <algorithm>
#include <cstdint>
#include <list>
#include <memory>
#include <span>
#include <utility>

#include "skald/base/result.h"
#include "skald/engine/answers/answer.h"
#include "skald/engine/requests/engine_options.h"
#include "skald/engine/requests/request.h"
#include "skald/engine/running/sequence.h"
#include "skald/engine/running/suspended.h"
#include "skald/engine/running/swapping.h"

namespace skald::internal {

// A request that is new: none of its samples has begun. `room`: tokens that it may write at most.
inline SuspendedRequest NothingBegun(RequestId id, const Request& request, uint32_t room, double now) {
  SuspendedRequest begun = {.id = id, .max_tokens = std::min(room, request.max_tokens.value_or(room))};
  for (uint32_t sample = 0; sample < request.samples; ++sample) {
    begun.samples.push_back({.sample = sample, .usage = {.submitted = now}});
  }
  return begun;
}

// Returns the samples of `request` as they stood. Their ids begin at `first_id`. Samples that have not begun wait for
// the first one to compute the prompt. Errors: those of Answer::Begin; kDataLoss for an answer that is at its end.
inline Result<std::list<Sequence>> MakeSequences(const SuspendedRequest& suspended,
                                                 const std::shared_ptr<const Request>& request, uint64_t first_id,
                                                 const EngineOptions& options) {
  std::list<Sequence> made;
  const double now = options.clock();
  const auto prompt_tokens = static_cast<uint32_t>(request->prompt.size());
  for (const SuspendedSample& sample : suspended.samples) {
    SKALD_ASSIGN(auto answer,
                 Answer::Begin(request, sample.sample, suspended.max_tokens, options.tokenizer, sample.drawn,
                               /*defers_filter=*/options.filter_workers != nullptr));
    if (answer.finish()) return Fail(ErrorCode::kDataLoss, "a suspended answer is at its end");
    Sequence& sequence = made.emplace_back(Sequence{.id = first_id + made.size(),
                                                    .request_id = suspended.id,
                                                    .sample = sample.sample,
                                                    .request = request,
                                                    .answer = std::move(answer),
                                                    .reading = PromptReading(request, sample.sample, sample.scored)});
    sequence.standing = {now, request->priority, uint64_t{prompt_tokens} + suspended.max_tokens};
    sequence.usage = sample.usage;
    sequence.usage.prompt_tokens = prompt_tokens;
    sequence.usage.generated_tokens = static_cast<uint32_t>(sample.drawn.size());
    sequence.step_ends = request->branch_points;
    sequence.has_begun = !sample.drawn.empty();
    sequence.swapped = sample.swapped;
    Sequence& first = made.front();
    if (&sequence != &first && sample.drawn.empty() && first.answer.drawn() == 0) sequence.Follow(first, prompt_tokens);
  }
  return made;
}

inline SuspendedRequest SuspendedOf(const Sequence& sequence) {
  return {sequence.request_id, *sequence.request, sequence.request->filter != nullptr,
          bool(sequence.request->own_sampler), sequence.answer.max_tokens()};
}

inline SuspendedSample SuspendedSampleOf(const Sequence& sequence) {
  const std::span<const int32_t> drawn =
      sequence.answer.tokens().subspan(sequence.request->prompt.size(), sequence.usage.generated_tokens);
  return {sequence.sample,
          {drawn.begin(), drawn.end()},
          sequence.reading.scored(),
          sequence.usage,
          Swapping::Written(sequence)};
}

}  // namespace skald::internal

#endif  // SKALD_ENGINE_RUNNING_DETAIL_SUSPENDING_H_
