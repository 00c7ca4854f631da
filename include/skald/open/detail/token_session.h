// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/open/token_session.h.

#ifndef SKALD_OPEN_DETAIL_TOKEN_SESSION_H_
#define SKALD_OPEN_DETAIL_TOKEN_SESSION_H_

#include "skald/open/token_session.h"

#include <algorithm>
#include <string>

#include "skald/base/inline.h"
#include "skald/base/no_throw.h"
#include "skald/base/numbers/digest.h"
#include "skald/base/text/message.h"
#include "skald/cache/create.h"
#include "skald/cache/layout/layout.h"
#include "skald/cache/steps/batch.h"
#include "skald/engine/answers/answer.h"
#include "skald/engine/requests/request.h"
#include "skald/model/forward_options.h"
#include "skald/model/outputs.h"

namespace skald {

namespace internal {

// The session's text, as its drafter knows it.
inline constexpr uint64_t kOnlyText = 0;

// Guesses in a step.
inline constexpr size_t kMostDrafts = 8;

inline double SecondsSince(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace internal

SKALD_INLINE Result<TokenSession> TokenSession::Create(SessionParts parts) {
  return NoThrow("TokenSession::Create", [&]() -> Result<TokenSession> {
    SKALD_ASSIGN(auto workspace, CreateWorkspace(parts.workspace));
    SKALD_ASSIGN(auto cache,
                 CreateKVCache(parts.pool, parts.adapter != nullptr ? parts.adapter->digest : Sha256Digest{}));
    return TokenSession(std::move(parts), std::make_shared<Workspace>(std::move(workspace)), std::move(cache));
  });
}

SKALD_INLINE Result<TokenSession::State> TokenSession::Copy() const {
  return NoThrow("TokenSession::Copy", [&]() -> Result<State> {
    SKALD_ASSIGN(auto fork, state_.cache.Fork());
    return State{std::move(fork), state_.pending};
  });
}

SKALD_INLINE Result<TokenSession> TokenSession::Fork() const {
  return NoThrow("TokenSession::Fork", [&]() -> Result<TokenSession> {
    SKALD_ASSIGN(auto copy, Copy());
    TokenSession fork(parts_, workspace_, std::move(copy.cache));
    fork.state_.pending = std::move(copy.pending);
    fork.parts_.drafter = nullptr;  // it knows one text
    return fork;
  });
}

SKALD_INLINE std::vector<int32_t> TokenSession::ids() const {
  std::vector<int32_t> ids(state_.cache.tokens().begin(), state_.cache.tokens().end());
  ids.insert(ids.end(), state_.pending.begin(), state_.pending.end());
  return ids;
}

SKALD_INLINE Result<void> TokenSession::CheckRoom(size_t tokens) const {
  if (tokens <= tokens_left()) return {};
  return Fail(ErrorCode::kOutOfRange,
              Concat({"the prompt has ", std::to_string(tokens), " tokens, but only ", std::to_string(tokens_left()),
                      " of the context's ", std::to_string(max_tokens()), " are left"}),
              {.needed_tokens = tokens, .available_tokens = tokens_left()});
}

SKALD_INLINE Result<AnswerEnd> TokenSession::Answer(std::span<const int32_t> prompt, const AnswerOptions& options,
                                                    const std::function<bool(int32_t)>& emit) {
  SKALD_TRY(CheckRoom(prompt.size()));
  if (prompt.empty() && state_.pending.empty()) {
    return Fail(ErrorCode::kInvalidArgument, "the prompt of an answer has no tokens, expected at least 1");
  }
  SKALD_ASSIGN(auto before, Copy());
  size_t drawn = 0;
  auto end = NoThrow("TokenSession::Answer", [&] { return Continue(prompt, options, emit, drawn); });
  if (!end || (drawn == 0 && *end == AnswerEnd::kStopped)) Replace(std::move(before));
  return end;
}

SKALD_INLINE Result<AnswerEnd> TokenSession::Continue(std::span<const int32_t> prompt, const AnswerOptions& options,
                                                      const std::function<bool(int32_t)>& emit, size_t& drawn) {
  std::vector<int32_t> tokens = state_.pending;
  tokens.insert(tokens.end(), prompt.begin(), prompt.end());
  const auto start = std::chrono::steady_clock::now();
  SKALD_ASSIGN(const auto logits, FeedPrompt(tokens));
  if (logits.empty()) return AnswerEnd::kStopped;
  state_.pending.clear();
  const auto middle = std::chrono::steady_clock::now();
  auto end = DrawAll(logits, options, emit, drawn);
  statistics_.prompt_tokens += tokens.size();
  statistics_.generated_tokens += drawn;
  statistics_.prompt_time += middle - start;
  statistics_.decode_time += std::chrono::steady_clock::now() - middle;
  return end;
}

SKALD_INLINE Result<std::vector<float>> TokenSession::FeedPrompt(std::span<const int32_t> tokens) {
  if (parts_.memory != nullptr && state_.cache.size() == 0) {
    if (auto start = parts_.memory->Recall(tokens)) {
      state_.cache = std::move(start->cache);
      if (start->store_error) LoseMemory(*start->store_error);
      statistics_.recalled_tokens += state_.cache.size();
      if (!start->logits.empty()) return std::move(start->logits);
      tokens = tokens.subspan(state_.cache.size());
    } else {
      LoseMemory(start.error());
    }
  }
  SKALD_ASSIGN(const auto fed, Feed(tokens));
  std::vector<float> logits(fed.begin(), fed.end());
  if (parts_.memory != nullptr && !logits.empty()) {
    if (auto kept = parts_.memory->Keep(state_.cache, logits); !kept) LoseMemory(kept.error());
  }
  return logits;
}

SKALD_INLINE void TokenSession::LoseMemory(const Error& error) {
  if (parts_.on_warning) parts_.on_warning(error);
  parts_.memory = nullptr;
}

SKALD_INLINE Result<std::span<const float>> TokenSession::Feed(std::span<const int32_t> tokens) {
  std::span<const float> logits;
  for (size_t fed = 0; fed < tokens.size();) {
    const auto pass = tokens.subspan(fed, std::min<size_t>(tokens.size() - fed, ForwardOptions().pass_tokens));
    std::vector<Want> wants(pass.size(), Want::kNothing);
    wants.back() = Want::kLogits;
    SKALD_ASSIGN(const auto outputs, Compute(pass, wants));
    if (parts_.is_stopped && parts_.is_stopped()) return {};
    logits = outputs[0];
    fed += pass.size();
    if (fed == tokens.size() || parts_.drafter == nullptr) continue;
    std::vector<int32_t> text(state_.cache.tokens().begin(), state_.cache.tokens().end());
    text.push_back(tokens[fed]);
    (void)Draft(text, {}, 0);
  }
  return logits;
}

SKALD_INLINE Result<Outputs> TokenSession::Compute(std::span<const int32_t> pass, std::span<const Want> wants) {
  ForwardOptions options;
  if (parts_.adapter != nullptr) options.adapters = {parts_.adapter};
  const StepWork work = StepWork().With(state_.cache.size(), pass.size());
  if (parts_.drafter != nullptr) {
    watched_.Begin(parts_.drafter.get());
    watched_.Add(internal::kOnlyText, state_.cache.size(), pass.size());
    watched_.AddHooks(options.hooks);
  }
  const auto start = std::chrono::steady_clock::now();
  auto outputs = parts_.model.Forward(Batch().Add(state_.cache, pass, wants), *workspace_, options);
  if (outputs) cost_.Observe(work, internal::SecondsSince(start));
  return outputs;
}

SKALD_INLINE std::vector<int32_t> TokenSession::Draft(std::span<const int32_t> text, const SamplerSettings& sampler,
                                                      uint32_t most) {
  DraftTask task = {internal::kOnlyText, text, &sampler, most, watched_.Of(internal::kOnlyText), &state_.cache};
  if (most == 0 && task.rows.values.empty()) return {};
  const auto start = std::chrono::steady_clock::now();
  if (!parts_.drafter->Draft({&task, 1})) return {};
  draft_cost_.Observe({&task, 1}, internal::SecondsSince(start));
  const auto is_foreign = [&](int32_t id) { return id < 0 || id >= vocab_size(); };
  task.drafts.erase(std::ranges::find_if(task.drafts, is_foreign), task.drafts.end());
  if (task.drafts.size() > most) task.drafts.resize(most);
  return std::move(task.drafts);
}

SKALD_INLINE std::vector<int32_t> TokenSession::Guess(const SamplerSettings& sampler, size_t most) {
  if (parts_.drafter == nullptr) return {};
  const auto keeps_all = [](const CacheGroup& group) { return !group.is_recurrent() && group.window == 0; };
  if (!std::ranges::all_of(parts_.pool->layout().groups(), keeps_all)) {
    most = std::min<size_t>(most, parts_.pool->runtime().rewind_tokens);
  }
  most = std::min<size_t>({most, internal::kMostDrafts, parts_.drafter->MostDrafts(), tokens_left()});
  const uint32_t wanted =
      most == 0 ? 0 : draft_length_.Choose(static_cast<uint32_t>(most), {}, state_.cache.size(), cost_, draft_cost_);
  return Draft(ids(), sampler, wanted);
}

SKALD_INLINE void TokenSession::ForgetDrafts() noexcept {
  if (parts_.drafter != nullptr) parts_.drafter->Forget(internal::kOnlyText);
}

SKALD_INLINE Result<void> TokenSession::KeepKnown(uint32_t known, std::span<const int32_t> later) {
  watched_.Keep(internal::kOnlyText, known);
  if (state_.cache.size() > known) return KeepBefore(known, later);
  state_.pending.assign(later.begin(), later.end());
  return {};
}

SKALD_INLINE Result<AnswerEnd> TokenSession::DrawAll(std::span<const float> logits, const AnswerOptions& options,
                                                     const std::function<bool(int32_t)>& emit, size_t& drawn) {
  // The last token that is drawn need not fit.
  const size_t most = std::min<size_t>(options.max_tokens, size_t{max_tokens()} - state_.cache.size() + 1);
  Request request;
  request.prompt.assign(state_.cache.tokens().begin(), state_.cache.tokens().end());
  request.sampler = options.sampler;
  request.penalize_prompt = true;
  request.end_tokens = options.end_ids;
  SKALD_ASSIGN(auto answer, skald::Answer::Begin(std::make_shared<const Request>(std::move(request)), /*sample=*/0,
                                                 static_cast<uint32_t>(most), /*tokenizer=*/nullptr));
  std::vector<int32_t> guesses;  // that the cache ends with
  size_t right = 0;              // of these
  uint32_t known = state_.cache.size();
  Outputs outputs;  // of the last token that was known, and of the guesses
  for (;;) {
    Event event;
    SKALD_ASSIGN(const int32_t id, answer.Draw(logits, scratch_, event));
    if (answer.finish() == FinishReason::kEndToken) {
      SKALD_TRY(KeepKnown(known, {}));
      return AnswerEnd::kModel;
    }
    ++drawn;
    state_.pending = {id};
    const bool goes_on = emit(id);
    if (goes_on && !answer.finish() && right < guesses.size() && guesses[right] == id) {
      state_.pending.clear();
      ++known, ++right, ++statistics_.accepted_tokens;
      logits = outputs[right];
      continue;
    }
    SKALD_TRY(KeepKnown(known, {&id, 1}));
    if (!goes_on) return AnswerEnd::kStopped;
    if (answer.finish()) return most == options.max_tokens ? AnswerEnd::kTokenLimit : AnswerEnd::kContextFull;

    draft_length_.Observe(static_cast<uint32_t>(guesses.size()), static_cast<uint32_t>(right));
    guesses = Guess(options.sampler, most - drawn);
    statistics_.drafted_tokens += guesses.size();
    std::vector<int32_t> tokens = state_.pending;
    std::vector<Want> wants(tokens.size() - 1, Want::kNothing);
    tokens.insert(tokens.end(), guesses.begin(), guesses.end());
    wants.resize(tokens.size(), Want::kLogits);
    SKALD_ASSIGN(outputs, Compute(tokens, wants));
    known = state_.cache.size() - static_cast<uint32_t>(guesses.size());
    right = 0;
    state_.pending.clear();
    ++statistics_.decode_steps;
    if (parts_.is_stopped && parts_.is_stopped()) {
      SKALD_TRY(KeepKnown(known, {}));
      return AnswerEnd::kStopped;
    }
    logits = outputs[0];
  }
}

SKALD_INLINE Result<void> TokenSession::KeepBefore(uint32_t tokens, std::span<const int32_t> later) {
  const uint32_t nearest = state_.cache.NearestResumePoint(std::min(tokens, state_.cache.size()));
  const std::vector<int32_t> all = ids();
  std::vector<int32_t> pending(all.begin() + nearest, all.begin() + tokens);
  pending.insert(pending.end(), later.begin(), later.end());
  SKALD_TRY(state_.cache.Truncate(nearest));
  state_.pending = std::move(pending);
  return {};
}

SKALD_INLINE Result<void> TokenSession::Rewind(uint32_t tokens) {
  if (tokens >= size()) return {};
  ForgetDrafts();
  return NoThrow("TokenSession::Rewind", [&] { return KeepBefore(tokens, {}); });
}

SKALD_INLINE Result<void> TokenSession::Erase(uint32_t begin, uint32_t end, bool recomputes) {
  return NoThrow("TokenSession::Erase", [&]() -> Result<void> {
    if (begin > end || end > size()) {
      return Fail(ErrorCode::kOutOfRange, Concat({"cannot erase tokens [", std::to_string(begin), ", ",
                                                  std::to_string(end), ") of a session of ", std::to_string(size())}));
    }
    ForgetDrafts();
    const uint32_t computed = state_.cache.size();
    const bool moves = begin >= computed || (!recomputes && state_.cache.Erase(begin, std::min(end, computed)));
    if (!moves) {
      const std::vector<int32_t> all = ids();
      return KeepBefore(begin, std::span(all).subspan(end));
    }
    const auto first = state_.pending.begin() + (std::max(begin, computed) - computed);
    state_.pending.erase(first, state_.pending.begin() + (std::max(end, computed) - computed));
    return {};
  });
}

}  // namespace skald

#endif  // SKALD_OPEN_DETAIL_TOKEN_SESSION_H_
