// SPDX-License-Identifier: Apache-2.0

#include "model_files/model_text.h"

#include "skald/open/model_text.h"
#include "skald/templates/built_in.h"
#include "skald/tokenizers/tokenizer.h"
#include "skald/weights/opened/opened_model.h"

namespace skald::program {

namespace {

Error WithAdvice(Error error) {
  if (error.code == ErrorCode::kNotFound) {
    error.message += "; 'skald generate --token-ids' runs the model without a tokenizer";
  }
  return error;
}

}  // namespace

Result<Tokenizer> LoadTokenizer(const Options& options, const ModelInfo& info) {
  auto tokenizer = options.tokenizer ? OpenTokenizer(info, *options.tokenizer) : OpenTokenizer(info);
  if (!tokenizer) return Failure(WithAdvice(tokenizer.error()));
  return tokenizer;
}

Result<ModelText> OpenText(const Options& options, const ModelInfo& info) {
  skald::TextOptions choices = {.tokenizer = options.tokenizer,
                                .chat_template = options.chat_template,
                                .chat_template_file = options.chat_template_file};
  if (options.tool_format) {
    SKALD_ASSIGN(choices.tool_form, ToolFormNamed(*options.tool_format));
  }
  auto text = OpenModelText(info, choices);
  if (!text) return Failure(WithAdvice(text.error()));
  SKALD_ASSIGN(text->sampler, ChooseSampler(options, info, text->sampler));
  return text;
}

Result<Tokenizer> LoadTokenizerAlone(const Options& options) {
  if (options.tokenizer) return Tokenizer::Load(*options.tokenizer);
  SKALD_ASSIGN(const auto model, OpenedModel::Open(options.model));
  return Tokenizer::Load(model);
}

Result<ChatTemplate> ChooseMessageTemplate(const Options& options) {
  return BuiltInTemplate(options.chat_template.value_or("none"));
}

Result<SamplerSettings> ChooseSampler(const Options& options, const ModelInfo& info, const SamplerSettings& advised) {
  SamplerSettings sampler = advised;
  sampler.random.seed = options.seed;
  for (const SamplerChoice& choose : options.sampling) choose(sampler);
  if (auto valid = ValidateSettings(sampler, static_cast<size_t>(info.spec.vocab_size)); !valid) {
    return Failure(valid.error());
  }
  return sampler;
}

}  // namespace skald::program
