// SPDX-License-Identifier: Apache-2.0
//
// Answer: the tokens of one sample of a request and all that follows from them: what the sampler remembers, where the
// filter stands, which text is certain, and whether that is the end. A function of the request and of the logits that
// it is given; it knows no caches and no schedule.

#ifndef SKALD_ENGINE_ANSWERS_ANSWER_H_
#define SKALD_ENGINE_ANSWERS_ANSWER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "skald/base/result.h"
#include "skald/constraints/token_filter.h"
#include "skald/engine/answers/stop_strings.h"
#include "skald/engine/requests/request.h"
#include "skald/sampling/penalties.h"
#include "skald/sampling/sampler.h"
#include "skald/sampling/settings.h"
#include "skald/tokenizers/stream_decoder.h"
#include "skald/tokenizers/tokenizer_value.h"

namespace skald {

class Answer {
 public:
  /// `tokenizer` may be null, else it must outlive this. `max_tokens` is at least 1. `defers_filter`: the filter's long
  /// work is done elsewhere; see TakeFilterWork.
  static Result<Answer> Begin(std::shared_ptr<const Request> request, uint32_t sample, uint32_t max_tokens,
                              const Tokenizer* tokenizer, bool defers_filter = false);

  /// The same at the point where `drawn` tokens were drawn, all of them told.
  static Result<Answer> Begin(std::shared_ptr<const Request> request, uint32_t sample, uint32_t max_tokens,
                              const Tokenizer* tokenizer, std::span<const int32_t> drawn, bool defers_filter = false);

  /// Prompt and answer.
  std::span<const int32_t> tokens() const { return tokens_; }
  uint32_t size() const { return static_cast<uint32_t>(tokens_.size()); }
  /// Those of the request, with the sample's own stream of draws.
  const SamplerSettings& sampler() const { return settings_; }
  /// Tokens at which the answer ends, at least 1; the prompt is not counted.
  uint32_t max_tokens() const { return max_tokens_; }
  /// Tokens of the answer so far: size() less the prompt.
  uint32_t drawn() const { return drawn_; }
  /// How the answer ended; unset while more tokens can be drawn.
  std::optional<FinishReason> finish() const { return finish_; }
  /// Which of the request's stop strings ended it, if one did.
  std::optional<size_t> stop_string() const { return stops_.stopped_by(); }

  /// As given to Begin.
  bool defers_filter() const { return defers_filter_; }
  /// Where the filter's work is deferred: what must be done before Settle and Draw, which would else do it themselves;
  /// null where nothing must.
  std::shared_ptr<FilterWork> TakeFilterWork();
  /// Ends the answer if its filter allows nothing more, where that could not be told when the last token was drawn.
  /// kResourceExhausted: to be called again.
  Result<void> Settle(Event& event);

  /// Draws the token that follows, given its `logits` [vocab_size], and goes on to it; what is new goes to `event`.
  /// Returns its id. After an error the answer can only be begun again at the same point: the same logits give the same
  /// token, if there was no memory (kResourceExhausted), and the same error else. `event` is as it was.
  Result<int32_t> Draw(std::span<const float> logits, SamplerScratch& scratch, Event& event);

  /// Goes on to a token that was drawn before, as Draw did.
  Result<void> Take(SampledToken token, Event& event);

 private:
  /// The request's own sampler, or ours.
  Result<SampledToken> DrawFrom(std::span<const float> logits, std::optional<std::span<const uint64_t>> allowed,
                                SamplerScratch& scratch) const;

  // As Take, but that it does not ask the filter whether that was the end.
  Result<void> Advance(SampledToken token, Event& event);

  Answer(std::shared_ptr<const Request> request, uint32_t max_tokens);

  Result<void> Tell(int32_t id, Event& event);

  /// Lets out what was held back.
  Result<void> Finish(FinishReason reason, Event& event);

  bool AllowsNothingButEnd(std::span<const uint64_t> allowed) const;

  std::shared_ptr<const Request> request_;
  SamplerSettings settings_;
  uint32_t max_tokens_;
  std::vector<int32_t> tokens_;
  uint32_t drawn_ = 0;
  SamplerState sampler_;
  std::unique_ptr<TokenFilter> filter_;  ///< null: anything may come
  const Tokenizer* tokenizer_ = nullptr;
  std::optional<StreamDecoder> decoder_;  ///< without a tokenizer there is no text
  StopStrings stops_;
  std::optional<FinishReason> finish_;
  bool defers_filter_ = false;
  bool is_unsettled_ = false;  ///< the filter may allow nothing more
};

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/engine/answers/detail/answer.h"
#endif

#endif  // SKALD_ENGINE_ANSWERS_ANSWER_H_
