// SPDX-License-Identifier: Apache-2.0
//
// Conversation: a chat with a model, answer by answer. A convenience made of public parts: chat template (chat.h),
// tokens and cache (token_session.h), decoder, and parser of thoughts (tools/output_parser.h). Hybrids, sliding windows
// and full contexts are its own business: if the context is full, the oldest turns are left out.

#ifndef SKALD_OPEN_CONVERSATION_H_
#define SKALD_OPEN_CONVERSATION_H_

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "skald/base/json/json_value.h"
#include "skald/base/result.h"
#include "skald/cache/kv_cache.h"
#include "skald/cache/layout/runtime_config.h"
#include "skald/model/workspace.h"
#include "skald/open/chat.h"
#include "skald/open/model_info.h"
#include "skald/open/model_text.h"
#include "skald/open/open_model.h"
#include "skald/open/token_session.h"
#include "skald/sampling/settings.h"
#include "skald/templates/chat_template.h"

namespace skald {

/// Most tokens of an answer of a model without a chat template, which never comes to the end of one, unless the caller
/// says how many.
inline constexpr size_t kTextTokens = 256;

/// Bytes of keys and values that a conversation's token limit is chosen for.
inline constexpr uint64_t kConversationBytes = uint64_t{2} << 30;

/// Returns `runtime` with the token limit that suits one conversation with a model: the context that it learned from,
/// or as much of it as fits into `bytes`; and with resume points, by which recurrent layers and windows can go back
/// without much computing. The memory is taken as the conversation grows.
RuntimeConfig ConversationRuntime(const ModelInfo& info, RuntimeConfig runtime = {},
                                  uint64_t bytes = kConversationBytes);

/// How a conversation is held.
struct ConversationOptions {
  std::string system = {};                      ///< the system's message, UTF-8; empty: none
  JsonValue variables = JsonValue::Object();    ///< of the chat template; see Chat::variables
  RenderOptions render = {};                    ///< see Chat::options
  std::optional<SamplerSettings> sampler = {};  ///< unset: as the model's publisher advises
  std::optional<uint64_t> seed = {};            ///< of the draws, in place of the sampler's
  /// Most tokens of an answer. Unset: the model ends it, or the context; kTextTokens without a chat template.
  std::optional<size_t> max_tokens = {};
  /// Whether sinks get thoughts too, as the model writes them; else they get the text for the user alone.
  bool shows_thoughts = false;
  /// Whether the turns that are kept are computed again when others are left out. Logits are those of a conversation
  /// that never had the others then. Otherwise they are moved where the cache can do that, which takes no time; what
  /// they say still depends on the others.
  bool recomputes = false;
  /// The token limit and the memory; unset: as ConversationRuntime says. To be able to go back after a failure, a
  /// conversation may take twice the memory of its tokens while it answers.
  std::optional<RuntimeConfig> runtime = {};
  WorkspaceOptions workspace = {};  ///< threads that compute
};

/// Gets the pieces of an answer as they come: any function of a std::string_view. If it returns a bool, false ends the
/// answer, and no more pieces come. If it throws a std::exception, the call fails, and the conversation is as it was.
class PieceSink {
 public:
  /// Takes no notice of them.
  PieceSink() = default;
  /// Hands the pieces to `sink`. Throws std::bad_alloc.
  template <class F>
  requires(!std::same_as<std::remove_cvref_t<F>, PieceSink> && std::invocable<F&, std::string_view>)
      PieceSink(F&& sink) {  // NOLINT: any function will do
    if constexpr (std::convertible_to<std::invoke_result_t<F&, std::string_view>, bool>) {
      take_ = std::forward<F>(sink);
    } else {
      take_ = [sink = std::forward<F>(sink)](std::string_view piece) mutable { return sink(piece), true; };
    }
  }

  /// Returns whether more pieces are wanted.
  bool Take(std::string_view piece) const { return !take_ || piece.empty() || take_(piece); }

 private:
  std::function<bool(std::string_view)> take_;
};

/// An answer.
struct Reply {
  std::string text = {};              ///< for the user, UTF-8
  std::string thought = {};           ///< of a model that writes its thoughts down before
  std::vector<int32_t> tokens = {};   ///< all of it, without the token that ended it
  AnswerEnd end = AnswerEnd::kModel;  ///< why it ended
  size_t left_out = 0;                ///< turns that were left out before it, because the context was full
};

/// The changing parts of a conversation, for saving them (saved_conversation.h).
struct ConversationState {
  TokenSession::State tokens;          ///< of the whole conversation
  std::vector<uint32_t> turns = {};    ///< the position at which each turn begins, ascending
  std::vector<Message> messages = {};  ///< the system's, if there is one; a user's and an answer for each turn
  uint64_t questions = 0;              ///< messages so far, those that were taken back included
  SamplerSettings sampler = {};        ///< with the seed
};

/// A chat as turns: a message and its answer. Used by one thread at a time, and its forks by the same one. A call that
/// fails leaves the conversation as it was.
///
/// If the context is full, the oldest turns after the first one are left out, until a quarter of the context is free or
/// an answer of the most tokens fits. The system's message stays. So does the first turn as long as there are others,
/// since models attend much to the beginning. If they move, ConversationOptions::recomputes says what that means.
class Conversation {
 public:
  /// Returns a conversation with the system's message alone. `model` must outlive it and its forks; it is not changed,
  /// and any number of conversations may use it. Errors: those of CreateBlockPool, CreateWorkspace, ValidateSettings.
  static Result<Conversation> Create(const LanguageModel& model, ConversationOptions options = {});

  /// The same of other parts: a model that ranks compute, one with an adapter, or one of the caller's own. `text` must
  /// outlive it, as what `parts` refers to. The options' runtime and workspace are not used.
  static Result<Conversation> Create(const ModelText& text, SessionParts parts, ConversationOptions options = {});

  /// Adds a message of the user's, in UTF-8, and the answer to it, whose pieces go to `sink` as they come. An answer
  /// that SessionParts::is_stopped ended before its first token is none: the conversation is as it was. Errors:
  /// kOutOfRange for a message that does not fit even alone, with the tokens; those of EncodeChat, Forward and Sample.
  Result<Reply> Say(std::string_view message, const PieceSink& sink = {});

  /// Takes the last answer back and draws another one. Errors: kFailedPrecondition without a turn; those of Say.
  Result<Reply> Regenerate(const PieceSink& sink = {});

  /// Takes back the last turns. Error: kFailedPrecondition for more than there are.
  Result<void> TakeBack(size_t turns = 1);
  /// Goes back to the first `turns` turns; 0: to the system's message. Error: kOutOfRange beyond turns().
  Result<void> KeepTurns(size_t turns);

  /// Forgets all turns, and begins again with `system` as the system's message, in UTF-8; empty: none.
  Result<void> Begin(std::string system);

  /// Draws later answers as `sampler` says. Errors: those of ValidateSettings.
  Result<void> SetSampler(const SamplerSettings& sampler);
  /// Sets ConversationOptions::max_tokens of later answers.
  void SetMaxTokens(std::optional<size_t> tokens) { options_.max_tokens = tokens; }

  /// Returns a second conversation with the same past; see KVCache::Fork. Both share memory and threads.
  Result<Conversation> Fork() const;

  /// Returns all that changes.
  Result<ConversationState> State() const;
  /// Goes on from a state of this model and adapter, in blocks of this conversation's pool. The seed comes with it,
  /// unless ConversationOptions::seed is set. Error: kDataLoss if messages, turns and tokens do not belong together.
  Result<void> Restore(ConversationState state);

  /// The number of turns that are in the context.
  size_t turns() const { return turns_.size(); }
  /// The messages that are in the context: the system's, if there is one; a user's and an answer for each turn. Valid
  /// until the conversation changes.
  const std::vector<Message>& messages() const { return messages_; }
  /// The tokens, their limit, the cache and the speed.
  const TokenSession& session() const { return session_; }
  /// Most tokens of an answer; kMaxTokens if the context alone is its limit.
  size_t max_tokens() const;
  /// How tokens are drawn.
  const SamplerSettings& sampler() const { return sampler_; }

 private:
  Conversation(const ModelText& text, ConversationOptions options, TokenSession session);

  /// Runs a change, which says in the end whether it is kept. Else, and after a failure, it is undone.
  template <class Change>
  auto Try(std::string_view call, Change change) -> decltype(change(std::declval<bool&>()));

  void Replace(ConversationState state) noexcept;

  /// Answers the last message, which is a user's. `is_kept`: there is an answer.
  Result<Reply> AnswerLast(const PieceSink& sink, bool& is_kept);

  /// Encodes all messages, as they go on from the tokens that are there.
  Result<NextTurn> EncodeNext();
  /// Leaves turns out until the last message and an answer fit. Returns what is to be computed.
  Result<NextTurn> MakeRoom(size_t& left_out);
  /// Leaves out turns [begin, end).
  Result<void> LeaveOut(size_t begin, size_t end);
  /// The tokens of a conversation of the last message and the system's alone.
  Result<size_t> TokensOfMessageAlone();
  Result<void> GoBackTo(size_t turns);

  size_t SystemMessages() const;
  /// Tokens at which turn `i` ends.
  uint32_t EndOfTurn(size_t i) const { return i + 1 < turns_.size() ? turns_[i + 1] : session_.size(); }

  const ModelText* text_;
  ConversationOptions options_;
  SamplerSettings sampler_;
  TokenSession session_;
  std::vector<Message> messages_;
  Chat chat_;                    ///< what the template gets; its messages are set before each use
  std::vector<uint32_t> turns_;  ///< as ConversationState::turns
  uint64_t questions_ = 0;
};

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/open/detail/conversation.h"
#endif

#endif  // SKALD_OPEN_CONVERSATION_H_
