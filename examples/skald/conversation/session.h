// SPDX-License-Identifier: Apache-2.0
//
// One conversation in token ids: feeds a prompt to the model, has an answer drawn from what follows, and can go back.
// The engine's Answer decides which token is drawn and when an answer ends. It is not an Engine's request, because the
// cache outlives the answer: it is saved, rewound, and shortened in its middle. It knows no text.

#ifndef SKALD_EXAMPLES_SKALD_CONVERSATION_SESSION_H_
#define SKALD_EXAMPLES_SKALD_CONVERSATION_SESSION_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "conversation/program_model.h"
#include "conversation/saved_state.h"
#include "skald/base/numbers/digest.h"
#include "skald/base/result.h"
#include "skald/cache/kv_cache.h"
#include "skald/cache/layout/runtime_config.h"
#include "skald/engine/answers/answer.h"
#include "skald/model/workspace.h"
#include "skald/sampling/sampler.h"

namespace skald::program {

// Why no more tokens came.
enum class Ending { kStopToken, kMaxTokens, kContextFull, kInterrupted, kNotTaken };

// Sums over all calls of Session::Generate.
struct Statistics {
  size_t prompt_tokens = 0, generated_tokens = 0;
  size_t recalled_tokens = 0;  // of the prompt's, not computed but known before
  size_t decode_steps = 0;     // fewer than generated tokens: the first one comes with the prompt
  std::chrono::duration<double> prompt_time{}, decode_time{};
};

// The options of Session::Generate.
struct Sampling {
  SamplerSettings settings;
  std::vector<int32_t> stop_ids;  // end the answer, and are not part of it
  size_t max_tokens;              // at least 1
};

class Session {
 public:
  // `model` must outlive this. Errors: those of CreateBlockPool and CreateWorkspace.
  static Result<Session> Create(const ProgramModel& model, const RuntimeConfig& runtime,
                                const WorkspaceOptions& options);

  // Makes the first prompt begin with what `memory` knows of it, and adds it there.
  void Remember(std::unique_ptr<PromptMemory> memory) { memory_ = std::move(memory); }

  // The conversation as it is, for SaveChat, and one that LoadChat read in its place.
  Result<KVCache> ForkCache() const { return cache_.Fork(); }
  const std::vector<int32_t>& pending() const { return pending_; }

  // All tokens of the conversation.
  std::vector<int32_t> ids() const;

  void Replace(KVCache cache, std::vector<int32_t> pending) {
    cache_ = std::move(cache);
    pending_ = std::move(pending);
  }
  const std::shared_ptr<BlockPool>& pool() const { return pool_; }
  // The digest of the adapter that the conversation is for, or zeros.
  const Sha256Digest& adapter() const { return cache_.adapter(); }

  // Fails with kOutOfRange when a prompt of that many tokens does not fit.
  Result<void> CheckRoom(size_t tokens) const;

  // Appends `prompt` and then what follows it, calling `emit` with each new token, which returns false when no more is
  // wanted. An interrupt ends it, and one before the first new token takes the prompt back. Errors: the prompt does not
  // fit; those of Forward and Sample.
  Result<Ending> Generate(std::span<const int32_t> prompt, const Sampling& sampling,
                          const std::function<bool(int32_t)>& emit);

  // Rewinds to the first `tokens` tokens. Where the cache can only rewind further, the rest is computed
  // again.
  Result<void> Rewind(uint32_t tokens);

  // Removes tokens [begin, end) from the middle of the conversation. If the cache cannot move the later ones, they are
  // computed again. Errors: see AnyModel::Forward; the conversation ends before the removed tokens then.
  Result<void> Forget(uint32_t begin, uint32_t end);

  // Tokens of the conversation so far (one more than it may have if the last one does not fit any more), the
  // most it may have, and how many more fit.
  uint32_t size() const { return cache_.size() + static_cast<uint32_t>(pending_.size()); }
  uint32_t max_tokens() const { return cache_.max_tokens(); }
  uint32_t tokens_left() const { return size() < max_tokens() ? max_tokens() - size() : 0; }
  const Statistics& statistics() const { return statistics_; }

 private:
  Session(const ProgramModel& model, std::shared_ptr<BlockPool> pool, KVCache cache, Workspace workspace)
      : model_(&model), pool_(std::move(pool)), cache_(std::move(cache)), workspace_(std::move(workspace)) {}

  // Feeds a prompt, but for what memory knows of it. Returns as Feed. Memory that fails is told of and done without.
  Result<std::vector<float>> FeedPrompt(std::span<const int32_t> tokens);

  void LoseMemory(const Error& error);

  // Appends `tokens` to the cache in pieces, so that an interrupt need not wait for all of them. Returns the
  // logits that follow, or none after an interrupt.
  Result<std::span<const float>> Feed(std::span<const int32_t> tokens);

  // Draws from `logits`, appends the token, and so on, until the answer is at its end.
  Result<Ending> Continue(std::span<const float> logits, const Sampling& sampling,
                          const std::function<bool(int32_t)>& emit);

  // The answer that follows what the cache holds. Its rules, for draws and for ends, are those of an engine.
  Result<Answer> BeginAnswer(const Sampling& sampling, uint32_t max_tokens) const;

  Result<void> RewindCache(uint32_t tokens);
  Result<void> ComputeWithout(uint32_t begin, uint32_t end);

  const ProgramModel* model_;
  std::shared_ptr<BlockPool> pool_;
  KVCache cache_;
  Workspace workspace_;
  SamplerScratch scratch_;
  std::vector<int32_t> pending_;  // sampled last and not yet in the cache: at most one
  Statistics statistics_;
  std::unique_ptr<PromptMemory> memory_;  // null: none
};

}  // namespace skald::program

#endif  // SKALD_EXAMPLES_SKALD_CONVERSATION_SESSION_H_
