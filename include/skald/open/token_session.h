// SPDX-License-Identifier: Apache-2.0
//
// TokenSession: one conversation in token ids. It appends a prompt, draws what follows, goes back, and gives up tokens
// in its middle. An Answer (engine/answers/answer.h) decides which token is drawn and when that ends, so the tokens are
// those that an engine would draw. It is no request of an engine, because its cache outlives the answer. It knows no
// text: Conversation does.

#ifndef SKALD_OPEN_TOKEN_SESSION_H_
#define SKALD_OPEN_TOKEN_SESSION_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "skald/base/result.h"
#include "skald/cache/blocks/block_pool.h"
#include "skald/cache/kv_cache.h"
#include "skald/engine/plan/cost_model.h"
#include "skald/engine/requests/drafter.h"
#include "skald/engine/requests/model_ref.h"
#include "skald/engine/speculation/draft_length.h"
#include "skald/engine/speculation/watched_rows.h"
#include "skald/model/workspace.h"
#include "skald/sampling/sampler.h"
#include "skald/sampling/settings.h"
#include "skald/weights/adapters/adapter.h"

namespace skald {

/// Prompts that were computed before, as skald/store/prompts/prompt_cache.h keeps them.
class PromptMemory {
 public:
  virtual ~PromptMemory() = default;

  /// Where the computation of a prompt can begin.
  struct Start {
    KVCache cache;                          ///< holds the longest known beginning
    std::vector<float> logits = {};         ///< [vocab_size] of its last token, if nothing is left to compute
    std::optional<Error> store_error = {};  ///< why more may be known than could be looked up
  };

  /// Returns what is known of a prompt. An error ends the use of the memory, not the session.
  virtual Result<Start> Recall(std::span<const int32_t> prompt) = 0;
  /// Adds a prompt, with the logits [vocab_size] that follow. Errors as Recall.
  virtual Result<void> Keep(const KVCache& cache, std::span<const float> logits) = 0;
};

/// The things that a session computes with. Everything that they refer to must outlive it.
struct SessionParts {
  ModelRef model;                             ///< an AnyModel, ranks, or a model of the caller's own
  std::shared_ptr<BlockPool> pool;            ///< of the model's layout; its token limit is the session's
  const Adapter* adapter = nullptr;           ///< computes the conversation from its first token on; null: none
  std::shared_ptr<PromptMemory> memory = {};  ///< for prompts of an empty session; null: none
  /// Guesses tokens, as an engine's does; null: no speculation. Windowed and recurrent models take back as many guesses
  /// as the pool's RuntimeConfig::rewind_tokens says, and get no more.
  std::shared_ptr<Drafter> drafter = {};
  std::function<void(const Error&)> on_warning = {};  ///< is told why the memory is no longer used
  /// Asked after each pass over a prompt and after each token, on the thread that computes. True ends the answer.
  std::function<bool()> is_stopped = {};
  WorkspaceOptions workspace = {};  ///< threads that compute
};

/// Why no more tokens came.
enum class AnswerEnd : uint8_t {
  kModel,        ///< the model ended its answer
  kTokenLimit,   ///< AnswerOptions::max_tokens
  kContextFull,  ///< the session's token limit
  kStopped,      ///< the caller
};

/// How an answer is drawn.
struct AnswerOptions {
  SamplerSettings sampler = {};       ///< penalties see the whole session
  std::vector<int32_t> end_ids = {};  ///< each ends the answer, and is not part of it
  size_t max_tokens = kMaxTokens;     ///< at least 1
};

/// Sums over all calls of TokenSession::Answer.
struct SessionStatistics {
  size_t prompt_tokens = 0;                     ///< of prompts, those that were known before included
  size_t recalled_tokens = 0;                   ///< of these, what PromptMemory knew
  size_t generated_tokens = 0;                  ///< drawn
  size_t decode_steps = 0;                      ///< fewer than that: the first token comes with the prompt
  size_t drafted_tokens = 0;                    ///< guesses that were checked
  size_t accepted_tokens = 0;                   ///< of these, those that were right
  std::chrono::duration<double> prompt_time{};  ///< seconds that prompts took
  std::chrono::duration<double> decode_time{};  ///< seconds that the other tokens took
};

/// Used by one thread at a time, and its forks by the same one: they share a workspace. A call that fails leaves the
/// session as it was.
class TokenSession {
 public:
  /// Returns an empty session. Errors: those of CreateWorkspace and CreateKVCache.
  static Result<TokenSession> Create(SessionParts parts);

  /// The tokens of a session, for saving it or going back to it.
  struct State {
    KVCache cache;                      ///< the tokens that are computed
    std::vector<int32_t> pending = {};  ///< the ones after them, which the next answer computes
  };

  /// Returns the session as it is. No token state is copied; see KVCache::Fork.
  Result<State> Copy() const;
  /// Continues from `state`, which must be of this session's pool and adapter.
  void Replace(State state) noexcept {
    state_ = std::move(state);
    ForgetDrafts();
  }
  /// Returns a second session with the same past, on the same pool and workspace, without a drafter.
  Result<TokenSession> Fork() const;

  /// Fails with kOutOfRange, and the tokens as facts, if a prompt of so many tokens does not fit.
  Result<void> CheckRoom(size_t tokens) const;

  /// Appends `prompt` and then the answer, calling `emit` with each new token; emit returns false when no more is
  /// wanted. If the caller stops it before the first token, the session is as it was. Returns why it ended. Errors:
  /// those of CheckRoom, Forward and Sample.
  Result<AnswerEnd> Answer(std::span<const int32_t> prompt, const AnswerOptions& options,
                           const std::function<bool(int32_t)>& emit);

  /// Goes back to the first `tokens` tokens. The next answer computes again those that
  /// the cache can no longer go back to.
  Result<void> Rewind(uint32_t tokens);

  /// Removes tokens [begin, end). Later ones are moved if the cache can move them (KVCache::Erase); their state still
  /// depends on the removed ones then. Where it cannot, above all after windows and recurrent layers, or if
  /// `recomputes`, the next answer computes them again. Error: kOutOfRange.
  Result<void> Erase(uint32_t begin, uint32_t end, bool recomputes = false);

  /// Returns all tokens.
  std::vector<int32_t> ids() const;
  /// The number of all tokens: one more than max_tokens() if the last one that was drawn does not fit.
  uint32_t size() const { return state_.cache.size() + static_cast<uint32_t>(state_.pending.size()); }
  /// Tokens that the session may have.
  uint32_t max_tokens() const { return state_.cache.max_tokens(); }
  /// Tokens that still fit.
  uint32_t tokens_left() const { return size() < max_tokens() ? max_tokens() - size() : 0; }

  /// The state of the computed tokens; see State::pending.
  const KVCache& cache() const { return state_.cache; }
  /// The pool that the cache is of.
  const std::shared_ptr<BlockPool>& pool() const { return parts_.pool; }
  /// Elements of a row of the model's logits.
  int32_t vocab_size() const { return parts_.model.vocab_size(); }
  /// Counts and times since the session was made; a fork begins anew.
  const SessionStatistics& statistics() const { return statistics_; }

 private:
  TokenSession(SessionParts parts, std::shared_ptr<Workspace> workspace, KVCache cache)
      : parts_(std::move(parts)), workspace_(std::move(workspace)), state_{std::move(cache), {}} {}

  /// As Answer, but that a failure leaves what was computed. Counts the tokens that were drawn.
  Result<AnswerEnd> Continue(std::span<const int32_t> prompt, const AnswerOptions& options,
                             const std::function<bool(int32_t)>& emit, size_t& drawn);

  /// Appends a prompt, but for what memory knows of it. Returns the logits that follow, or none if it was stopped.
  Result<std::vector<float>> FeedPrompt(std::span<const int32_t> tokens);

  /// The same of tokens in any place, in passes.
  Result<std::span<const float>> Feed(std::span<const int32_t> tokens);

  /// Computes one pass, with the outputs that its tokens want.
  Result<Outputs> Compute(std::span<const int32_t> pass, std::span<const Want> wants);

  /// Tells the drafter what was computed of a text, and returns at most `most` guesses of what follows it.
  std::vector<int32_t> Draft(std::span<const int32_t> text, const SamplerSettings& sampler, uint32_t most);

  /// As many guesses as are worth their rows, of what follows all tokens; at most `most`.
  std::vector<int32_t> Guess(const SamplerSettings& sampler, size_t most);

  /// Keeps the first `known` tokens, as KeepBefore, where guesses came after them.
  Result<void> KeepKnown(uint32_t known, std::span<const int32_t> later);

  void ForgetDrafts() noexcept;

  Result<AnswerEnd> DrawAll(std::span<const float> logits, const AnswerOptions& options,
                            const std::function<bool(int32_t)>& emit, size_t& drawn);

  /// Keeps the first `tokens` tokens, of which the cache has those that it can go back to, and goes on with `later`.
  Result<void> KeepBefore(uint32_t tokens, std::span<const int32_t> later);

  void LoseMemory(const Error& error);

  SessionParts parts_;
  std::shared_ptr<Workspace> workspace_;
  State state_;
  SamplerScratch scratch_;
  SessionStatistics statistics_;
  WatchedRows watched_;
  DraftLength draft_length_;
  DraftCost draft_cost_;
  CostModel cost_;
};

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/open/detail/token_session.h"
#endif

#endif  // SKALD_OPEN_TOKEN_SESSION_H_
