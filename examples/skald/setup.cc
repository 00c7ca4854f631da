// SPDX-License-Identifier: Apache-2.0

#include "setup.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>
#include <system_error>
#include <utility>

#include "progress_bar.h"

namespace skald::program {

Result<Tokenizer> LoadTokenizer(const Options& options, const ModelInfo& info) {
  const auto path = options.tokenizer.value_or(options.model / "tokenizer.model");
  auto tokenizer = Tokenizer::Load(path);
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
    std::ifstream file(options.model / name, std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    for (const auto& [mark, chat_template] : kMarks) {
      if (text.find(mark) != std::string::npos) return chat_template;
    }
  }
  return ChatTemplate::kNone;
}

Result<std::unique_ptr<LanguageModel>> LoadWeights(const Options& options, const ModelInfo& info) {
  const ProgressBar bar("loading " + std::string(info.name), options.show_progress);
  const LoadOptions load = {.dtype = options.weight_type,
                            .threads = options.runtime.threads,
                            .progress = [&bar](const LoadProgress& progress) {
                              bar.Draw(progress.bytes_done, progress.bytes_total);
                            }};
  return LoadLanguageModel(info, options.model, load);
}

Result<Session> StartSession(const Options& options, const ModelInfo& info, const LanguageModel& model) {
  RuntimeConfig runtime = options.runtime;
  if (info.trained_context > 0) runtime.max_tokens = std::min(runtime.max_tokens, info.trained_context);
  runtime.max_tokens = options.max_context.value_or(runtime.max_tokens);
  return Session::Create(model, runtime);
}

void PrintClosingLine(const Options& options, const ModelInfo& info, const Session& session,
                      std::string_view ending) {
  const Statistics& sums = session.statistics();
  const auto rate = [](size_t count, std::chrono::duration<double> time) {
    return count == 0 ? 0.0 : static_cast<double>(count) / time.count();
  };
  std::fprintf(
      stderr,
      "[%s: prompt %zu tokens at %.1f/s, generated %zu tokens at %.1f/s, context %u of %u, seed %" PRIu64
      "%s%s]\n",
      std::string(info.name).c_str(), sums.prompt_tokens, rate(sums.prompt_tokens, sums.prompt_time),
      sums.generated_tokens, rate(sums.decode_steps, sums.decode_time), session.size(), session.max_tokens(),
      options.sampler.random.seed, ending.empty() ? "" : "; ", std::string(ending).c_str());
}

}  // namespace skald::program
