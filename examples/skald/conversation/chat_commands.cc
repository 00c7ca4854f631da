// SPDX-License-Identifier: Apache-2.0

#include "conversation/chat_commands.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <filesystem>
#include <sstream>
#include <string_view>
#include <system_error>

#include "command_line/option_checks.h"
#include "skald/sampling/settings.h"
#include "terminal/messages.h"

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

// A setting of the answers to come.
struct Setting {
  std::string_view name;
  std::string (*show)(const Conversation& chat);
  Result<void> (*set)(Conversation& chat, const std::string& text);
};

Failure Expected(const char* what, const std::string& text) {
  return Fail(ErrorCode::kInvalidArgument, std::string("expected ") + what + ", got " + text);
}

template <auto kMember>
constexpr Setting SamplerSetting(std::string_view name) {
  using Value = std::remove_cvref_t<decltype(SamplerSettings().*kMember)>;
  return {name,
          [](const Conversation& chat) {
            std::ostringstream text;
            text << chat.sampler().*kMember;
            return text.str();
          },
          [](Conversation& chat, const std::string& text) -> Result<void> {
            const auto value = ParseNumber<Value>(text);
            if (!value) return Expected("a number", text);
            SamplerSettings sampler = chat.sampler();
            sampler.*kMember = *value;
            return chat.SetSampler(sampler);
          }};
}

std::string ShowSeed(const Conversation& chat) { return std::to_string(chat.sampler().random.seed); }

Result<void> SetSeed(Conversation& chat, const std::string& text) {
  const auto seed = ParseNumber<uint64_t>(text);
  if (!seed) return Expected("a whole number", text);
  SamplerSettings sampler = chat.sampler();
  sampler.random.seed = *seed;
  return chat.SetSampler(sampler);
}

std::string ShowMaxTokens(const Conversation& chat) {
  return chat.max_tokens() == kMaxTokens ? "as many as fit" : std::to_string(chat.max_tokens());
}

Result<void> SetMaxTokens(Conversation& chat, const std::string& text) {
  const auto tokens = ParseNumber<size_t>(text);
  if (!tokens || *tokens == 0 || *tokens > kMaxTokens) return Expected("1 or more tokens", text);
  chat.SetMaxTokens(*tokens);
  return {};
}

constexpr Setting kSettings[] = {
    SamplerSetting<&SamplerSettings::temperature>("temperature"),
    SamplerSetting<&SamplerSettings::top_k>("top_k"),
    SamplerSetting<&SamplerSettings::top_p>("top_p"),
    SamplerSetting<&SamplerSettings::min_p>("min_p"),
    SamplerSetting<&SamplerSettings::repetition_penalty>("repetition_penalty"),
    SamplerSetting<&SamplerSettings::presence_penalty>("presence_penalty"),
    SamplerSetting<&SamplerSettings::frequency_penalty>("frequency_penalty"),
    SamplerSetting<&SamplerSettings::penalty_window>("penalty_window"),
    {"seed", ShowSeed, SetSeed},
    {"max_tokens", ShowMaxTokens, SetMaxTokens},
};

// Shows all settings, or sets one: "temperature 0.5", or with an equals sign.
Result<void> Set(KeptChat& chat, const std::string& argument) {
  Conversation& conversation = chat.conversation();
  if (argument.empty()) {
    for (const Setting& setting : kSettings) Note(std::string(setting.name) + " " + setting.show(conversation));
    return {};
  }
  const size_t end = std::min(argument.find_first_of(" ="), argument.size());
  const std::string name = argument.substr(0, end), value = argument.substr(std::min(end + 1, argument.size()));
  const auto* const setting = std::ranges::find(kSettings, std::string_view(name), &Setting::name);
  if (setting == std::end(kSettings)) {
    return Fail(ErrorCode::kInvalidArgument, "there is no setting " + name + "; /set lists them");
  }
  if (const auto done = setting->set(conversation, value); !done) return Annotate(name, done);
  return {};
}

Result<void> Save(KeptChat& chat, const std::string& file) {
  if (file.empty() && !chat.file()) return Fail(ErrorCode::kInvalidArgument, "/save needs the name of a file");
  return chat.Save(file.empty() ? *chat.file() : std::filesystem::path(file));
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
