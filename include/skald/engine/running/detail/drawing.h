// SPDX-License-Identifier: Apache-2.0
//
// What becomes of one answer as its rows are computed: its prompt is read, and tokens are drawn. Where there is no
// memory for that, nothing is lost, and the rows are computed again.

#ifndef SKALD_ENGINE_RUNNING_DETAIL_DRAWING_H_
#define SKALD_ENGINE_RUNNING_DETAIL_DRAWING_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>

#include "skald/base/no_throw.h"
#include "skald/base/numbers/xxh64.h"
#include "skald/base/result.h"
#include "skald/engine/answers/answer.h"
#include "skald/engine/requests/engine_options.h"
#include "skald/engine/running/sequence.h"
#include "skald/sampling/sampler.h"
#include "skald/tokenizers/tokenizer_value.h"

namespace skald::internal {

// Draws in a row for which there was no memory; then an answer ends with that error.
inline constexpr uint32_t kMostTorn = 10;

// Reads a row of the prompt that is wanted, if it is the next: logits or a hidden state.
// What there was no memory for is computed and read again.
inline void ReadPrompt(Sequence& sequence, uint32_t position, std::span<const float> row, SamplerScratch& scratch) {
  if (sequence.is_finished() || sequence.reading.next() != position) return;
  auto read = sequence.reading.Read(row, scratch, sequence.event);
  if (read || read.error().code == ErrorCode::kResourceExhausted) return;
  sequence.event.error = read.error();
  sequence.event.finish = FinishReason::kError;
}

// Draws the next token from `logits` [vocab_size] and returns its id; nothing where there is none: the answer is at its
// end with an error, or there was no memory, and the draw is made again. `clock` is asked for the time of the first
// token.
inline std::optional<int32_t> DrawToken(Sequence& sequence, std::span<const float> logits, const Clock& clock,
                                        SamplerScratch& scratch) {
  const auto id = sequence.answer.Draw(logits, scratch, sequence.event);
  if (!id && id.error().code == ErrorCode::kResourceExhausted && ++sequence.torn < kMostTorn) return std::nullopt;
  if (!id) {
    sequence.event.error = id.error();
    sequence.event.finish = FinishReason::kError;
    return std::nullopt;
  }
  if (sequence.request->digest_logits) {
    sequence.usage.logits_digest = Xxh64(std::as_bytes(logits), sequence.usage.logits_digest);
  }
  sequence.torn = 0;
  ++sequence.usage.generated_tokens;
  if (!sequence.usage.first_token) sequence.usage.first_token = clock();
  if (sequence.answer.finish()) {
    sequence.event.finish = sequence.answer.finish();
    sequence.event.stop_string = sequence.answer.stop_string();
  }
  return *id;
}

// Has the long work of the filter done by `workers`, which are there where answers defer it, before a token is drawn or
// it can be told whether the answer is at its end.
inline void PrepareFilter(Sequence& sequence, FilterWorkers* workers) {
  if (sequence.is_finished()) return;
  sequence.awaits_filter = sequence.filter_work != nullptr && !sequence.filter_work->is_done();
  if (sequence.awaits_filter) return;
  sequence.filter_work = sequence.answer.TakeFilterWork();
  if (sequence.filter_work != nullptr) {
    const auto added = NoThrow("the work of a filter", [&]() -> Result<void> {
      workers->Add(sequence.request->tenant, sequence.filter_work);
      return {};
    });
    sequence.awaits_filter = true;
    if (!added) sequence.filter_work = nullptr;  // no memory: the next step tries again
    return;
  }
  const size_t text = sequence.event.text.size();
  if (auto settled = sequence.answer.Settle(sequence.event)) {
    sequence.event.finish = sequence.answer.finish();
  } else {
    sequence.event.text.resize(text);
    if (settled.error().code == ErrorCode::kResourceExhausted && ++sequence.torn < kMostTorn) return;
    sequence.event.error = settled.error();
    sequence.event.finish = FinishReason::kError;
  }
}

// Begins a torn answer again where it was before the draw. Its tokens since are those that were not counted.
inline Result<void> Mend(Sequence& sequence, const Tokenizer* tokenizer) {
  if (sequence.torn == 0) return {};
  const std::span<const int32_t> drawn =
      sequence.answer.tokens().subspan(sequence.request->prompt.size(), sequence.usage.generated_tokens);
  SKALD_ASSIGN(auto answer, Answer::Begin(sequence.request, sequence.sample, sequence.answer.max_tokens(), tokenizer,
                                          drawn, sequence.answer.defers_filter()));
  sequence.answer = std::move(answer);
  return {};
}

}  // namespace skald::internal

#endif  // SKALD_ENGINE_RUNNING_DETAIL_DRAWING_H_
