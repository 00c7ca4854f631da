// SPDX-License-Identifier: Apache-2.0

#include "conversation/chat/kept_chat.h"

#include <algorithm>
#include <iostream>
#include <string_view>
#include <system_error>

#include "setup.h"
#include "skald/base/files/small_file.h"
#include "skald/base/json/json_tree.h"
#include "skald/base/json/json_value_tree.h"
#include "terminal/messages.h"
#include "terminal/standard_streams.h"

namespace skald::program {
namespace {

// The user's choices for a conversation.
ConversationOptions ConversationOptionsOf(const Options& options, const ModelText& text) {
  ConversationOptions chosen = {.system = options.system,
                                .render = RenderOptionsNow(),
                                .sampler = text.sampler,
                                .max_tokens = options.max_tokens,
                                .shows_thoughts = true};
  if (options.chose_seed) chosen.seed = options.seed;
  for (const auto& [name, value] : options.variables) {
    nlohmann::ordered_json parsed;
    const bool is_json = internal::ParseJson(value, parsed).empty();
    TreeOf(chosen.variables)[name] =
        is_json ? std::move(parsed) : nlohmann::ordered_json(value);  // a bare word is a text
  }
  return chosen;
}

}  // namespace

Result<Conversation> BeginConversation(const ChatParts& parts, const Adapter* adapter) {
  SKALD_ASSIGN(auto session, SessionPartsOf(parts.options, parts.info, parts.loaded, adapter));
  return Conversation::Create(parts.text, std::move(session), ConversationOptionsOf(parts.options, parts.text));
}

template <class Say>
Result<void> KeptChat::Print(const Say& say) {
  bool has_begun = false;
  const auto reply = say([&has_begun](std::string_view piece) {
    has_begun = true;
    return PrintText(piece);
  });
  if (reply || has_begun) PrintText("\n");
  if (!reply) return Failure(WithContextAdvice(reply.error()));
  if (reply->left_out > 0) NoteLeftOut(reply->left_out);
  if (reply->end == AnswerEnd::kContextFull) Note("the context is full, which ended the answer");
  if (reply->end == AnswerEnd::kTokenLimit) {
    Note("the limit of " + std::to_string(chat_.max_tokens()) + " tokens ended the answer (see --max-tokens)");
  }
  if (reply->end == AnswerEnd::kStopped && std::cout.good()) Note("interrupted");
  return {};
}

Result<void> KeptChat::Read(const std::filesystem::path& file) {
  SKALD_ASSIGN(const std::string text, ReadSmallFile(file, kMaxPromptBytes - std::min(kMaxPromptBytes, read_.size())));
  read_ += text + (text.ends_with('\n') ? "\n" : "\n\n");
  Note(file.string() + ": its " + std::to_string(text.size()) + " bytes will begin your next message");
  return {};
}

Result<void> KeptChat::Answer(const std::string& message) {
  SKALD_TRY(Print([&](const PieceSink& sink) { return chat_.Say(read_ + message, sink); }));
  read_.clear();
  return {};
}

Result<void> KeptChat::AnswerAgain() {
  return Print([&](const PieceSink& sink) { return chat_.Regenerate(sink); });
}

Result<void> KeptChat::UseAdapter(const std::filesystem::path& path) {
  if (options().use_ranks) return Fail(ErrorCode::kUnsupported, "ranks keep the adapter that they began with");
  std::unique_ptr<const Adapter> adapter;
  if (!path.empty()) {
    SKALD_ASSIGN(auto opened, OpenAdapter(path, parts_.info.spec, {}));
    adapter = std::make_unique<const Adapter>(std::move(opened));
  }
  SKALD_ASSIGN(auto next, BeginConversation(parts_, adapter.get()));
  SKALD_ASSIGN(auto empty, next.session().Copy());
  SKALD_ASSIGN(auto state, chat_.State());
  state.tokens = {std::move(empty.cache), chat_.session().ids()};
  SKALD_TRY(next.Restore(std::move(state)));
  SKALD_TRY(next.SetSampler(chat_.sampler()));
  next.SetMaxTokens(chat_.max_tokens());
  chat_ = std::move(next);  // before its adapter goes
  adapter_ = std::move(adapter);
  adapter_path_.reset();
  if (!path.empty()) adapter_path_ = path;
  owner_ = nullptr;
  Note(path.empty() ? "going on with the model alone" : "going on with the adapter " + path.string());
  return {};
}

Result<void> KeptChat::KeepIn(const std::filesystem::path& file) {
  SKALD_TRY(IdentifyModelOnce());
  std::error_code ignored;  // of what cannot be asked reading or writing tells the error
  if (std::filesystem::exists(file, ignored)) {
    SKALD_TRY(Load(file));
  }
  SKALD_TRY(CheckFolder(file));
  file_ = file;
  return {};
}

Result<void> KeptChat::Save(const std::filesystem::path& file) {
  SKALD_TRY(IdentifyModelOnce());
  SKALD_TRY(SaveChat(file, *owner_, chat_));
  Note("saved to " + file.string());
  return {};
}

Result<void> KeptChat::Load(const std::filesystem::path& file) {
  SKALD_TRY(IdentifyModelOnce());
  SKALD_TRY(LoadChat(file, *owner_, chat_));
  file_ = file;
  Note("going on from " + file.string() + ": " + std::to_string(chat_.turns()) + " messages, " +
       std::to_string(chat_.session().size()) + " tokens");
  return {};
}

Result<void> KeptChat::Fork(const std::filesystem::path& file) {
  if (file_) {
    SKALD_TRY(Save(*file_));
  }
  SKALD_TRY(Save(file));
  file_ = file;
  return {};
}

void KeptChat::NoteLeftOut(size_t turns) const {
  if (chat_.turns() == 1) return Note("the context is full: all turns are forgotten");
  Note("the context is full: of the turns after the first one, the oldest " + std::to_string(turns) +
       (turns == 1 ? " is" : " are") + " forgotten");
}

Result<void> KeptChat::IdentifyModelOnce() {
  if (owner_ != nullptr) return {};
  if (!source_) return Failure(source_.error());
  const auto now = DescribeSource(options().model);
  if (!now || *now != *source_) {
    return Fail(ErrorCode::kFailedPrecondition,
                options().model.string() + ": the model has changed since the chat began");
  }
  SKALD_ASSIGN(auto owner, IdentifyOwner(options(), chat_.session().cache().adapter()));
  owner_ = std::move(owner);
  return {};
}

}  // namespace skald::program
