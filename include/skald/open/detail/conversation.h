// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/open/conversation.h.

#ifndef SKALD_OPEN_DETAIL_CONVERSATION_H_
#define SKALD_OPEN_DETAIL_CONVERSATION_H_

#include "skald/open/conversation.h"

#include <algorithm>
#include <cstddef>
#include <span>

#include "skald/base/inline.h"
#include "skald/base/no_throw.h"
#include "skald/base/text/message.h"
#include "skald/cache/create.h"
#include "skald/cache/layout/layout.h"
#include "skald/layers/model_spec.h"
#include "skald/open/detail/reply_reader.h"

namespace skald {

SKALD_INLINE RuntimeConfig ConversationRuntime(const ModelInfo& info, RuntimeConfig runtime, uint64_t bytes) {
  uint64_t bytes_of_token = 0;
  for (const CacheGroup& group : LayoutOf(info.spec).groups()) {
    if (!group.is_attention() || group.window > 0) continue;
    bytes_of_token +=
        BlockGeometry::Of(group, runtime.block_tokens, runtime.kv_type).block_bytes() / runtime.block_tokens;
  }
  const uint64_t fits = bytes_of_token == 0 ? kMaxTokens : std::max<uint64_t>(1, bytes / bytes_of_token);
  const uint64_t wanted = info.trained_context > 0 ? info.trained_context : RuntimeConfig().max_tokens;
  runtime.max_tokens = static_cast<uint32_t>(std::min({fits, wanted, uint64_t{kMaxTokens}}));
  runtime.resume_point_every = 256;
  return runtime;
}

SKALD_INLINE Result<Conversation> Conversation::Create(const LanguageModel& model, ConversationOptions options) {
  return NoThrow("Conversation::Create", [&]() -> Result<Conversation> {
    const RuntimeConfig runtime = options.runtime.value_or(ConversationRuntime(model.info));
    SKALD_ASSIGN(auto pool, CreateBlockPool(model.model.layout(), runtime));
    SessionParts parts = {.model = model.model, .pool = std::move(pool), .workspace = options.workspace};
    return Create(model.text, std::move(parts), std::move(options));
  });
}

SKALD_INLINE Result<Conversation> Conversation::Create(const ModelText& text, SessionParts parts,
                                                       ConversationOptions options) {
  return NoThrow("Conversation::Create", [&]() -> Result<Conversation> {
    const auto vocab_size = static_cast<size_t>(parts.model.vocab_size());
    SKALD_ASSIGN(auto session, TokenSession::Create(std::move(parts)));
    Conversation conversation(text, std::move(options), std::move(session));
    SKALD_TRY(ValidateSettings(conversation.sampler_, vocab_size));
    return conversation;
  });
}

SKALD_INLINE Conversation::Conversation(const ModelText& text, ConversationOptions options, TokenSession session)
    : text_(&text),
      options_(std::move(options)),
      sampler_(options_.sampler.value_or(text.sampler)),
      session_(std::move(session)) {
  if (options_.seed) sampler_.random.seed = *options_.seed;
  chat_.variables = options_.variables;
  chat_.options = options_.render;
  if (!options_.system.empty()) messages_.push_back({Role::kSystem, options_.system});
}

SKALD_INLINE Result<ConversationState> Conversation::State() const {
  return NoThrow("Conversation::State", [&]() -> Result<ConversationState> {
    SKALD_ASSIGN(auto tokens, session_.Copy());
    return ConversationState{std::move(tokens), turns_, messages_, questions_, sampler_};
  });
}

SKALD_INLINE void Conversation::Replace(ConversationState state) noexcept {
  session_.Replace(std::move(state.tokens));
  turns_ = std::move(state.turns);
  messages_ = std::move(state.messages);
  questions_ = state.questions;
}

namespace internal {

// Whether they are a system's or none, and then a user's and an answer for each turn.
inline bool AreTurns(std::span<const Message> messages, size_t turns) {
  const size_t system = !messages.empty() && messages[0].role == Role::kSystem ? 1 : 0;
  if (messages.size() != system + 2 * turns) return false;
  for (size_t i = system; i < messages.size(); ++i) {
    if (messages[i].role != ((i - system) % 2 == 0 ? Role::kUser : Role::kAssistant)) return false;
  }
  return true;
}

}  // namespace internal

SKALD_INLINE Result<void> Conversation::Restore(ConversationState state) {
  return NoThrow("Conversation::Restore", [&]() -> Result<void> {
    const uint64_t size = uint64_t{state.tokens.cache.size()} + state.tokens.pending.size();
    if (!internal::AreTurns(state.messages, state.turns.size()) || !std::ranges::is_sorted(state.turns) ||
        (!state.turns.empty() && state.turns.back() > size)) {
      return Fail(ErrorCode::kDataLoss, "the messages of a conversation do not belong to its turns");
    }
    if (state.tokens.cache.pool() != session_.pool() || state.tokens.cache.adapter() != session_.cache().adapter()) {
      return Fail(ErrorCode::kFailedPrecondition, "the state is of another pool or another adapter");
    }
    if (!options_.seed) sampler_.random.seed = state.sampler.random.seed;
    Replace(std::move(state));
    return {};
  });
}

SKALD_INLINE Result<Conversation> Conversation::Fork() const {
  return NoThrow("Conversation::Fork", [&]() -> Result<Conversation> {
    SKALD_ASSIGN(auto session, session_.Fork());
    Conversation fork(*text_, options_, std::move(session));
    fork.sampler_ = sampler_;
    fork.messages_ = messages_;
    fork.turns_ = turns_;
    fork.questions_ = questions_;
    return fork;
  });
}

template <class Change>
auto Conversation::Try(std::string_view call, Change change) -> decltype(change(std::declval<bool&>())) {
  struct Undo {
    ~Undo() {
      if (!is_kept) conversation.Replace(std::move(before));
    }
    Conversation& conversation;
    ConversationState before;
    bool is_kept = false;
  };
  return NoThrow(call, [&]() -> decltype(change(std::declval<bool&>())) {
    SKALD_ASSIGN(auto before, State());
    Undo undo{*this, std::move(before)};
    bool is_kept = true;
    auto result = change(is_kept);
    undo.is_kept = result && is_kept;
    return result;
  });
}

SKALD_INLINE Result<Reply> Conversation::Say(std::string_view message, const PieceSink& sink) {
  return Try("Conversation::Say", [&](bool& is_kept) -> Result<Reply> {
    // Without a template a message goes on with the text.
    const bool goes_on = text_->chat_template.parts().only_continues && !turns_.empty();
    messages_.push_back({Role::kUser, (goes_on ? " " : "") + std::string(message)});
    return AnswerLast(sink, is_kept);
  });
}

SKALD_INLINE Result<Reply> Conversation::Regenerate(const PieceSink& sink) {
  return Try("Conversation::Regenerate", [&](bool& is_kept) -> Result<Reply> {
    if (turns_.empty()) return Fail(ErrorCode::kFailedPrecondition, "there is no answer to draw again");
    Message message = messages_[SystemMessages() + 2 * (turns_.size() - 1)];
    SKALD_TRY(GoBackTo(turns_.size() - 1));
    messages_.push_back(std::move(message));
    return AnswerLast(sink, is_kept);
  });
}

SKALD_INLINE Result<void> Conversation::TakeBack(size_t turns) {
  if (turns > turns_.size()) {
    return Fail(ErrorCode::kFailedPrecondition,
                turns_.empty() ? "there is no message to take back"
                               : Concat({"there are ", std::to_string(turns_.size()), " messages, not ",
                                         std::to_string(turns), ", to take back"}));
  }
  return KeepTurns(turns_.size() - turns);
}

SKALD_INLINE Result<void> Conversation::KeepTurns(size_t turns) {
  return Try("Conversation::KeepTurns", [&](bool&) { return GoBackTo(turns); });
}

SKALD_INLINE Result<void> Conversation::Begin(std::string system) {
  return Try("Conversation::Begin", [&](bool&) -> Result<void> {
    SKALD_TRY(GoBackTo(0));
    messages_.clear();
    if (!system.empty()) messages_.push_back({Role::kSystem, system});
    options_.system = std::move(system);
    return {};
  });
}

SKALD_INLINE Result<void> Conversation::SetSampler(const SamplerSettings& sampler) {
  return NoThrow("Conversation::SetSampler", [&]() -> Result<void> {
    SKALD_TRY(ValidateSettings(sampler, static_cast<size_t>(session_.vocab_size())));
    sampler_ = sampler;
    return {};
  });
}

SKALD_INLINE Result<void> Conversation::GoBackTo(size_t turns) {
  if (turns > turns_.size()) {
    return Fail(ErrorCode::kOutOfRange,
                Concat({"turn ", std::to_string(turns), " of a conversation of ", std::to_string(turns_.size())}));
  }
  SKALD_TRY(session_.Rewind(turns == 0 ? 0 : turns < turns_.size() ? turns_[turns] : session_.size()));
  turns_.resize(turns);
  messages_.resize(SystemMessages() + 2 * turns);
  return {};
}

SKALD_INLINE Result<Reply> Conversation::AnswerLast(const PieceSink& sink, bool& is_kept) {
  Reply reply;
  SKALD_ASSIGN(const auto next, MakeRoom(reply.left_out));
  SKALD_TRY(session_.Rewind(static_cast<uint32_t>(next.keep)));
  // A template that rewrites the past writes ends of earlier turns again.
  for (uint32_t& turn : turns_) turn = std::min(turn, session_.size());
  const uint32_t begin = session_.size();
  AnswerOptions how = {sampler_, text_->stop_ids, max_tokens()};
  how.sampler.random.stream = ++questions_;  // so that a message that is sent again gets another answer

  internal::ReplyReader reader(*text_, next.ids, options_.shows_thoughts, reply);
  bool is_wanted = true;
  Result<void> read;
  SKALD_ASSIGN(reply.end, session_.Answer(next.ids, how, [&](int32_t id) {
    const auto piece = reader.Push(id);
    if (!piece) read = Failure(piece.error());
    is_wanted = piece && sink.Take(*piece);
    return is_wanted;
  }));
  if (!read) return Failure(read.error());
  const std::string rest = reader.Finish();
  if (is_wanted) static_cast<void>(sink.Take(rest));
  is_kept = reply.end != AnswerEnd::kStopped || !reply.tokens.empty();
  turns_.push_back(begin);
  messages_.push_back({Role::kAssistant, reply.text, reply.thought});
  return reply;
}

SKALD_INLINE Result<NextTurn> Conversation::EncodeNext() {
  chat_.messages = std::move(Chat(messages_).messages);
  return EncodeNextTurn(text_->tokenizer, text_->chat_template, chat_, session_.ids());
}

SKALD_INLINE size_t Conversation::max_tokens() const {
  if (options_.max_tokens) return std::max<size_t>(1, *options_.max_tokens);
  return text_->chat_template.parts().only_continues ? kTextTokens : size_t{kMaxTokens};
}

SKALD_INLINE Result<NextTurn> Conversation::MakeRoom(size_t& left_out) {
  const size_t most = session_.max_tokens(), answer = std::min<size_t>(max_tokens(), most / 4);
  const auto excess = [&](const NextTurn& turn, size_t room) {
    const size_t needed = turn.keep + turn.ids.size() + room;
    return needed > most ? needed - most : 0;
  };
  SKALD_ASSIGN(auto next, EncodeNext());
  if (excess(next, answer) == 0) return next;
  SKALD_ASSIGN(const size_t alone, TokensOfMessageAlone());
  if (alone > most) {
    return Fail(
        ErrorCode::kOutOfRange,
        Concat({"the message has ", std::to_string(alone), " tokens, but at most ", std::to_string(most), " fit"}),
        {.needed_tokens = alone, .available_tokens = most});
  }
  while (turns_.size() > 1 && excess(next, answer) > 0) {
    size_t end = 2;
    while (end < turns_.size() && EndOfTurn(end - 1) - turns_[1] < excess(next, answer)) ++end;
    left_out += end - 1;
    SKALD_TRY(LeaveOut(1, end));
    SKALD_ASSIGN(next, EncodeNext());
  }
  // The first turn may leave no room for the message, or hardly any for its answer.
  if (turns_.size() == 1 && excess(next, alone + answer / 2 <= most ? answer / 2 : 0) > 0) {
    ++left_out;
    SKALD_TRY(LeaveOut(0, 1));
    SKALD_ASSIGN(next, EncodeNext());
  }
  return next;
}

SKALD_INLINE Result<void> Conversation::LeaveOut(size_t begin, size_t end) {
  const uint32_t first = turns_[begin], last = EndOfTurn(end - 1);
  if (begin == 0) {
    SKALD_TRY(session_.Rewind(0));  // the beginning of a text is with the first turn's tokens
  } else {
    SKALD_TRY(session_.Erase(first, last, options_.recomputes));
  }
  const auto at = messages_.begin() + static_cast<std::ptrdiff_t>(SystemMessages());
  messages_.erase(at + static_cast<std::ptrdiff_t>(2 * begin), at + static_cast<std::ptrdiff_t>(2 * end));
  turns_.erase(turns_.begin() + static_cast<std::ptrdiff_t>(begin), turns_.begin() + static_cast<std::ptrdiff_t>(end));
  for (size_t later = begin; later < turns_.size(); ++later) turns_[later] -= last - first;
  return {};
}

SKALD_INLINE Result<size_t> Conversation::TokensOfMessageAlone() {
  std::vector<Message> alone(messages_.begin(), messages_.begin() + static_cast<std::ptrdiff_t>(SystemMessages()));
  alone.push_back(messages_.back());
  chat_.messages = std::move(Chat(alone).messages);
  SKALD_ASSIGN(const auto ids, EncodeChat(text_->tokenizer, text_->chat_template, chat_));
  return ids.size();
}

SKALD_INLINE size_t Conversation::SystemMessages() const {
  return !messages_.empty() && messages_[0].role == Role::kSystem ? 1 : 0;
}

}  // namespace skald

#endif  // SKALD_OPEN_DETAIL_CONVERSATION_H_
