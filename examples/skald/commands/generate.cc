// SPDX-License-Identifier: Apache-2.0

#include "commands/generate.h"

#include <iostream>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model_files/model_text.h"
#include "setup.h"
#include "skald/open/chat.h"
#include "skald/open/conversation.h"
#include "skald/open/token_session.h"
#include "skald/tokenizers/stream_decoder.h"
#include "terminal/interrupt.h"
#include "terminal/standard_streams.h"

namespace skald::program {
namespace {

std::string_view Describe(AnswerEnd end) {
  switch (end) {
    case AnswerEnd::kModel:
      return "the model ended the text";
    case AnswerEnd::kTokenLimit:
      return "stopped by --max-tokens";
    case AnswerEnd::kContextFull:
      return "stopped because the context is full";
    case AnswerEnd::kStopped:
      return std::cout.good() ? "interrupted" : "stopped because it cannot be written";
  }
  return "";
}

Result<std::string> ReadPrompt(const Options& options) {
  if (options.prompt) return *options.prompt;
  if (!options.prompt_file) {
    if (options.model == SKALD_DEMO_MODEL) return "In the beginning";
    return Fail(ErrorCode::kInvalidArgument, "there is no prompt: give --prompt, --prompt-file or --token-ids");
  }
  auto text = ReadFileOrStandardInput(*options.prompt_file, kMaxPromptBytes);
  // It ends the file's last line rather than being part of the text.
  if (text && text->ends_with('\n')) text->pop_back();
  return text;
}

// Prints tokens as they come: as text, or without a tokenizer as their ids.
class TokenPrinter {
 public:
  explicit TokenPrinter(const Tokenizer* tokenizer) {
    if (tokenizer != nullptr) decoder_.emplace(*tokenizer);
  }

  // Returns false if the output has failed.
  bool Print(int32_t id) {
    const bool is_written = PrintText(Next(id));
    printed_ = true;
    return is_written;
  }

  // Makes what follows go on from `id`, without printing it.
  void Skip(int32_t id) {
    if (decoder_) Next(id);
  }

  void Finish() {
    if (printed_) PrintText((decoder_ ? decoder_->Flush() : "") + "\n");
  }

 private:
  std::string Next(int32_t id) {
    // A model may have rows beyond the tokenizer's pieces, which have no text.
    if (decoder_) return decoder_->Push(id).value_or("");
    return (printed_ ? "," : "") + std::to_string(id);
  }

  std::optional<StreamDecoder> decoder_;
  bool printed_ = false;
};

}  // namespace

Result<int> RunGenerate(const Options& options) {
  SKALD_ASSIGN(const auto info, IdentifyModel(options.model));
  const auto advice = OpenGenerationConfig(info.model);
  if (!advice) return Failure(advice.error());
  SKALD_ASSIGN(const auto sampler, ChooseSampler(options, info, AdvisedSettings(*advice)));
  std::optional<Tokenizer> tokenizer;
  std::vector<int32_t> prompt = options.token_ids;
  std::vector<int32_t> stop_ids;
  SKALD_ASSIGN(const auto chat_template, ChooseMessageTemplate(options));
  if (prompt.empty()) {
    SKALD_ASSIGN(auto loaded, LoadTokenizer(options, info));
    tokenizer = std::move(loaded);
    SKALD_ASSIGN(const auto text, ReadPrompt(options));
    SKALD_ASSIGN(auto ids, EncodeChat(*tokenizer, chat_template, Chat(std::vector<Message>{{Role::kUser, text}})));
    prompt = std::move(ids);
    SKALD_ASSIGN(auto stops, StopIds(*tokenizer, chat_template, *advice));
    stop_ids = std::move(stops);
  }

  SKALD_ASSIGN(const auto model, LoadWeights(options, info));
  SKALD_ASSIGN(auto parts, SessionPartsOf(options, info, *model));
  SKALD_ASSIGN(auto session, TokenSession::Create(std::move(parts)));
  if (const auto room = session.CheckRoom(prompt.size()); !room) return Failure(WithContextAdvice(room.error()));
  SKALD_TRY(CatchSignals());
  TokenPrinter printer(tokenizer ? &*tokenizer : nullptr);
  const bool echo = options.echo && chat_template.parts().only_continues;
  for (const int32_t id : prompt) echo ? void(printer.Print(id)) : printer.Skip(id);
  const auto end = session.Answer(prompt, {sampler, stop_ids, options.max_tokens.value_or(kTextTokens)},
                                  [&](int32_t id) { return printer.Print(id); });
  printer.Finish();
  if (!end) return Failure(end.error());
  PrintClosingLine(info, session, options.seed, Describe(*end));
  return *end == AnswerEnd::kStopped && std::cout.good() ? ExitCodeOfSignal() : 0;
}

}  // namespace skald::program
