// SPDX-License-Identifier: Apache-2.0

#include "chat.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <iostream>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "interrupt.h"
#include "setup.h"
#include "skald/text/chat_template.h"
#include "skald/text/stream_decoder.h"

namespace skald::program {
namespace {

constexpr const char* kCommands =
    "/undo takes back your last message and its answer, /clear forgets everything, /quit ends the chat";

void Note(const std::string& text) { std::cerr << '[' << text << "]\n"; }

// The conversation as turns: a message and its answer. A turn begins where the answer before it ended, so any
// turn but the first can be taken out and what is left is still a well-formed chat.
class Chat {
 public:
  Chat(const Options& options, const Tokenizer& tokenizer, Session& session)
      : options_(options),
        tokenizer_(tokenizer),
        session_(session),
        template_(ChooseChatTemplate(options, tokenizer)),
        sampling_{options.sampler, StopIds(tokenizer, template_), options.max_tokens} {}

  ChatTemplate chat_template() const { return template_; }

  // Prints the answer to `message` as it comes.
  Result<void> Answer(const std::string& message) {
    const auto prompt = Encode(message);
    if (!prompt) return Failure(prompt.error());
    if (auto room = MakeRoom(prompt->size()); !room) return room;
    const uint32_t begin = session_.size();
    sampling_.settings.random.stream = ++questions_;  // so that a message sent again gets another answer

    StreamDecoder decoder(tokenizer_);
    if (template_ == ChatTemplate::kNone) Prime(decoder, *prompt);
    const auto ending = session_.Generate(
        *prompt, sampling_, [&](int32_t id) { std::cout << decoder.Push(id).value_or("") << std::flush; });
    std::cout << decoder.Flush() << std::endl;
    if (!ending) {
      static_cast<void>(session_.Rewind(begin));  // the answer so far must not become part of a turn
      return Failure(ending.error());
    }
    if (session_.size() > begin) turns_.push_back(begin);
    if (*ending == Ending::kContextFull) Note("the context is full, which ended the answer");
    if (*ending == Ending::kInterrupted) Note("interrupted");
    return {};
  }

  Result<void> Undo() {
    if (turns_.empty()) return Fail(ErrorCode::kFailedPrecondition, "there is no message to take back");
    if (auto rewound = session_.Rewind(turns_.back()); !rewound) return rewound;
    turns_.pop_back();
    return {};
  }

  Result<void> Clear() {
    turns_.clear();
    return session_.Rewind(0);
  }

 private:
  Result<std::vector<int32_t>> Encode(const std::string& message) const {
    if (turns_.empty()) {
      std::vector<Message> messages = {{Role::kUser, message}};
      if (!options_.system.empty()) messages.insert(messages.begin(), {Role::kSystem, options_.system});
      return EncodeChat(tokenizer_, template_, messages);
    }
    // Without a template the message goes on with the text. Most tokenizers put a space before it by
    // themselves.
    const bool needs_space =
        template_ == ChatTemplate::kNone && tokenizer_.leading_space() == LeadingSpace::kKeep;
    return EncodeNextTurn(tokenizer_, template_, (needs_space ? " " : "") + message);
  }

  // Makes the answer go on with the text of `prompt`, with a space before its first word if it needs one.
  static void Prime(StreamDecoder& decoder, const std::vector<int32_t>& prompt) {
    for (const int32_t id : prompt) static_cast<void>(decoder.Push(id));
  }

  // Forgets the oldest turns until a prompt and an answer to it fit, or a prompt and a quarter of the
  // context. The first turn stays: it holds the system message, and models attend much to the very beginning.
  Result<void> MakeRoom(size_t prompt_tokens) {
    const size_t can_fit = session_.max_tokens() - std::min(session_.max_tokens(), EndOfTurn(0));
    if (prompt_tokens > can_fit) {
      return Fail(ErrorCode::kOutOfRange, "the message has " + std::to_string(prompt_tokens) +
                                              " tokens, but at most " + std::to_string(can_fit) +
                                              " fit (see --max-context and /clear)");
    }
    const size_t wanted = prompt_tokens + std::min<size_t>(sampling_.max_tokens, session_.max_tokens() / 4);
    size_t forgotten = 0;
    while (turns_.size() > 1 && session_.tokens_left() < wanted) {
      const uint32_t begin = turns_[1], end = EndOfTurn(1);
      if (auto erased = session_.Forget(begin, end); !erased) return Annotate("the context is full", erased);
      turns_.erase(turns_.begin() + 1);
      std::for_each(turns_.begin() + 1, turns_.end(), [&](uint32_t& turn) { turn -= end - begin; });
      ++forgotten;
    }
    if (forgotten > 0) {
      Note("the context is full: of the turns after the first one, the oldest " + std::to_string(forgotten) +
           (forgotten == 1 ? " is" : " are") + " forgotten");
    }
    return {};
  }

  // Where turn `i`, or a conversation without turns, ends.
  uint32_t EndOfTurn(size_t i) const { return i + 1 < turns_.size() ? turns_[i + 1] : session_.size(); }

  const Options& options_;
  const Tokenizer& tokenizer_;
  Session& session_;
  ChatTemplate template_;
  Sampling sampling_;
  std::vector<uint32_t> turns_;  // where each one begins
  uint64_t questions_ = 0;
};

// Returns the next line of input, or nothing at its end. Ctrl-C gives an empty one.
std::optional<std::string> ReadLine(bool terminal) {
  if (terminal) std::cerr << "> ";
  std::string line;
  if (std::getline(std::cin, line)) return line;
  if (TakeInterrupt()) {
    std::clearerr(stdin);
    std::cin.clear();
    std::cerr << '\n';
    Note("/quit or Ctrl-D ends the chat");
    return "";
  }
  if (terminal) std::cerr << '\n';
  return std::nullopt;
}

}  // namespace

Result<int> RunChat(const Options& options) {
  const auto info = FindModel(options);
  if (!info) return Failure(info.error());
  const auto tokenizer = LoadTokenizer(options, *info);
  if (!tokenizer) return Failure(tokenizer.error());
  const auto model = LoadWeights(options, *info);
  if (!model) return Failure(model.error());
  auto session = StartSession(options, *info, **model);
  if (!session) return Failure(session.error());

  Chat chat(options, *tokenizer, *session);
  const bool terminal = isatty(STDIN_FILENO) == 1;
  if (chat.chat_template() == ChatTemplate::kNone) {
    Note("no chat template: " + std::string(info->name) + " continues what you write; see --chat-template");
  }
  if (terminal) Note(kCommands);
  CatchInterrupts();
  while (const auto line = ReadLine(terminal)) {
    if (line->empty()) continue;
    if (*line == "/quit") break;
    Result<void> done;
    if (*line == "/undo") {
      done = chat.Undo();
    } else if (*line == "/clear") {
      done = chat.Clear();
    } else if (line->starts_with('/')) {
      done = Fail(ErrorCode::kInvalidArgument, "there is no command " + *line + "; " + kCommands);
    } else {
      done = chat.Answer(*line);
    }
    if (!done) Note(done.error().message);
  }
  PrintClosingLine(options, *info, *session, "");
  return 0;
}

}  // namespace skald::program
