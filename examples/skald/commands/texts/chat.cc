// SPDX-License-Identifier: Apache-2.0

#include "commands/texts/chat.h"

#include <unistd.h>

#include <filesystem>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "conversation/chat/chat_commands.h"
#include "conversation/chat/kept_chat.h"
#include "conversation/drafting.h"
#include "conversation/rescue.h"
#include "model_files/model_text.h"
#include "setup.h"
#include "skald/base/no_throw.h"
#include "skald/open/conversation.h"
#include "skald/open/token_session.h"
#include "terminal/interrupt.h"
#include "terminal/line_editor.h"
#include "terminal/messages.h"
#include "terminal/standard_streams.h"
#include "user_folders.h"

namespace skald::program {
namespace {

// The file of lines that earlier chats were told; empty where the user has no home.
std::filesystem::path HistoryFile() {
  const auto folder = UserStateFolder();
  return folder.empty() ? folder : folder / "skald" / "chat_history";
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
        NoThrow("the chat", [&] { return line.starts_with('/') ? RunChatCommand(line, chat) : chat.Answer(line); });
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
  SKALD_ASSIGN(const auto loaded, LoadWithDrafter(options, info, RuntimeOf(options, info)));
  const ChatParts parts = {options, info, text, loaded};
  SKALD_ASSIGN(auto conversation, BeginConversation(parts, loaded.model->chosen_adapter()));
  KeptChat chat(parts, std::move(conversation));
  const bool terminal = isatty(STDIN_FILENO) == 1;
  if (text.chat_template.parts().only_continues) {
    Note("no chat template: " + std::string(info.name) + " continues what you write; see --chat-template");
  }
  if (terminal) Note("/help lists the commands; /quit ends the chat");
  if (options.session) {
    SKALD_TRY(chat.KeepIn(*options.session));
  }
  SKALD_TRY(CatchSignals());
  const auto input = EditLines({HistoryFile(), ChatCommandNames()});
  const auto talked = Talk(chat, *input);
  const TokenSession& session = chat.conversation().session();
  PrintClosingLine(info, session, chat.conversation().sampler().random.seed, "");
  SKALD_TRY(SaveAtTheEnd(chat, *input, terminal));
  if (!talked) return Failure(talked.error());
  return StopSignal() == 0 ? 0 : ExitCodeOfSignal();
}

}  // namespace skald::program
