// SPDX-License-Identifier: Apache-2.0
//
// KeptChat: a conversation on the terminal, and the file that it is kept in.

#ifndef SKALD_EXAMPLES_SKALD_CONVERSATION_KEPT_CHAT_H_
#define SKALD_EXAMPLES_SKALD_CONVERSATION_KEPT_CHAT_H_

#include <cstddef>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "command_line/options.h"
#include "conversation/saved_state.h"
#include "skald/base/result.h"
#include "skald/open/conversation.h"
#include "skald/weights/packed_files/packed_source.h"

namespace skald::program {

class KeptChat {
 public:
  // `options` must outlive it.
  KeptChat(const Options& options, Conversation chat)
      : options_(options), chat_(std::move(chat)), source_(DescribeSource(options.model)) {}

  const Conversation& conversation() const { return chat_; }
  Conversation& conversation() { return chat_; }
  // The file that the conversation is kept in, if any.
  const std::optional<std::filesystem::path>& file() const { return file_; }

  // The text of `file` will begin the next message, after those of files read before. Errors: the system's; no regular
  // file; more than a message may have.
  Result<void> Read(const std::filesystem::path& file);
  void ForgetRead() { read_.clear(); }

  // Prints the answer to `message` as it comes, and notes what else there is to say of it. After an error the files
  // that were read wait for the next message.
  Result<void> Answer(const std::string& message);
  // Prints another answer to the last message.
  Result<void> AnswerAgain();

  // Begins to keep the conversation in `file`: goes on from there if the file exists. Errors: those of Load; the file
  // cannot be written.
  Result<void> KeepIn(const std::filesystem::path& file);
  Result<void> Save(const std::filesystem::path& file);
  // An error leaves the conversation as it is.
  Result<void> Load(const std::filesystem::path& file);
  // Later messages go to `file`; the present file, if any, keeps what was said until now.
  Result<void> Fork(const std::filesystem::path& file);

 private:
  // Prints the answer that `say` draws.
  template <class Say>
  Result<void> Print(const Say& say);

  void NoteLeftOut(size_t turns) const;

  // Reading all weights takes a while, so it waits until something is saved; by then they may be others.
  Result<void> IdentifyModelOnce();

  const Options& options_;
  Conversation chat_;
  std::string read_;  // before the next message
  std::optional<std::filesystem::path> file_;
  Result<std::string> source_;               // of the weights that run
  std::shared_ptr<const StateOwner> owner_;  // null until it is needed
};

}  // namespace skald::program

#endif  // SKALD_EXAMPLES_SKALD_CONVERSATION_KEPT_CHAT_H_
