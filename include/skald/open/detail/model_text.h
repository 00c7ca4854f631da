// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/open/model_text.h.

#ifndef SKALD_OPEN_DETAIL_MODEL_TEXT_H_
#define SKALD_OPEN_DETAIL_MODEL_TEXT_H_

#include "skald/open/model_text.h"

#include <cstddef>
#include <string_view>
#include <utility>

#include "skald/base/inline.h"
#include "skald/base/no_throw.h"
#include "skald/open/chat.h"
#include "skald/open/model_file.h"
#include "skald/templates/built_in.h"
#include "skald/templates/published.h"
#include "skald/tokenizers/tokenizer.h"

namespace skald {

SKALD_INLINE Result<Tokenizer> OpenTokenizer(const ModelInfo& info) {
  const std::filesystem::path& path = info.model.path();
  return NoThrow(path.native(), [&]() -> Result<Tokenizer> {
    SKALD_ASSIGN(auto tokenizer, Tokenizer::Load(info.model));
    const auto fits = CheckVocabulary(tokenizer, static_cast<size_t>(info.spec.vocab_size));
    if (!fits) return Annotate(path.string(), fits);
    return tokenizer;
  });
}

SKALD_INLINE Result<ChatTemplate> OpenChatTemplate(const OpenedModel& model, const Tokenizer& tokenizer) {
  return NoThrow(model.path().native(), [&]() -> Result<ChatTemplate> {
    auto published = ChatTemplateFromFiles([&](std::string_view name) { return ReadModelFile(model, name); });
    if (!published) return Annotate(model.path().string(), published);
    if (*published) return **std::move(published);
    return BuiltInTemplate(GuessBuiltInTemplate(tokenizer));
  });
}

SKALD_INLINE Result<GenerationConfig> OpenGenerationConfig(const OpenedModel& model) {
  return NoThrow(model.path().native(), [&]() -> Result<GenerationConfig> {
    const auto text = ReadModelFile(model, "generation_config.json");
    if (!text && text.error().code == ErrorCode::kNotFound) return GenerationConfig{};
    auto advice = text ? ParseGenerationConfig(*text) : Failure(text.error());
    if (!advice) return Annotate(model.path().string(), advice);
    return advice;
  });
}

SKALD_INLINE SamplerSettings AdvisedSettings(const GenerationConfig& advice) {
  SamplerSettings settings = {.temperature = 0.8f, .top_k = 40, .top_p = 0.95f};
  if (advice.temperature || advice.top_k || advice.top_p || advice.min_p) settings = {};
  settings.temperature = advice.do_sample == false ? 0.0f : advice.temperature.value_or(settings.temperature);
  if (advice.top_k) settings.top_k = static_cast<size_t>(*advice.top_k);
  settings.top_p = advice.top_p.value_or(settings.top_p);
  settings.min_p = advice.min_p.value_or(settings.min_p);
  settings.repetition_penalty = advice.repetition_penalty.value_or(settings.repetition_penalty);
  return settings;
}

}  // namespace skald

#endif  // SKALD_OPEN_DETAIL_MODEL_TEXT_H_
