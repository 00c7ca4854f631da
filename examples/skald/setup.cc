// SPDX-License-Identifier: Apache-2.0

#include "setup.h"

#include <algorithm>
#include <chrono>
#include <iomanip>
#include <iostream>
#include <sstream>
#include <string>
#include <system_error>
#include <utility>

#include "saved_state.h"

namespace skald::program {
namespace {

std::string Rate(size_t count, std::chrono::duration<double> time) {
  if (count == 0) return "";
  std::ostringstream text;
  text << " at " << std::fixed << std::setprecision(1) << static_cast<double>(count) / time.count() << "/s";
  return text.str();
}

Result<Tokenizer> ReadTokenizer(const std::filesystem::path& model) {
  const auto bytes = ReadModelFile(model, "tokenizer.model");
  if (!bytes) return Failure(bytes.error());
  auto tokenizer = Tokenizer::Parse(*bytes);
  if (!tokenizer) return Annotate((model / "tokenizer.model").string(), tokenizer);
  return tokenizer;
}

}  // namespace

Result<ModelInfo> FindModel(const Options& options) {
  const auto info = IdentifyModel(options.model);
  if (!info) return info;
  if (auto valid = ValidateSettings(options.sampler, info->vocab_size); !valid) return Failure(valid.error());
  return info;
}

Result<Tokenizer> LoadTokenizer(const Options& options, const ModelInfo& info) {
  const auto path = options.tokenizer.value_or(options.model / "tokenizer.model");
  auto tokenizer = options.tokenizer ? Tokenizer::Load(path) : ReadTokenizer(options.model);
  std::error_code ignored;
  if (!tokenizer && !options.tokenizer &&
      std::filesystem::exists(options.model / "tokenizer.json", ignored)) {
    return Fail(tokenizer.error().code,
                options.model.string() +
                    " has no tokenizer.model: only SentencePiece tokenizers can be read, not " +
                    "tokenizer.json; 'skald generate --token-ids' runs the model without a tokenizer");
  }
  if (!tokenizer) return tokenizer;
  if (auto fits = CheckVocabulary(*tokenizer, info.vocab_size); !fits) return Annotate(path.string(), fits);
  return tokenizer;
}

ChatTemplate ChooseChatTemplate(const Options& options, const Tokenizer& tokenizer) {
  if (options.chat_template) return *options.chat_template;
  const ChatTemplate guess = GuessChatTemplate(tokenizer);
  if (guess != ChatTemplate::kNone) return guess;
  // Models with the pieces of Llama 2 publish their template as a program in the Jinja language. A mark that
  // stands in it, and in no other template, is enough to know it by.
  constexpr std::pair<std::string_view, ChatTemplate> kMarks[] = {{"<|assistant|>", ChatTemplate::kZephyr},
                                                                  {"<<SYS>>", ChatTemplate::kLlama2},
                                                                  {"[/INST]", ChatTemplate::kMistral}};
  for (const char* name : {"chat_template.jinja", "tokenizer_config.json"}) {
    const std::string text = ReadModelFile(options.model, name).value_or("");
    for (const auto& [mark, chat_template] : kMarks) {
      if (text.find(mark) != std::string::npos) return chat_template;
    }
  }
  return ChatTemplate::kNone;
}

LoadOptions LoadOptionsOf(const Options& options, const ModelInfo& info, const ProgressBar& bar) {
  return {.dtype = options.weight_type.value_or(info.weight_type),
          .threads = options.runtime.threads,
          .progress = [&bar](const LoadProgress& progress) { bar.Draw(progress.bytes_done, progress.bytes_total); },
          .cache_folder = options.packed_cache};
}

Result<std::unique_ptr<LanguageModel>> LoadWeights(const Options& options, const ModelInfo& info) {
  const ProgressBar bar("loading " + std::string(info.name), options.show_progress);
  return LoadLanguageModel(info, options.model, LoadOptionsOf(options, info, bar));
}

Result<Session> StartSession(const Options& options, const ModelInfo& info, const LanguageModel& model) {
  RuntimeConfig runtime = options.runtime;
  if (info.trained_context > 0) runtime.max_tokens = std::min(runtime.max_tokens, info.trained_context);
  runtime.max_tokens = options.max_context.value_or(runtime.max_tokens);
  // Models that forget can then go back a little without computing much again.
  runtime.checkpoint_every = 256;
  auto session = Session::Create(model, runtime);
  if (!session || !options.prompt_cache) return session;
  auto memory = OpenPromptMemory(options, session->pool());
  if (!memory) return Failure(memory.error());
  session->Remember(std::move(*memory));
  return session;
}

void PrintClosingLine(const ModelInfo& info, const Session& session, uint64_t seed, std::string_view ending) {
  const Statistics& sums = session.statistics();
  const std::string prompt_rate = Rate(sums.prompt_tokens, sums.prompt_time);
  const std::string decode_rate = Rate(sums.decode_steps, sums.decode_time);
  const std::string recalled =
      sums.recalled_tokens == 0 ? "" : " (" + std::to_string(sums.recalled_tokens) + " known before)";
  std::cerr << '[' << info.name << ": prompt " << sums.prompt_tokens << " tokens" << recalled << prompt_rate
            << ", generated " << sums.generated_tokens << " tokens" << decode_rate << ", context "
            << std::min(session.size(), session.max_tokens()) << " of " << session.max_tokens() << ", seed "
            << seed << (ending.empty() ? "" : "; ") << ending << "]\n";
}

}  // namespace skald::program
