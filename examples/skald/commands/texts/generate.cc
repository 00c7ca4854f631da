// SPDX-License-Identifier: Apache-2.0

#include "commands/texts/generate.h"

#include <iostream>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "conversation/drafting.h"
#include "setup.h"
#include "skald/open/conversation.h"
#include "skald/open/token_session.h"
#include "skald/tokenizers/stream_decoder.h"
#include "terminal/interrupt.h"
#include "terminal/standard_streams.h"
#include "texts/run_texts.h"
#include "texts/text_task.h"

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
  SKALD_ASSIGN(auto task, OpenTextTask(options));
  if (options.texts.any()) return RunTexts(options, std::move(task));
  SKALD_ASSIGN(const auto loaded, LoadWithDrafter(options, task.info, RuntimeOf(options, task.info)));
  SKALD_ASSIGN(auto parts, SessionPartsOf(options, task.info, loaded, loaded.model->chosen_adapter()));
  SKALD_ASSIGN(auto session, TokenSession::Create(std::move(parts)));
  const std::vector<int32_t>& prompt = task.ids.front();
  if (const auto room = session.CheckRoom(prompt.size()); !room) return Failure(WithContextAdvice(room.error()));
  SKALD_TRY(CatchSignals());
  TokenPrinter printer(task.tokenizer ? &*task.tokenizer : nullptr);
  for (const int32_t id : prompt) task.echo ? void(printer.Print(id)) : printer.Skip(id);
  const auto end = session.Answer(prompt, {task.sampler, task.stop_ids, options.max_tokens.value_or(kTextTokens)},
                                  [&](int32_t id) { return printer.Print(id); });
  printer.Finish();
  if (!end) return Failure(end.error());
  PrintClosingLine(task.info, session, options.seed, Describe(*end));
  return *end == AnswerEnd::kStopped && std::cout.good() ? ExitCodeOfSignal() : 0;
}

}  // namespace skald::program
