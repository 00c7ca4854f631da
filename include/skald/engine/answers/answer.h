// SPDX-License-Identifier: Apache-2.0
//
// Answer: the tokens of one sample of a request and all that follows from them: what the sampler remembers, where the
// filter stands, which text is certain, and whether that is the end. A function of the request and of the logits that
// it is given; it knows no caches and no schedule.

#ifndef SKALD_ENGINE_ANSWERS_ANSWER_H_
#define SKALD_ENGINE_ANSWERS_ANSWER_H_

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "skald/base/no_throw.h"
#include "skald/base/result.h"
#include "skald/engine/answers/stop_strings.h"
#include "skald/engine/form/request.h"
#include "skald/sampling/penalties.h"
#include "skald/sampling/sampler.h"
#include "skald/text/filters/token_filter.h"
#include "skald/text/stream_decoder.h"

namespace skald {

class Answer {
 public:
  // `tokenizer` may be null, else it must outlive this. `max_tokens` is at least 1. `defers_filter`: the filter's long
  // work is done elsewhere; see TakeFilterWork.
  static Result<Answer> Begin(std::shared_ptr<const Request> request, uint32_t sample, uint32_t max_tokens,
                              const Tokenizer* tokenizer, bool defers_filter = false) {
    return NoThrow("beginning an answer", [&]() -> Result<Answer> {
      Answer answer(std::move(request), max_tokens);
      const Request& of = *answer.request_;
      answer.settings_.random.stream += sample;
      answer.defers_filter_ = defers_filter;
      answer.tokens_.reserve(of.prompt.size() + 1);
      if (of.filter != nullptr) {
        auto filter = of.filter->Clone();
        if (!filter) return Failure(filter.error());
        answer.filter_ = std::move(*filter);
      }
      if (of.penalize_prompt) {
        if (auto seen = ObserveTokens(answer.settings_, of.prompt, answer.sampler_); !seen)
          return Failure(seen.error());
      }
      if (tokenizer != nullptr) {
        answer.tokenizer_ = tokenizer;
        answer.decoder_.emplace(*tokenizer);
        for (const int32_t id : of.prompt) {
          // What is no token of the tokenizer has no text; the model refuses what is none of its own.
          (void)answer.decoder_->Push(id);
        }
      }
      return answer;
    });
  }

  // The same at the point where `drawn` tokens were drawn, all of them told.
  static Result<Answer> Begin(std::shared_ptr<const Request> request, uint32_t sample, uint32_t max_tokens,
                              const Tokenizer* tokenizer, std::span<const int32_t> drawn, bool defers_filter = false) {
    auto answer = Begin(std::move(request), sample, max_tokens, tokenizer, defers_filter);
    if (!answer) return answer;
    Event told;
    for (const int32_t id : drawn) {
      SampledToken token;
      token.id = id;
      if (auto taken = answer->Advance(std::move(token), told); !taken) return Failure(taken.error());
    }
    return answer;
  }

  // Prompt and answer.
  std::span<const int32_t> tokens() const { return tokens_; }
  uint32_t size() const { return static_cast<uint32_t>(tokens_.size()); }
  // Those of the request, with the sample's own stream of draws.
  const SamplerSettings& sampler() const { return settings_; }
  uint32_t max_tokens() const { return max_tokens_; }
  uint32_t drawn() const { return drawn_; }
  std::optional<FinishReason> finish() const { return finish_; }
  // Which of the request's stop strings ended it, if one did.
  std::optional<size_t> stop_string() const { return stops_.stopped_by(); }

  bool defers_filter() const { return defers_filter_; }
  // Where the filter's work is deferred: what must be done before Settle and Draw, which would else do it themselves;
  // null where nothing must.
  std::shared_ptr<FilterWork> TakeFilterWork() {
    return filter_ != nullptr && defers_filter_ ? filter_->TakeWork() : nullptr;
  }
  // Ends the answer if its filter allows nothing more, where that could not be told when the last token was drawn.
  // kResourceExhausted: to be called again.
  Result<void> Settle(Event& event) {
    if (!is_unsettled_) return {};
    return NoThrow("an answer's end", [&]() -> Result<void> {
      const auto allowed = filter_->Allowed();
      if (!allowed) return Failure(allowed.error());
      if (AllowsNothingButEnd(*allowed)) {
        if (auto finished = Finish(FinishReason::kFilter, event); !finished) return finished;
      }
      is_unsettled_ = false;
      return {};
    });
  }

  // Draws the token that follows, given its `logits` [vocab_size], and goes on to it; what is new goes to `event`.
  // Returns its id. After an error the answer can only be begun again at the same point: the same logits give the same
  // token, if there was no memory (kResourceExhausted), and the same error else. `event` is as it was.
  Result<int32_t> Draw(std::span<const float> logits, SamplerScratch& scratch, Event& event) {
    std::optional<std::span<const uint64_t>> allowed;
    if (filter_ != nullptr) {
      auto words = filter_->Allowed();
      if (!words) return Failure(words.error());
      allowed = *words;
    }
    auto drawn = Sample(logits, settings_, sampler_, tokens_.size(), scratch, allowed);
    if (!drawn) return Failure(drawn.error());
    const int32_t id = drawn->id;
    const size_t text = event.text.size();
    if (auto taken = Take(*std::move(drawn), event); !taken) {
      event.text.resize(text);
      return Failure(taken.error());
    }
    return id;
  }

  // Goes on to a token that was drawn before, as Draw did.
  Result<void> Take(SampledToken token, Event& event) {
    if (auto taken = Advance(std::move(token), event); !taken) return taken;
    return is_unsettled_ && TakeFilterWork() == nullptr ? Settle(event) : Result<void>();
  }

 private:
  // As Take, but that it does not ask the filter whether that was the end.
  Result<void> Advance(SampledToken token, Event& event) {
    return NoThrow("an answer's token", [&]() -> Result<void> {
      is_unsettled_ = false;
      ++drawn_;
      if (std::ranges::find(request_->end_tokens, token.id) != request_->end_tokens.end()) {
        return Finish(FinishReason::kEndToken, event);
      }
      if (filter_ != nullptr) {
        if (auto accepted = filter_->Accept(token.id); !accepted) return accepted;
      }
      if (auto seen = ObserveToken(settings_, token.id, sampler_); !seen) return seen;
      tokens_.push_back(token.id);
      if (auto told = Tell(token.id, event); !told) return told;
      event.tokens.push_back(std::move(token));
      if (finish_) return {};
      if (drawn_ >= max_tokens_) return Finish(FinishReason::kMaxTokens, event);
      is_unsettled_ = filter_ != nullptr && filter_->IsComplete();
      return {};
    });
  }

  Answer(std::shared_ptr<const Request> request, uint32_t max_tokens)
      : request_(std::move(request)),
        settings_(request_->sampler),
        max_tokens_(max_tokens),
        tokens_(request_->prompt),
        stops_({request_, &request_->stop_strings}) {}

  Result<void> Tell(int32_t id, Event& event) {
    if (!decoder_) return {};
    auto text = decoder_->Push(id);
    if (!text) return Failure(text.error());
    if (request_->special_text && text->empty() && tokenizer_->KindOf(id) == PieceKind::kControl) {
      *text = decoder_->Flush() + std::string(tokenizer_->IdToPiece(id).value_or(""));
    }
    event.text += stops_.Push(*text);
    if (stops_.has_stopped()) finish_ = FinishReason::kStopString;
    return {};
  }

  // Lets out what was held back.
  Result<void> Finish(FinishReason reason, Event& event) {
    finish_ = reason;
    if (!decoder_) return {};
    event.text += stops_.Push(decoder_->Flush());
    event.text += stops_.Flush();
    if (stops_.has_stopped()) finish_ = FinishReason::kStopString;
    return {};
  }

  bool AllowsNothingButEnd(std::span<const uint64_t> allowed) const {
    size_t ends = 0, all = 0;
    for (const uint64_t word : allowed) all += static_cast<size_t>(std::popcount(word));
    for (const int32_t id : request_->end_tokens) ends += IsAllowed(allowed, id);
    return all <= ends;
  }

  std::shared_ptr<const Request> request_;
  SamplerSettings settings_;
  uint32_t max_tokens_;
  std::vector<int32_t> tokens_;
  uint32_t drawn_ = 0;
  SamplerState sampler_;
  std::unique_ptr<TokenFilter> filter_;  // null: anything may come
  const Tokenizer* tokenizer_ = nullptr;
  std::optional<StreamDecoder> decoder_;  // without a tokenizer there is no text
  StopStrings stops_;
  std::optional<FinishReason> finish_;
  bool defers_filter_ = false;
  bool is_unsettled_ = false;  // the filter may allow nothing more
};

}  // namespace skald

#endif  // SKALD_ENGINE_ANSWERS_ANSWER_H_
