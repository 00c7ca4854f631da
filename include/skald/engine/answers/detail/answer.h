// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/engine/answers/answer.h.

#ifndef SKALD_ENGINE_ANSWERS_DETAIL_ANSWER_H_
#define SKALD_ENGINE_ANSWERS_DETAIL_ANSWER_H_

#include "skald/engine/answers/answer.h"

#include <algorithm>
#include <bit>
#include <string>
#include <utility>

#include "skald/base/inline.h"
#include "skald/base/no_throw.h"
#include "skald/sampling/random.h"
#include "skald/tokenizers/tokenizer_engine.h"

namespace skald {

SKALD_INLINE Result<Answer> Answer::Begin(std::shared_ptr<const Request> request, uint32_t sample, uint32_t max_tokens,
                                          const Tokenizer* tokenizer, bool defers_filter) {
  return NoThrow("beginning an answer", [&]() -> Result<Answer> {
    Answer answer(std::move(request), max_tokens);
    const Request& of = *answer.request_;
    answer.settings_.random.stream += sample;
    answer.defers_filter_ = defers_filter;
    answer.tokens_.reserve(of.prompt.size() + 1);
    if (of.filter != nullptr) {
      SKALD_ASSIGN(auto filter, of.filter->Clone());
      answer.filter_ = std::move(filter);
    }
    if (of.penalize_prompt) {
      SKALD_TRY(ObserveTokens(answer.settings_, of.prompt, answer.sampler_));
    }
    if (tokenizer != nullptr) {
      answer.tokenizer_ = tokenizer;
      answer.decoder_.emplace(*tokenizer);
      for (const int32_t id : of.prompt) {
        // An id that is no token of the tokenizer has no text; the model refuses ids beyond its own.
        (void)answer.decoder_->Push(id);
      }
    }
    return answer;
  });
}

SKALD_INLINE Result<Answer> Answer::Begin(std::shared_ptr<const Request> request, uint32_t sample, uint32_t max_tokens,
                                          const Tokenizer* tokenizer, std::span<const int32_t> drawn,
                                          bool defers_filter) {
  SKALD_ASSIGN(auto answer, Begin(std::move(request), sample, max_tokens, tokenizer, defers_filter));
  Event told;
  for (const int32_t id : drawn) {
    SampledToken token;
    token.id = id;
    SKALD_TRY(answer.Advance(std::move(token), told));
  }
  return answer;
}

SKALD_INLINE std::shared_ptr<FilterWork> Answer::TakeFilterWork() {
  return filter_ != nullptr && defers_filter_ ? filter_->TakeWork() : nullptr;
}

SKALD_INLINE Result<void> Answer::Settle(Event& event) {
  if (!is_unsettled_) return {};
  return NoThrow("an answer's end", [&]() -> Result<void> {
    SKALD_ASSIGN(const auto allowed, filter_->Allowed());
    if (AllowsNothingButEnd(allowed)) {
      SKALD_TRY(Finish(FinishReason::kFilter, event));
    }
    is_unsettled_ = false;
    return {};
  });
}

SKALD_INLINE Result<int32_t> Answer::Draw(std::span<const float> logits, SamplerScratch& scratch, Event& event) {
  std::optional<std::span<const uint64_t>> allowed;
  if (filter_ != nullptr) {
    SKALD_ASSIGN(auto words, filter_->Allowed());
    allowed = words;
  }
  SKALD_ASSIGN(auto drawn, DrawFrom(logits, allowed, scratch));
  const int32_t id = drawn.id;
  const size_t text = event.text.size();
  if (auto taken = Take(std::move(drawn), event); !taken) {
    event.text.resize(text);
    return Failure(taken.error());
  }
  return id;
}

SKALD_INLINE Result<SampledToken> Answer::DrawFrom(std::span<const float> logits,
                                                   std::optional<std::span<const uint64_t>> allowed,
                                                   SamplerScratch& scratch) const {
  if (!request_->own_sampler) return Sample(logits, settings_, sampler_, tokens_.size(), scratch, allowed);
  return request_->own_sampler.Draw(logits,
                                    {.tokens = tokens_,
                                     .prompt_tokens = request_->prompt.size(),
                                     .position = tokens_.size(),
                                     .settings = settings_,
                                     .state = sampler_,
                                     .allowed = allowed},
                                    scratch);
}

SKALD_INLINE Result<void> Answer::Take(SampledToken token, Event& event) {
  SKALD_TRY(Advance(std::move(token), event));
  return is_unsettled_ && TakeFilterWork() == nullptr ? Settle(event) : Result<void>();
}

SKALD_INLINE Result<void> Answer::Advance(SampledToken token, Event& event) {
  return NoThrow("an answer's token", [&]() -> Result<void> {
    is_unsettled_ = false;
    ++drawn_;
    if (std::ranges::find(request_->end_tokens, token.id) != request_->end_tokens.end()) {
      return Finish(FinishReason::kEndToken, event);
    }
    if (filter_ != nullptr) {
      SKALD_TRY(filter_->Accept(token.id));
    }
    SKALD_TRY(ObserveToken(settings_, token.id, sampler_));
    tokens_.push_back(token.id);
    SKALD_TRY(Tell(token.id, event));
    event.tokens.push_back(std::move(token));
    if (finish_) return {};
    if (drawn_ >= max_tokens_) return Finish(FinishReason::kMaxTokens, event);
    is_unsettled_ = filter_ != nullptr && filter_->IsComplete();
    return {};
  });
}

SKALD_INLINE Answer::Answer(std::shared_ptr<const Request> request, uint32_t max_tokens)
    : request_(std::move(request)),
      settings_(request_->sampler),
      max_tokens_(max_tokens),
      tokens_(request_->prompt),
      stops_({request_, &request_->stop_strings}) {}

SKALD_INLINE Result<void> Answer::Tell(int32_t id, Event& event) {
  if (!decoder_) return {};
  SKALD_ASSIGN(auto text, decoder_->Push(id));
  if (request_->special_text && text.empty() && tokenizer_->KindOf(id) == PieceKind::kControl) {
    text = decoder_->Flush() + std::string(tokenizer_->IdToPiece(id).value_or(""));
  }
  event.text += stops_.Push(text);
  if (stops_.has_stopped()) finish_ = FinishReason::kStopString;
  return {};
}

SKALD_INLINE Result<void> Answer::Finish(FinishReason reason, Event& event) {
  finish_ = reason;
  if (!decoder_) return {};
  event.text += stops_.Push(decoder_->Flush());
  event.text += stops_.Flush();
  if (stops_.has_stopped()) finish_ = FinishReason::kStopString;
  return {};
}

SKALD_INLINE bool Answer::AllowsNothingButEnd(std::span<const uint64_t> allowed) const {
  size_t ends = 0, all = 0;
  for (const uint64_t word : allowed) all += static_cast<size_t>(std::popcount(word));
  for (const int32_t id : request_->end_tokens) ends += IsAllowed(allowed, id);
  return all <= ends;
}

}  // namespace skald

#endif  // SKALD_ENGINE_ANSWERS_DETAIL_ANSWER_H_
