// SPDX-License-Identifier: Apache-2.0
//
// Requests to an engine, its events, and how an answer ended. Plain data.

#ifndef SKALD_ENGINE_REQUESTS_REQUEST_H_
#define SKALD_ENGINE_REQUESTS_REQUEST_H_

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "skald/base/numbers/digest.h"
#include "skald/base/result.h"
#include "skald/constraints/token_filter.h"
#include "skald/sampling/sampler.h"
#include "skald/sampling/settings.h"
#include "skald/sampling/token_sampler.h"

namespace skald {

/// Names a request; an engine never uses one twice.
using RequestId = uint64_t;

/// How the hidden states of a prompt, those after the model's final norm, become one vector.
enum class PromptEmbedding : uint8_t { kLast, kMean };

/// A prompt, and how it is to be answered. Engine::Check says by name what cannot be.
struct Request {
  std::vector<int32_t> prompt;  ///< at least one token
  /// How tokens are drawn. Sample i of several draws from the stream sampler.random.stream + i.
  SamplerSettings sampler = {};
  /// Draws tokens in place of what `sampler` describes, which it is given (token_sampler.h). A DraftModel guesses by
  /// `sampler` alone.
  AnySampler own_sampler = {};
  /// Whether penalties see the prompt too, not only what was drawn.
  bool penalize_prompt = false;
  /// Answers to the one prompt, which is computed once.
  uint32_t samples = 1;
  /// Most tokens of an answer; unset: as many as the cache may hold after the prompt.
  std::optional<uint32_t> max_tokens = {};
  /// Each ends an answer, and is not part of it.
  std::vector<int32_t> end_tokens = {};
  /// The same of texts, wherever among the tokens they begin and end; needs EngineOptions::tokenizer.
  std::vector<std::string> stop_strings = {};
  /// Log-probabilities of the prompt's own tokens, from the second on, and those of this many most likely ones: for
  /// that the whole prompt is computed, whatever is known of it.
  std::optional<size_t> prompt_logprobs = {};
  /// An embedding of the prompt instead of an answer.
  std::optional<PromptEmbedding> embedding = {};
  /// Whether Usage::logits_digest is filled in, so that two runs can be compared to the last bit.
  bool digest_logits = false;
  /// Whether the text has the names of special tokens, by which some models divide their answers into parts.
  bool special_text = false;
  /// Restricts the tokens that may be drawn; every sample uses a clone of it. Null: no restriction.
  std::shared_ptr<const TokenFilter> filter = {};
  /// Most drafted tokens that are checked in a step; 0: no speculation. EngineOptions::drafter makes them.
  uint32_t max_drafts = std::numeric_limits<uint32_t>::max();

  /// The tenant: shares of time are divided among tenants, and prompts are shared only within one.
  std::string tenant = {};
  /// Prompts and their beginnings are shared only among requests of one salt (PromptCache). Unset: the tenant's name.
  std::optional<std::string> salt = {};
  /// Higher goes first (EngineOptions::policy).
  int32_t priority = 0;
  /// When an answer that is not whole is given up, on the engine's clock, in seconds.
  std::optional<double> deadline = {};
  /// Positions in the prompt, ascending, from which other conversations are likely to continue: the ends of a system
  /// prompt and of turns. Prompt caches keep the state there, so that windowed and recurrent models can resume too.
  std::vector<uint32_t> branch_points = {};
  /// The caller's own, which comes along where the engine's work is written down (Engine::Suspend).
  std::string note = {};
  /// The adapter that computes it, one of EngineOptions::adapters; zeros: the model alone.
  Sha256Digest adapter = {};
};

/// The salt under which a request's state is kept and found; nothing where it names none.
std::optional<std::string> SaltOf(const Request& request);

// g++ 12 warns that a scoped enumerator shadows kMaxTokens of the cache, which it cannot.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow"
#endif
enum class FinishReason : uint8_t {
  kEndToken,    ///< one of Request::end_tokens was drawn
  kStopString,  ///< one of Request::stop_strings appeared
  kMaxTokens,   ///< Request::max_tokens, or the cache's limit
  kFilter,      ///< the filter allows nothing more, and the text may end there
  kEmbedding,   ///< Event::embedding has it
  kCancelled,
  kDeadline,
  kError,  ///< Event::error says which
};
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif

/// Tokens and times of one answer. Times are the engine's clock, in seconds.
struct Usage {
  uint32_t prompt_tokens = 0;     ///< of the request
  uint32_t cached_tokens = 0;     ///< of the prompt, that were not computed for this request
  uint32_t generated_tokens = 0;  ///< drawn, one that ended the answer included
  uint32_t drafted_tokens = 0;    ///< checked
  uint32_t accepted_tokens = 0;   ///< of these
  uint32_t preemptions = 0;       ///< times that it had to give its memory away
  /// Of the logits that tokens were drawn from, in order, each one's bits hashed with the digest before as seed
  /// (XXH64); 0 at first.
  uint64_t logits_digest = 0;
  double submitted = 0.0;  ///< when Submit took it
  /// When its first token was drawn; when it ended. Unset before.
  std::optional<double> first_token = {}, finished = {};
};

/// News of one answer. Those of an answer come in order, and what they hold, joined, is the same however it was
/// scheduled; how it is divided among events may differ.
struct Event {
  RequestId request = 0;                         ///< number of the request
  uint32_t sample = 0;                           ///< index among Request::samples
  std::vector<SampledToken> tokens = {};         ///< one that ended the answer is not among them
  std::vector<SampledToken> prompt_tokens = {};  ///< of sample 0, as Request::prompt_logprobs asks
  std::vector<float> embedding = {};             ///< [model_dim], as Request::embedding asks
  std::string text = {};  ///< whole characters; may come later than the tokens. Empty without a tokenizer
  std::optional<FinishReason> finish = {};  ///< set in the last event of the sample alone
  std::optional<size_t> stop_string = {};   ///< of kStopString: which one it was, by its place in Request::stop_strings
  std::optional<Error> error = {};          ///< of kError: why
  Usage usage = {};                         ///< as of this event; whole where `finish` is set
};

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/engine/requests/detail/request.h"
#endif

#endif  // SKALD_ENGINE_REQUESTS_REQUEST_H_
