// SPDX-License-Identifier: Apache-2.0
//
// Between sequences and what is written of them: how the samples of a request begin, or go on as they were when an
// engine was suspended, and what is written then.

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
#include "skald/engine/running/swapping.h"
#include "skald/engine/suspension/suspended.h"

namespace skald::internal {

// A request that is new: none of its samples has begun. `room`: tokens that it may write at most.
inline SuspendedRequest NothingBegun(RequestId id, const Request& request, uint32_t room, double now) {
  SuspendedRequest begun = {.id = id, .max_tokens = std::min(room, request.max_tokens.value_or(room))};
  for (uint32_t sample = 0; sample < request.samples; ++sample) {
    begun.samples.push_back({.sample = sample, .usage = {.submitted = now}});
  }
  return begun;
}

// Returns the samples of `request` as they were suspended. Their ids begin at `first_id`. Samples that have not begun
// wait for the first one to compute the prompt. Errors: those of Answer::Begin; kDataLoss for a finished answer.
inline Result<std::list<Sequence>> MakeSequences(const SuspendedRequest& suspended,
                                                 const std::shared_ptr<const Request>& request, uint64_t first_id,
                                                 const EngineOptions& options) {
  std::list<Sequence> made;
  const double now = options.clock();
  for (const SuspendedSample& sample : suspended.samples) {
    SKALD_ASSIGN(auto answer,
                 Answer::Begin(request, sample.sample, suspended.max_tokens, options.tokenizer, sample.drawn,
                               /*defers_filter=*/options.filter_workers != nullptr));
    if (answer.finish()) return Fail(ErrorCode::kDataLoss, "a suspended answer is at its end");
    Sequence& sequence =
        made.emplace_back(first_id + made.size(), suspended.id, request, std::move(answer), sample, now);
    Sequence& first = made.front();
    if (&sequence != &first && sequence.BeginsWith(first)) {
      sequence.Follow(first, static_cast<uint32_t>(request->prompt.size()));
    }
  }
  return made;
}

inline SuspendedRequest SuspendedOf(const Sequence& sequence) {
  const Request& request = sequence.request();
  return {sequence.request_id(), request, request.filter != nullptr, bool(request.own_sampler), sequence.max_tokens()};
}

inline SuspendedSample SuspendedSampleOf(const Sequence& sequence) {
  const std::span<const int32_t> drawn = sequence.drawn();
  return {sequence.sample(),
          {drawn.begin(), drawn.end()},
          sequence.scored(),
          sequence.usage(),
          Swapping::Written(sequence)};
}

}  // namespace skald::internal

#endif  // SKALD_ENGINE_RUNNING_DETAIL_SUSPENDING_H_
