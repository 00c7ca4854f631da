// SPDX-License-Identifier: Apache-2.0

#include "model_files/model_text.h"

#include <ctime>
#include <filesystem>

#include "model_files/open_tokenizer.h"
#include "skald/templates/published.h"

namespace skald::program {

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
  SKALD_ASSIGN(const auto files, OpenModelFiles(options.model));
  return files.load_tokenizer();
}

Result<ChatTemplate> ChooseChatTemplate(const Options& options, const ModelInfo& info, const Tokenizer& tokenizer) {
  if (options.chat_template) return BuiltInTemplate(*options.chat_template);
  auto published = ChatTemplateFromFiles(info.read_file);
  if (!published) return Annotate(options.model.string(), published);
  if (*published) return **std::move(published);
  return BuiltInTemplate(GuessBuiltInTemplate(tokenizer));
}

Result<ChatTemplate> ChooseMessageTemplate(const Options& options) {
  return BuiltInTemplate(options.chat_template.value_or("none"));
}

Result<std::vector<int32_t>> IdsOfChat(const Tokenizer& tokenizer, const ChatTemplate& chat_template,
                                       const Chat& chat) {
  return EncodeChat(tokenizer, chat_template, chat);
}
Result<NextTurn> IdsOfNextTurn(const Tokenizer& tokenizer, const ChatTemplate& chat_template, const Chat& chat,
                               std::span<const int32_t> cached) {
  return EncodeNextTurn(tokenizer, chat_template, chat, cached);
}
Result<std::vector<int32_t>> IdsThatStop(const Tokenizer& tokenizer, const ChatTemplate& chat_template,
                                         const GenerationConfig& advice) {
  return StopIds(tokenizer, chat_template, advice);
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
