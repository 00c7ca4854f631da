// SPDX-License-Identifier: Apache-2.0

#include "conversation/chat/chat_commands.h"

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "conversation/chat/chat_settings.h"
#include "conversation/chat/show_chat.h"
#include "terminal/messages.h"
#include "terminal/text_editor.h"

namespace skald::program {
namespace {

struct ChatCommand {
  std::string_view name;
  std::string_view argument;  // what it takes; empty: nothing. In brackets: or nothing
  std::string_view purpose;
  Result<void> (*run)(KeptChat& chat, const std::string& argument);
};

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

Result<void> Save(KeptChat& chat, const std::string& file) {
  if (file.empty() && !chat.file()) return Fail(ErrorCode::kInvalidArgument, "/save needs the name of a file");
  return chat.Save(file.empty() ? *chat.file() : std::filesystem::path(file));
}

Result<void> Set(KeptChat& chat, const std::string& text) {
  if (!text.empty()) return ChangeSetting(chat.conversation(), text);
  ShowSettings(chat.conversation());
  return {};
}

// Answers what the user writes in an editor.
Result<void> Edit(KeptChat& chat, const std::string& beginning) {
  SKALD_ASSIGN(const auto message, EditText(beginning));
  if (!message.empty()) return chat.Answer(message);
  Note("there is no text: nothing was sent");
  return {};
}

Result<void> Help(KeptChat& chat, const std::string& argument);

constexpr ChatCommand kCommands[] = {
    {"/undo", "", "takes back your last message and its answer",
     [](KeptChat& chat, const std::string&) { return chat.conversation().TakeBack(); }},
    {"/regen", "", "answers your last message anew",
     [](KeptChat& chat, const std::string&) { return chat.AnswerAgain(); }},
    {"/clear", "", "forgets everything",
     [](KeptChat& chat, const std::string&) {
       chat.ForgetRead();
       return chat.conversation().KeepTurns(0);
     }},
    {"/system", "[TEXT]", "forgets everything, and begins again with this system message",
     [](KeptChat& chat, const std::string& text) {
       chat.ForgetRead();
       return chat.conversation().Begin(text);
     }},
    {"/read", "FILE", "puts the text of a file before your next message",
     [](KeptChat& chat, const std::string& file) { return chat.Read(file); }},
    {"/edit", "[TEXT]", "writes your next message in an editor: $VISUAL, $EDITOR or vi", Edit},
    {"/show", "[PART]", "tells what the chat is made of; PART: model, system, settings or template", ShowChat},
    {"/adapter", "[PATH]", "goes on with another LoRA adapter, or with none; what was said is computed anew",
     [](KeptChat& chat, const std::string& path) { return chat.UseAdapter(path); }},
    {"/set", "[NAME VALUE]", "changes how answers are drawn; alone it lists the settings", Set},
    {"/save", "[FILE]", "writes the conversation to a file", Save},
    {"/load", "FILE", "goes on from one", [](KeptChat& chat, const std::string& file) { return chat.Load(file); }},
    {"/fork", "FILE", "goes on in a new file", [](KeptChat& chat, const std::string& file) { return chat.Fork(file); }},
    {"/sessions", "", "lists the files beside it",
     [](KeptChat& chat, const std::string&) { return ListSessions(chat); }},
    {"/help", "", "lists the commands", Help},
    {"/quit", "", "ends the chat", nullptr},
};

Result<void> Help(KeptChat&, const std::string&) {
  for (const ChatCommand& command : kCommands) {
    const std::string argument(command.argument);
    Note(std::string(command.name) + (argument.empty() ? "" : " " + argument) + ": " + std::string(command.purpose));
  }
  return {};
}

}  // namespace

std::vector<std::string> ChatCommandNames() {
  std::vector<std::string> names;
  for (const ChatCommand& command : kCommands) {
    names.push_back(std::string(command.name) + (command.argument.empty() ? "" : " "));
  }
  return names;
}

Result<void> RunChatCommand(const std::string& line, KeptChat& chat) {
  const size_t space = std::min(line.find(' '), line.size());
  const std::string name = line.substr(0, space), argument = line.substr(std::min(space + 1, line.size()));
  const auto* const command = std::ranges::find(kCommands, std::string_view(name), &ChatCommand::name);
  if (command == std::end(kCommands) || command->run == nullptr) {
    return Fail(ErrorCode::kInvalidArgument, "there is no command " + line + "; /help lists them");
  }
  if (command->argument.empty() && !argument.empty()) {
    return Fail(ErrorCode::kInvalidArgument, name + " takes nothing, got " + argument);
  }
  if (argument.empty() && !command->argument.empty() && !command->argument.starts_with('[')) {
    return Fail(ErrorCode::kInvalidArgument, name + " needs the name of a file");
  }
  return command->run(chat, argument);
}

}  // namespace skald::program
