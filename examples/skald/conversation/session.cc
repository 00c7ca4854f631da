// SPDX-License-Identifier: Apache-2.0

#include "conversation/session.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "skald/engine/requests/request.h"
#include "skald/model/forward_options.h"
#include "terminal/interrupt.h"
#include "terminal/messages.h"

namespace skald::program {
namespace {

using Clock = std::chrono::steady_clock;

}  // namespace

Result<Session> Session::Create(const ProgramModel& model, const RuntimeConfig& runtime,
                                const WorkspaceOptions& options) {
  SKALD_ASSIGN(auto pool, model.CreatePool(runtime));
  SKALD_ASSIGN(auto workspace, CreateWorkspace(options));
  SKALD_ASSIGN(auto cache, model.CreateCache(pool));
  return Session(model, std::move(pool), std::move(cache), std::move(workspace));
}

std::vector<int32_t> Session::ids() const {
  std::vector<int32_t> ids(cache_.tokens().begin(), cache_.tokens().end());
  ids.insert(ids.end(), pending_.begin(), pending_.end());
  return ids;
}

Result<void> Session::CheckRoom(size_t tokens) const {
  if (tokens <= tokens_left()) return {};
  return Fail(ErrorCode::kOutOfRange, "the prompt has " + std::to_string(tokens) + " tokens, but only " +
                                          std::to_string(tokens_left()) + " of the context's " +
                                          std::to_string(max_tokens()) + " are left (see --max-context)");
}

Result<Ending> Session::Generate(std::span<const int32_t> prompt, const Sampling& sampling,
                                 const std::function<bool(int32_t)>& emit) {
  SKALD_TRY(CheckRoom(prompt.size()));
  std::vector<int32_t> tokens = pending_;
  tokens.insert(tokens.end(), prompt.begin(), prompt.end());
  const uint32_t before = cache_.size();
  const auto start = Clock::now();
  SKALD_ASSIGN(const auto logits, FeedPrompt(tokens));
  if (logits.empty()) {
    SKALD_TRY(RewindCache(before));
    return Ending::kInterrupted;
  }
  pending_.clear();
  const auto middle = Clock::now();
  auto ending = Continue(logits, sampling, emit);
  statistics_.prompt_tokens += tokens.size();
  statistics_.prompt_time += middle - start;
  statistics_.decode_time += Clock::now() - middle;
  return ending;
}

Result<std::vector<float>> Session::FeedPrompt(std::span<const int32_t> tokens) {
  if (memory_ != nullptr && cache_.size() == 0) {
    if (auto start = memory_->Recall(tokens)) {
      cache_ = std::move(start->cache);
      if (start->store_error) LoseMemory(*start->store_error);
      statistics_.recalled_tokens += cache_.size();
      if (!start->logits.empty()) return std::move(start->logits);
      tokens = tokens.subspan(cache_.size());
    } else {
      LoseMemory(start.error());
    }
  }
  SKALD_ASSIGN(const auto fed, Feed(tokens));
  std::vector<float> logits(fed.begin(), fed.end());
  if (memory_ != nullptr && !logits.empty()) {
    if (auto kept = memory_->Keep(cache_, logits); !kept) LoseMemory(kept.error());
  }
  return logits;
}

void Session::LoseMemory(const Error& error) {
  Warn(error.message + "; the run goes on without the prompt cache");
  memory_ = nullptr;
}

Result<std::span<const float>> Session::Feed(std::span<const int32_t> tokens) {
  std::span<const float> logits;
  for (size_t fed = 0; fed < tokens.size();) {
    const auto piece = tokens.subspan(fed, std::min<size_t>(tokens.size() - fed, ForwardOptions().pass_tokens));
    SKALD_ASSIGN(const auto output, model_->Forward(cache_, piece, workspace_));
    if (TakeInterrupt()) return {};
    logits = output;
    fed += piece.size();
  }
  return logits;
}

Result<Ending> Session::Continue(std::span<const float> logits, const Sampling& sampling,
                                 const std::function<bool(int32_t)>& emit) {
  // The last token that is drawn need not fit.
  const size_t most = std::min<size_t>(sampling.max_tokens, size_t{max_tokens()} - cache_.size() + 1);
  SKALD_ASSIGN(auto answer, BeginAnswer(sampling, static_cast<uint32_t>(most)));
  for (;;) {
    Event event;
    SKALD_ASSIGN(const int32_t id, answer.Draw(logits, scratch_, event));
    if (answer.finish() == FinishReason::kEndToken) return Ending::kStopToken;
    const bool is_taken = emit(id);
    ++statistics_.generated_tokens;
    pending_ = {id};
    if (!is_taken) return Ending::kNotTaken;
    if (answer.finish()) return most == sampling.max_tokens ? Ending::kMaxTokens : Ending::kContextFull;

    SKALD_ASSIGN(const auto fed, Feed(pending_));
    pending_.clear();
    ++statistics_.decode_steps;
    if (fed.empty()) return Ending::kInterrupted;
    logits = fed;
  }
}

Result<Answer> Session::BeginAnswer(const Sampling& sampling, uint32_t max_tokens) const {
  Request request;
  request.prompt.assign(cache_.tokens().begin(), cache_.tokens().end());
  request.sampler = sampling.settings;
  request.penalize_prompt = true;
  request.end_tokens = sampling.stop_ids;
  return Answer::Begin(std::make_shared<const Request>(std::move(request)), /*sample=*/0, max_tokens,
                       /*tokenizer=*/nullptr);
}

Result<void> Session::Rewind(uint32_t tokens) {
  if (tokens >= size()) return {};
  pending_.clear();
  return RewindCache(tokens);
}

Result<void> Session::Forget(uint32_t begin, uint32_t end) {
  const bool forgets_pending = end > cache_.size();
  end = std::min(end, cache_.size());
  // Windows and recurrent layers do not keep what moving the later tokens would need.
  if (!cache_.Erase(begin, end)) {
    SKALD_TRY(ComputeWithout(begin, end));
  }
  if (forgets_pending) pending_.clear();
  return {};
}

Result<void> Session::ComputeWithout(uint32_t begin, uint32_t end) {
  const auto later = cache_.tokens().subspan(end);
  const std::vector<int32_t> rest(later.begin(), later.end());
  SKALD_TRY(RewindCache(begin));
  if (rest.empty()) return {};
  SKALD_ASSIGN(const auto fed, Feed(rest));
  if (fed.empty()) pending_.clear();  // after an interrupt tokens before it are missing
  return {};
}

Result<void> Session::RewindCache(uint32_t tokens) {
  const uint32_t nearest = cache_.NearestResumePoint(tokens);
  const auto rest = cache_.tokens().subspan(nearest, tokens - nearest);
  const std::vector<int32_t> again(rest.begin(), rest.end());
  SKALD_TRY(cache_.Truncate(nearest));
  if (again.empty()) return {};
  SKALD_TRY(model_->Forward(cache_, again, workspace_));
  return {};
}

}  // namespace skald::program
