// SPDX-License-Identifier: Apache-2.0

#include "commands/chat.h"

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <iostream>
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
#include "skald/open/chat.h"
#include "skald/tokenizers/stream_decoder.h"
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

// The conversation as turns: a message and its answer. A turn begins where the answer before it ended, so any
// turn but the first can be taken out and what is left is still a well-formed chat.
class Conversation {
 public:
  Conversation(const Options& options, const Tokenizer& tokenizer, Session& session, ChatTemplate chat_template,
               Sampling sampling)
      : options_(options),
        tokenizer_(tokenizer),
        session_(session),
        template_(std::move(chat_template)),
        sampling_(std::move(sampling)),
        source_(DescribeSource(options.model)) {
    Begin();
  }

  // The file that the conversation is kept in, if any.
  const std::optional<std::filesystem::path>& file() const { return file_; }
  uint64_t seed() const { return sampling_.settings.random.seed; }

  // Prints the answer to `message` as it comes.
  Result<void> Answer(const std::string& message) {
    const auto ending = Ask(message);
    // A message without an answer must not become part of a turn.
    if (!messages().empty() && messages().back()["role"] == "user") messages().erase(messages().size() - 1);
    if (!ending) return Failure(ending.error());
    if (*ending == Ending::kContextFull) Note("the context is full, which ended the answer");
    if (*ending == Ending::kMaxTokens) {
      Note("the limit of " + std::to_string(sampling_.max_tokens) + " tokens ended the answer (see --max-tokens)");
    }
    if (*ending == Ending::kInterrupted) Note("interrupted");
    return {};
  }

  Result<void> Undo() {
    if (turns_.empty()) return Fail(ErrorCode::kFailedPrecondition, "there is no message to take back");
    SKALD_TRY(session_.Rewind(std::min(turns_.back(), session_.size())));
    turns_.pop_back();
    EraseMessages(turns_.size());
    return {};
  }

  Result<void> Clear() {
    turns_.clear();
    Begin();
    return session_.Rewind(0);
  }

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
    SKALD_ASSIGN(auto fork, session_.ForkCache());
    SavedChat saved{std::move(fork), session_.pending(), turns_, messages().dump(), questions_, sampling_.settings};
    SKALD_TRY(SaveChat(file, *owner_, saved));
    Note("saved to " + file.string());
    return {};
  }

  // An error leaves the conversation as it is.
  Result<void> Load(const std::filesystem::path& file) {
    SKALD_TRY(IdentifyModelOnce());
    SKALD_ASSIGN(auto saved, LoadChat(file, *owner_, session_.pool()));
    nlohmann::ordered_json messages;
    const bool is_json = internal::ParseJson(saved.messages, messages).empty();
    if (!is_json || !messages.is_array() || messages.size() < 2 * saved.turns.size()) {
      return Fail(ErrorCode::kDataLoss, file.string() + ": its messages do not belong to its turns");
    }
    session_.Replace(std::move(saved.cache), std::move(saved.pending));
    this->messages() = std::move(messages);
    turns_ = std::move(saved.turns);
    questions_ = saved.questions;
    if (!options_.chose_seed) sampling_.settings.random.seed = saved.sampler.random.seed;
    file_ = file;
    Note("going on from " + file.string() + ": " + std::to_string(turns_.size()) + " messages, " +
         std::to_string(session_.size()) + " tokens");
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
  // Reading all weights takes a while, so it waits until something is saved; by then they may be others.
  Result<void> IdentifyModelOnce() {
    if (owner_ != nullptr) return {};
    if (!source_) return Failure(source_.error());
    const auto now = DescribeSource(options_.model);
    if (!now || *now != *source_) {
      return Fail(ErrorCode::kFailedPrecondition,
                  options_.model.string() + ": the model has changed since the chat began");
    }
    SKALD_ASSIGN(auto owner, IdentifyOwner(options_, session_.adapter()));
    owner_ = std::move(owner);
    return {};
  }

  nlohmann::ordered_json& messages() { return TreeOf(chat_.messages); }
  const nlohmann::ordered_json& messages() const { return TreeOf(chat_.messages); }

  // An empty chat, with the system's message if there is one.
  void Begin() {
    chat_ = Chat();
    chat_.options = RenderOptionsNow();
    for (const auto& [name, text] : options_.variables) {
      nlohmann::ordered_json value;
      const bool is_json = internal::ParseJson(text, value).empty();
      TreeOf(chat_.variables)[name] =
          is_json ? std::move(value) : nlohmann::ordered_json(text);  // a bare word is a text
    }
    if (!options_.system.empty()) chat_.Add(Role::kSystem, options_.system);
  }

  // Takes out the message and the answer of turn `i`, and of all later ones unless `only`.
  void EraseMessages(size_t i, bool only = false) {
    const auto begin = messages().begin() + static_cast<std::ptrdiff_t>(messages().size() - MessagesFrom(i));
    messages().erase(begin, only ? begin + 2 : messages().end());
  }
  // The messages of turn `i` and all later ones: two of each turn, after those that the chat began with.
  size_t MessagesFrom(size_t i) const {
    return messages().size() - std::min(messages().size(), SystemMessages() + 2 * i);
  }
  size_t SystemMessages() const { return !messages().empty() && messages()[0]["role"] == "system" ? 1 : 0; }

  // Adds `message` and the answer to it to the chat.
  Result<Ending> Ask(const std::string& message) {
    // Without a template a message goes on with the text.
    const bool goes_on = template_.parts().only_continues && !turns_.empty();
    chat_.Add(Role::kUser, (goes_on ? " " : "") + message);
    SKALD_ASSIGN(auto next, EncodeNextTurn(tokenizer_, template_, chat_, session_.ids()));
    SKALD_TRY(MakeRoom(next));
    if (next.keep < session_.size()) {
      SKALD_TRY(session_.Rewind(static_cast<uint32_t>(next.keep)));
    }
    for (uint32_t& turn : turns_) turn = std::min(turn, session_.size());
    const uint32_t begin = session_.size();
    sampling_.settings.random.stream = ++questions_;  // so that a message sent again gets another answer

    StreamDecoder decoder(tokenizer_);
    if (template_.parts().only_continues) Prime(decoder, next.ids);
    std::string answer;
    const auto print = [&](int32_t id) {
      const std::string text = decoder.Push(id).value_or("");
      answer += text;
      return PrintText(text);
    };
    const auto ending = NoThrow("the answer", [&] { return session_.Generate(next.ids, sampling_, print); });
    const std::string rest = decoder.Flush();
    PrintText(rest + "\n");
    if (!ending) static_cast<void>(session_.Rewind(begin));
    if (!ending || session_.size() <= begin) return ending;
    turns_.push_back(begin);
    chat_.Add(Role::kAssistant, answer + rest);
    return ending;
  }

  // Makes the answer go on with the text of `prompt`, with a space before its first word if it needs one.
  static void Prime(StreamDecoder& decoder, const std::vector<int32_t>& prompt) {
    for (const int32_t id : prompt) static_cast<void>(decoder.Push(id));
  }

  // Forgets the oldest turns until the tokens of `next` and an answer to them fit, or these and a quarter of the
  // context. The first turn goes last: it holds the system message, and models attend much to the very beginning.
  Result<void> MakeRoom(NextTurn& next) {
    const size_t most = session_.max_tokens(), prompt_tokens = next.ids.size();
    const size_t answer = std::min<size_t>(sampling_.max_tokens, most / 4);
    if (session_.tokens_left() >= prompt_tokens + answer) return {};
    SKALD_ASSIGN(const size_t alone, TokensOfMessageAlone());
    if (alone > most) {
      return Fail(ErrorCode::kOutOfRange, "the message has " + std::to_string(alone) + " tokens, but at most " +
                                              std::to_string(most) + " fit (see --max-context)");
    }
    size_t forgotten = 0;
    while (turns_.size() > 1 && session_.tokens_left() < prompt_tokens + answer) {
      SKALD_TRY(ForgetTurn(1));
      ++forgotten;
    }
    // The last turn may leave no room for the message, or hardly any for its answer.
    const size_t least = alone + answer / 2 <= most ? answer / 2 : 0;
    if (turns_.size() == 1 && session_.tokens_left() < prompt_tokens + least) {
      SKALD_TRY(ForgetTurn(0));
      Note("the context is full: all turns are forgotten");
    } else if (forgotten > 0) {
      Note("the context is full: of the turns after the first one, the oldest " + std::to_string(forgotten) +
           (forgotten == 1 ? " is" : " are") + " forgotten");
    } else {
      return {};
    }
    SKALD_ASSIGN(auto again, EncodeNextTurn(tokenizer_, template_, chat_, session_.ids()));
    next = std::move(again);
    return {};
  }

  Result<void> ForgetTurn(size_t i) {
    const uint32_t begin = turns_[i], end = EndOfTurn(i);
    if (i == 0) {
      SKALD_TRY(session_.Rewind(0));
    } else if (begin < end) {
      SKALD_TRY(session_.Forget(begin, end));
    }
    EraseMessages(i, /*only=*/true);
    turns_.erase(turns_.begin() + static_cast<std::ptrdiff_t>(i));
    for (size_t later = i; later < turns_.size(); ++later) turns_[later] -= end - begin;
    return {};
  }

  // The tokens of a conversation of the last message and the system's alone.
  Result<size_t> TokensOfMessageAlone() const {
    Chat alone = chat_;
    nlohmann::ordered_json& kept = TreeOf(alone.messages);
    kept.erase(kept.begin() + static_cast<std::ptrdiff_t>(SystemMessages()), kept.end() - 1);
    SKALD_ASSIGN(const auto ids, EncodeChat(tokenizer_, template_, alone));
    return ids.size();
  }

  // Where turn `i`, or a conversation without turns, ends.
  uint32_t EndOfTurn(size_t i) const { return i + 1 < turns_.size() ? turns_[i + 1] : session_.size(); }

  const Options& options_;
  const Tokenizer& tokenizer_;
  Session& session_;
  ChatTemplate template_;
  Chat chat_;
  Sampling sampling_;
  std::vector<uint32_t> turns_;  // where each one begins
  uint64_t questions_ = 0;
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

// Lists the files beside the chat's own that have its extension.
Result<void> ListSessions(const Conversation& chat) {
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
Result<void> RunCommand(const std::string& line, Conversation& chat) {
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
Result<void> Talk(Conversation& chat, LineReader& input) {
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
bool SaveWhereTheUserSays(Conversation& chat, LineReader& input) {
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
Result<void> SaveAtTheEnd(Conversation& chat, LineReader& input, bool terminal) {
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
  SKALD_ASSIGN(auto session, StartSession(options, info, *model));
  // A model that only continues a text never comes to the end of an answer.
  const size_t longest = text.chat_template.parts().only_continues ? kTextTokens : session.max_tokens();
  Conversation chat(options, text.tokenizer, session, text.chat_template,
                    {text.sampler, text.stop_ids, options.max_tokens.value_or(longest)});
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
  PrintClosingLine(info, session, chat.seed(), "");
  SKALD_TRY(SaveAtTheEnd(chat, *input, terminal));
  if (!talked) return Failure(talked.error());
  return StopSignal() == 0 ? 0 : ExitCodeOfSignal();
}

}  // namespace skald::program
