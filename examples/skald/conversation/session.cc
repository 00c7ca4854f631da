// SPDX-License-Identifier: Apache-2.0

#include "conversation/session.h"

#include <algorithm>
#include <string>
#include <utility>

#include "skald/model/forward_options.h"
#include "terminal/interrupt.h"
#include "terminal/messages.h"

namespace skald::program {
namespace {

using Clock = std::chrono::steady_clock;

}  // namespace

Result<Session> Session::Create(const LanguageModel& model, const RuntimeConfig& runtime,
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
  SamplerState state;
  auto observed = ObserveTokens(sampling.settings, cache_.tokens(), state);
  if (!observed) return Failure(observed.error());
  for (size_t count = 1;; ++count) {
    SKALD_ASSIGN(const auto next, Sample(logits, sampling.settings, state, cache_.size(), scratch_));
    if (std::ranges::count(sampling.stop_ids, next.id) > 0) return Ending::kStopToken;
    const bool is_taken = emit(next.id);
    observed = ObserveToken(sampling.settings, next.id, state);
    if (!observed) return Failure(observed.error());
    ++statistics_.generated_tokens;
    pending_ = {next.id};
    if (!is_taken) return Ending::kNotTaken;
    if (count == sampling.max_tokens) return Ending::kMaxTokens;
    if (cache_.size() == max_tokens()) return Ending::kContextFull;

    SKALD_ASSIGN(const auto fed, Feed(pending_));
    pending_.clear();
    ++statistics_.decode_steps;
    if (fed.empty()) return Ending::kInterrupted;
    logits = fed;
  }
}

Result<void> Session::Rewind(uint32_t tokens) {
  if (tokens >= size()) return {};
  pending_.clear();
  return RewindCache(tokens);
}

Result<void> Session::Forget(uint32_t begin, uint32_t end) {
  auto erased = cache_.Erase(begin, std::min(end, cache_.size()));
  if (erased && end > cache_.size()) pending_.clear();
  return erased;
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
