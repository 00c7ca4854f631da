// SPDX-License-Identifier: Apache-2.0
//
// KeptChat: a conversation on the terminal, and the file that it is kept in.

#ifndef SKALD_EXAMPLES_SKALD_CONVERSATION_CHAT_KEPT_CHAT_H_
#define SKALD_EXAMPLES_SKALD_CONVERSATION_CHAT_KEPT_CHAT_H_

#include <cstddef>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "command_line/options.h"
#include "conversation/drafting.h"
#include "conversation/program_model.h"
#include "conversation/saved_state.h"
#include "skald/base/result.h"
#include "skald/open/conversation.h"
#include "skald/open/model_info.h"
#include "skald/open/model_text.h"
#include "skald/weights/adapters/adapter.h"
#include "skald/weights/packed_files/packed_source.h"

namespace skald::program {

// The parts that conversations are made of. All of them must outlive the conversations.
struct ChatParts {
  const Options& options;
  const ModelInfo& info;
  const ModelText& text;
  const DraftedModel& loaded;

  const ProgramModel& model() const { return *loaded.model; }
};

// Returns a conversation without turns, with an adapter that must outlive it, or null. Errors: see
// Conversation::Create.
Result<Conversation> BeginConversation(const ChatParts& parts, const Adapter* adapter);

class KeptChat {
 public:
  // `chat` has the adapter of the options.
  KeptChat(const ChatParts& parts, Conversation chat)
      : parts_(parts),
        adapter_path_(parts.options.adapter),
        chat_(std::move(chat)),
        source_(DescribeSource(parts.options.model)) {}

  const ChatParts& parts() const { return parts_; }
  const Options& options() const { return parts_.options; }
  // Where the adapter of the conversation is, if there is one.
  const std::optional<std::filesystem::path>& adapter_path() const { return adapter_path_; }
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

  // Goes on with the adapter at `path`, or with none if that is empty. The next answer computes what was said before
  // anew. Errors, after which the chat is as it was: see OpenAdapter; kUnsupported for a model that ranks compute.
  Result<void> UseAdapter(const std::filesystem::path& path);

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

  const ChatParts parts_;
  std::optional<std::filesystem::path> adapter_path_;
  std::unique_ptr<const Adapter> adapter_;  // that was chosen later than the options', and is not null
  Conversation chat_;
  std::string read_;  // before the next message
  std::optional<std::filesystem::path> file_;
  Result<std::string> source_;               // of the weights that run
  std::shared_ptr<const StateOwner> owner_;  // null until it is needed
};

}  // namespace skald::program

#endif  // SKALD_EXAMPLES_SKALD_CONVERSATION_CHAT_KEPT_CHAT_H_
