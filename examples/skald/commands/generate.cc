// SPDX-License-Identifier: Apache-2.0

#include "commands/generate.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "model_files/model_text.h"
#include "setup.h"
#include "skald/open/chat.h"
#include "skald/tokenizers/stream_decoder.h"
#include "terminal/interrupt.h"
#include "terminal/standard_streams.h"

namespace skald::program {
namespace {

std::string_view Describe(Ending ending) {
  switch (ending) {
    case Ending::kStopToken:
      return "the model ended the text";
    case Ending::kMaxTokens:
      return "stopped by --max-tokens";
    case Ending::kContextFull:
      return "stopped because the context is full";
    case Ending::kInterrupted:
      return "interrupted";
    case Ending::kNotTaken:
      return "stopped because it cannot be written";
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
    // A model may have rows beyond the tokenizer's pieces, which stand for no text.
    if (decoder_) return decoder_->Push(id).value_or("");
    return (printed_ ? "," : "") + std::to_string(id);
  }

  std::optional<StreamDecoder> decoder_;
  bool printed_ = false;
};

}  // namespace

Result<int> RunGenerate(const Options& options) {
  const auto info = IdentifyModel(options.model);
  if (!info) return Failure(info.error());
  const auto advice = ReadGenerationConfig(*info);
  if (!advice) return Annotate(options.model.string(), advice);
  const auto sampler = ChooseSampler(options, *info, *advice);
  if (!sampler) return Failure(sampler.error());
  std::optional<Tokenizer> tokenizer;
  std::vector<int32_t> prompt = options.token_ids;
  std::vector<int32_t> stop_ids;
  const auto chat_template = ChooseMessageTemplate(options);
  if (!chat_template) return Failure(chat_template.error());
  if (prompt.empty()) {
    auto loaded = LoadTokenizer(options, *info);
    if (!loaded) return Failure(loaded.error());
    tokenizer = std::move(*loaded);
    const auto text = ReadPrompt(options);
    if (!text) return Failure(text.error());
    auto ids = IdsOfChat(*tokenizer, *chat_template, Chat(std::vector<Message>{{Role::kUser, *text}}));
    if (!ids) return Failure(ids.error());
    prompt = std::move(*ids);
    auto stops = IdsThatStop(*tokenizer, *chat_template, *advice);
    if (!stops) return Failure(stops.error());
    stop_ids = std::move(*stops);
  }

  const auto model = LoadWeights(options, *info);
  if (!model) return Failure(model.error());
  auto session = StartSession(options, *info, **model);
  if (!session) return Failure(session.error());
  if (auto room = session->CheckRoom(prompt.size()); !room) return Failure(room.error());
  if (auto caught = CatchSignals(); !caught) return Failure(caught.error());
  TokenPrinter printer(tokenizer ? &*tokenizer : nullptr);
  const bool echo = options.echo && chat_template->parts().only_continues;
  for (const int32_t id : prompt) echo ? void(printer.Print(id)) : printer.Skip(id);
  const auto ending = session->Generate(prompt, {*sampler, stop_ids, options.max_tokens},
                                        [&](int32_t id) { return printer.Print(id); });
  printer.Finish();
  if (!ending) return Failure(ending.error());
  PrintClosingLine(*info, *session, options.seed, Describe(*ending));
  return *ending == Ending::kInterrupted ? ExitCodeOfSignal() : 0;
}

}  // namespace skald::program
