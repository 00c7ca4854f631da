// SPDX-License-Identifier: Apache-2.0

#include "commands/chat.h"

#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "conversation/rescue.h"
#include "conversation/saved_state.h"
#include "model_files/model_text.h"
#include "setup.h"
#include "skald/base/json/json_tree.h"
#include "skald/base/json/json_value_tree.h"
#include "skald/base/no_throw.h"
#include "skald/open/conversation.h"
#include "skald/open/token_session.h"
#include "skald/weights/packed_files/packed_source.h"
#include "terminal/interrupt.h"
#include "terminal/line_editor.h"
#include "terminal/messages.h"
#include "terminal/standard_streams.h"
#include "user_folders.h"

namespace skald::program {
namespace {

constexpr const char* kCommands =
    "/undo takes back your last message and its answer, /clear forgets everything, /save, /load and /fork FILE, "
    "/sessions lists files, /quit ends the chat";

// A conversation, and the file that it is kept in.
class KeptChat {
 public:
  KeptChat(const Options& options, Conversation chat)
      : options_(options), chat_(std::move(chat)), source_(DescribeSource(options.model)) {}

  const Conversation& conversation() const { return chat_; }
  // The file that the conversation is kept in, if any.
  const std::optional<std::filesystem::path>& file() const { return file_; }

  // Prints the answer to `message` as it comes, and says what else there is to say of it.
  Result<void> Answer(const std::string& message) {
    bool has_begun = false;
    const auto reply = chat_.Say(message, [&has_begun](std::string_view piece) {
      has_begun = true;
      return PrintText(std::string(piece));
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

  Result<void> Undo() { return chat_.TakeBack(); }
  Result<void> Clear() { return chat_.KeepTurns(0); }

  // Begins to keep the conversation in `file`: goes on from there if the file exists. Errors: those of Load; the file
  // cannot be written.
  Result<void> KeepIn(const std::filesystem::path& file) {
    SKALD_TRY(IdentifyModelOnce());
    std::error_code ignored;  // of what cannot be asked reading or writing tells the error
    if (std::filesystem::exists(file, ignored)) {
      SKALD_TRY(Load(file));
    }
    SKALD_TRY(CheckFolder(file));
    file_ = file;
    return {};
  }

  Result<void> Save(const std::filesystem::path& file) {
    SKALD_TRY(IdentifyModelOnce());
    SKALD_TRY(SaveChat(file, *owner_, chat_));
    Note("saved to " + file.string());
    return {};
  }

  // An error leaves the conversation as it is.
  Result<void> Load(const std::filesystem::path& file) {
    SKALD_TRY(IdentifyModelOnce());
    SKALD_TRY(LoadChat(file, *owner_, chat_));
    file_ = file;
    Note("going on from " + file.string() + ": " + std::to_string(chat_.turns()) + " messages, " +
         std::to_string(chat_.session().size()) + " tokens");
    return {};
  }

  // Later messages go to `file`; the present file, if any, keeps what was said until now.
  Result<void> Fork(const std::filesystem::path& file) {
    if (file_) {
      SKALD_TRY(Save(*file_));
    }
    SKALD_TRY(Save(file));
    file_ = file;
    return {};
  }

 private:
  void NoteLeftOut(size_t turns) const {
    if (chat_.turns() == 1) return Note("the context is full: all turns are forgotten");
    Note("the context is full: of the turns after the first one, the oldest " + std::to_string(turns) +
         (turns == 1 ? " is" : " are") + " forgotten");
  }

  // Reading all weights takes a while, so it waits until something is saved; by then they may be others.
  Result<void> IdentifyModelOnce() {
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

  const Options& options_;
  Conversation chat_;
  std::optional<std::filesystem::path> file_;
  Result<std::string> source_;               // of the weights that run
  std::shared_ptr<const StateOwner> owner_;  // null until it is needed
};

// The commands that Tab completes.
std::vector<std::string> CommandNames() {
  return {"/clear", "/fork ", "/load ", "/quit", "/save ", "/sessions", "/undo"};
}

// The file of lines that earlier chats were told; empty where the user has no home.
std::filesystem::path HistoryFile() {
  const auto folder = UserStateFolder();
  return folder.empty() ? folder : folder / "skald" / "chat_history";
}

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

// Lists the files beside the chat's own that have its extension.
Result<void> ListSessions(const KeptChat& chat) {
  const std::filesystem::path file = chat.file().value_or("chat.skald");
  const std::filesystem::path folder = file.has_parent_path() ? file.parent_path() : ".";
  std::vector<std::string> names;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    if (entry->path().extension() == file.extension()) names.push_back(entry->path().filename().string());
  }
  if (error) return Fail(ErrorCode::kNotFound, folder.string() + ": " + error.message());
  std::sort(names.begin(), names.end());
  for (const std::string& name : names) Note(name + (name == file.filename() ? " (this one)" : ""));
  if (names.empty()) Note("there are no conversations in " + folder.string());
  return {};
}

// Carries out a line that begins with a slash, other than /quit.
Result<void> RunCommand(const std::string& line, KeptChat& chat) {
  const size_t space = std::min(line.find(' '), line.size());
  const std::string command = line.substr(0, space);
  const std::filesystem::path file = line.substr(std::min(space + 1, line.size()));
  if (command == "/undo" && file.empty()) return chat.Undo();
  if (command == "/clear" && file.empty()) return chat.Clear();
  if (command == "/sessions" && file.empty()) return ListSessions(chat);
  if (command == "/save" && file.empty() && chat.file()) return chat.Save(*chat.file());
  if (command == "/save" || command == "/load" || command == "/fork") {
    if (file.empty()) return Fail(ErrorCode::kInvalidArgument, command + " needs the name of a file");
    return command == "/save" ? chat.Save(file) : command == "/load" ? chat.Load(file) : chat.Fork(file);
  }
  return Fail(ErrorCode::kInvalidArgument, "there is no command " + line + "; " + kCommands);
}

// Answers messages until the user or a signal ends the chat, or the output fails. Errors: the input's.
Result<void> Talk(KeptChat& chat, LineReader& input) {
  std::string line;
  while (StopSignal() == 0 && std::cout.good()) {
    SKALD_ASSIGN(const auto event, input.Next("> ", line));
    if (event == InputEvent::kInterrupted) {
      if (StopSignal() == 0) Note("/quit or Ctrl-D ends the chat");
      continue;
    }
    if (event == InputEvent::kEnd || line == "/quit") break;
    if (line.empty()) continue;
    const Result<void> done =
        NoThrow("the chat", [&] { return line.starts_with('/') ? RunCommand(line, chat) : chat.Answer(line); });
    if (!done) Note(done.error().message);
  }
  return {};
}

// Asks on a terminal for another file to save the chat in. Returns false if none is named that takes it.
bool SaveWhereTheUserSays(KeptChat& chat, LineReader& input) {
  std::string name;
  while (StopSignal() == 0) {
    Note("the conversation is not saved; name a file for it, or none to leave that to the program");
    const auto event = input.Next("> ", name);
    if (!event || *event != InputEvent::kLine || name.empty()) break;
    const auto saved = chat.Save(name);
    if (saved) return true;
    Note(saved.error().message);
  }
  return false;
}

// Saves the chat in its file, or somewhere if that fails, which remains an error: it says where.
Result<void> SaveAtTheEnd(KeptChat& chat, LineReader& input, bool terminal) {
  if (!chat.file()) return {};
  const auto saved = chat.Save(*chat.file());
  if (saved) return {};
  if (terminal) {
    Note(saved.error().message);
    if (SaveWhereTheUserSays(chat, input)) return saved;
  }
  const auto other = SaveElsewhere(*chat.file(), [&](const std::filesystem::path& path) { return chat.Save(path); });
  return Fail(saved.error().code,
              saved.error().message + (other ? "; the conversation is in " + other->string()
                                             : "; nor can it be saved elsewhere: " + other.error().message));
}

}  // namespace

Result<int> RunChat(const Options& options) {
  SKALD_ASSIGN(const auto info, IdentifyModel(options.model));
  SKALD_ASSIGN(const auto text, OpenText(options, info));
  SKALD_ASSIGN(const auto model, LoadWeights(options, info));
  SKALD_ASSIGN(auto parts, SessionPartsOf(options, info, *model));
  SKALD_ASSIGN(auto conversation, Conversation::Create(text, std::move(parts), ConversationOptionsOf(options, text)));
  KeptChat chat(options, std::move(conversation));
  const bool terminal = isatty(STDIN_FILENO) == 1;
  if (text.chat_template.parts().only_continues) {
    Note("no chat template: " + std::string(info.name) + " continues what you write; see --chat-template");
  }
  if (terminal) Note(kCommands);
  if (options.session) {
    SKALD_TRY(chat.KeepIn(*options.session));
  }
  SKALD_TRY(CatchSignals());
  const auto input = EditLines({HistoryFile(), CommandNames()});
  const auto talked = Talk(chat, *input);
  const TokenSession& session = chat.conversation().session();
  PrintClosingLine(info, session, chat.conversation().sampler().random.seed, "");
  SKALD_TRY(SaveAtTheEnd(chat, *input, terminal));
  if (!talked) return Failure(talked.error());
  return StopSignal() == 0 ? 0 : ExitCodeOfSignal();
}

}  // namespace skald::program
