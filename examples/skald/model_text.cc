// SPDX-License-Identifier: Apache-2.0

#include "model_text.h"

#include <ctime>
#include <filesystem>

#include "skald/text/gguf_tokenizer.h"
#include "skald/text/templates/published.h"
#include "skald/text/tokenizer.h"
#include "skald/weights/files/gguf.h"

namespace skald::program {
namespace {

// The tokenizer in a file of its own.
Result<Tokenizer> OpenTokenizer(const std::filesystem::path& path) {
  if (!IsGgufFile(path)) return Tokenizer::Load(path);
  const auto file = GgufFile::Open(path);
  if (!file) return Failure(file.error());
  auto tokenizer = TokenizerFromGguf(file->metadata());
  if (!tokenizer) return Annotate(path.string(), tokenizer);
  return tokenizer;
}

}  // namespace

Result<Tokenizer> LoadTokenizer(const Options& options, const ModelInfo& info) {
  auto tokenizer = options.tokenizer ? OpenTokenizer(*options.tokenizer) : info.load_tokenizer();
  if (!tokenizer && tokenizer.error().code == ErrorCode::kNotFound) {
    return Fail(ErrorCode::kNotFound,
                tokenizer.error().message + "; 'skald generate --token-ids' runs the model without a tokenizer");
  }
  if (!tokenizer) return tokenizer;
  const auto path = options.tokenizer.value_or(options.model);
  if (auto fits = CheckVocabulary(*tokenizer, static_cast<size_t>(info.spec.vocab_size)); !fits)
    return Annotate(path.string(), fits);
  return tokenizer;
}

Result<Tokenizer> LoadTokenizerAlone(const Options& options) {
  if (options.tokenizer) return OpenTokenizer(*options.tokenizer);
  const auto files = OpenModelFiles(options.model);
  if (!files) return Failure(files.error());
  return files->load_tokenizer();
}

Result<ChatTemplate> ChooseChatTemplate(const Options& options, const ModelInfo& info, const Tokenizer& tokenizer) {
  if (options.chat_template) return BuiltInTemplate(*options.chat_template);
  auto published = ChatTemplateFromFiles(info.read_file);
  if (!published) return Annotate(options.model.string(), published);
  if (*published) return **std::move(published);
  return BuiltInTemplate(GuessBuiltInTemplate(tokenizer));
}

RenderOptions RenderOptionsNow() {
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  RenderOptions options;
  if (localtime_r(&now, &local) != nullptr) {
    options.now =
        WallTime{local.tm_year + 1900, local.tm_mon + 1, local.tm_mday, local.tm_hour, local.tm_min, local.tm_sec};
  }
  return options;
}

Result<GenerationConfig> ReadGenerationConfig(const ModelInfo& info) {
  const auto text = info.read_file("generation_config.json");
  if (!text && text.error().code == ErrorCode::kNotFound) return GenerationConfig{};
  if (!text) return Failure(text.error());
  return ParseGenerationConfig(*text);
}

Result<SamplerSettings> ChooseSampler(const Options& options, const ModelInfo& info, const GenerationConfig& advice) {
  SamplerSettings sampler = {.temperature = 0.8f, .top_k = 40, .top_p = 0.95f};
  // Who advises anything advises all: the rest is as in the publisher's own library, which draws from all tokens.
  if (advice.temperature || advice.top_k || advice.top_p || advice.min_p) sampler = {};
  sampler.temperature = advice.do_sample == false ? 0.0f : advice.temperature.value_or(sampler.temperature);
  if (advice.top_k) sampler.top_k = static_cast<size_t>(*advice.top_k);
  sampler.top_p = advice.top_p.value_or(sampler.top_p);
  sampler.min_p = advice.min_p.value_or(sampler.min_p);
  sampler.repetition_penalty = advice.repetition_penalty.value_or(sampler.repetition_penalty);
  sampler.random.seed = options.seed;
  for (const SamplerChoice& choose : options.sampling) choose(sampler);
  if (auto valid = ValidateSettings(sampler, static_cast<size_t>(info.spec.vocab_size)); !valid) {
    return Failure(valid.error());
  }
  return sampler;
}

}  // namespace skald::program
