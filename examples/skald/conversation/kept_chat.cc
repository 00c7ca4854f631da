// SPDX-License-Identifier: Apache-2.0

#include "conversation/kept_chat.h"

#include <algorithm>
#include <iostream>
#include <string_view>
#include <system_error>

#include "setup.h"
#include "skald/base/files/small_file.h"
#include "terminal/messages.h"
#include "terminal/standard_streams.h"

namespace skald::program {

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
  const auto now = DescribeSource(options_.model);
  if (!now || *now != *source_) {
    return Fail(ErrorCode::kFailedPrecondition,
                options_.model.string() + ": the model has changed since the chat began");
  }
  SKALD_ASSIGN(auto owner, IdentifyOwner(options_, chat_.session().cache().adapter()));
  owner_ = std::move(owner);
  return {};
}

}  // namespace skald::program
