// SPDX-License-Identifier: Apache-2.0

#include "model_files/model_text.h"

#include <ctime>

#include "skald/open/model_text.h"
#include "skald/templates/built_in.h"
#include "skald/tokenizers/tokenizer.h"
#include "skald/weights/opened/opened_model.h"

namespace skald::program {

Result<Tokenizer> LoadTokenizer(const Options& options, const ModelInfo& info) {
  auto tokenizer = options.tokenizer ? Tokenizer::Load(*options.tokenizer) : OpenTokenizer(info);
  if (!tokenizer && tokenizer.error().code == ErrorCode::kNotFound) {
    return Fail(ErrorCode::kNotFound,
                tokenizer.error().message + "; 'skald generate --token-ids' runs the model without a tokenizer");
  }
  if (!tokenizer || !options.tokenizer) return tokenizer;
  const auto fits = CheckVocabulary(*tokenizer, static_cast<size_t>(info.spec.vocab_size));
  if (!fits) return Annotate(options.tokenizer->string(), fits);
  return tokenizer;
}

Result<Tokenizer> LoadTokenizerAlone(const Options& options) {
  if (options.tokenizer) return Tokenizer::Load(*options.tokenizer);
  SKALD_ASSIGN(const auto model, OpenedModel::Open(options.model));
  return Tokenizer::Load(model);
}

Result<ChatTemplate> ChooseChatTemplate(const Options& options, const ModelInfo& info, const Tokenizer& tokenizer) {
  if (options.chat_template) return BuiltInTemplate(*options.chat_template);
  return OpenChatTemplate(info.model, tokenizer);
}

Result<ChatTemplate> ChooseMessageTemplate(const Options& options) {
  return BuiltInTemplate(options.chat_template.value_or("none"));
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

Result<SamplerSettings> ChooseSampler(const Options& options, const ModelInfo& info, const GenerationConfig& advice) {
  SamplerSettings sampler = AdvisedSettings(advice);
  sampler.random.seed = options.seed;
  for (const SamplerChoice& choose : options.sampling) choose(sampler);
  if (auto valid = ValidateSettings(sampler, static_cast<size_t>(info.spec.vocab_size)); !valid) {
    return Failure(valid.error());
  }
  return sampler;
}

}  // namespace skald::program
