// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/open/model_text.h.

#ifndef SKALD_OPEN_DETAIL_MODEL_TEXT_H_
#define SKALD_OPEN_DETAIL_MODEL_TEXT_H_

#include "skald/open/model_text.h"

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

#include "skald/base/files/path_text.h"
#include "skald/base/files/small_file.h"
#include "skald/base/inline.h"
#include "skald/base/no_throw.h"
#include "skald/open/chat.h"
#include "skald/open/detail/own_metadata.h"
#include "skald/open/model_file.h"
#include "skald/templates/built_in.h"
#include "skald/templates/published.h"
#include "skald/tokenizers/tokenizer.h"

namespace skald {

namespace internal {

// Returns the tokenizer if it fits the model. `path` is where it came from.
inline Result<Tokenizer> FittingTokenizer(Result<Tokenizer> tokenizer, const ModelInfo& info,
                                          const std::filesystem::path& path) {
  if (!tokenizer) return tokenizer;
  const auto fits = CheckVocabulary(*tokenizer, static_cast<size_t>(info.spec.vocab_size));
  if (!fits) return Annotate(PathText(path), fits);
  return tokenizer;
}

}  // namespace internal

SKALD_INLINE Result<Tokenizer> OpenTokenizer(const ModelInfo& info) {
  const std::filesystem::path& path = info.model.path();
  return NoThrow(PathText(path), [&] { return internal::FittingTokenizer(Tokenizer::Load(info.model), info, path); });
}

SKALD_INLINE Result<Tokenizer> OpenTokenizer(const ModelInfo& info, const std::filesystem::path& path) {
  return NoThrow(PathText(path), [&] { return internal::FittingTokenizer(Tokenizer::Load(path), info, path); });
}

SKALD_INLINE Result<ChatTemplate> OpenChatTemplate(const OpenedModel& model, const Tokenizer& tokenizer) {
  return NoThrow(PathText(model.path()), [&]() -> Result<ChatTemplate> {
    auto published = ChatTemplateFromFiles([&](std::string_view name) { return ReadModelFile(model, name); });
    if (!published) return Annotate(PathText(model.path()), published);
    if (*published) return **std::move(published);
    return BuiltInTemplate(GuessBuiltInTemplate(tokenizer));
  });
}

SKALD_INLINE Result<GenerationConfig> OpenGenerationConfig(const OpenedModel& model) {
  return NoThrow(PathText(model.path()), [&]() -> Result<GenerationConfig> {
    const auto text = ReadModelFile(model, internal::kAdviceFile);
    if (!text && text.error().code == ErrorCode::kNotFound) return GenerationConfig{};
    auto advice = text ? ParseGenerationConfig(*text) : Failure(text.error());
    if (!advice) return Annotate(PathText(model.path()), advice);
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

SKALD_INLINE Result<ChatTemplate> ChatTemplateInFile(const std::filesystem::path& path, const ChatTemplate& published) {
  return NoThrow(PathText(path), [&]() -> Result<ChatTemplate> {
    constexpr uint64_t kMostBytes = uint64_t{4} << 20;
    SKALD_ASSIGN(const auto source, ReadSmallFile(path, kMostBytes));
    ChatTemplateParts parts;
    parts.name = PathText(path);
    parts.special_tokens = published.parts().special_tokens;
    parts.adds_bos = published.parts().adds_bos;
    auto chat_template = ChatTemplate::Make(source, std::move(parts));
    if (!chat_template) return Annotate(PathText(path), chat_template);
    return chat_template;
  });
}

namespace internal {

// The source that tells of tools: of several programs, the one for chats with tools.
inline std::string_view ToolSourceOf(const ChatTemplate& chat_template) {
  for (const auto& [name, source] : chat_template.parts().named_sources) {
    if (name == "tool_use") return source;
  }
  return chat_template.source();
}

inline Result<ChatTemplate> ChosenTemplate(const ModelInfo& info, const Tokenizer& tokenizer,
                                           const TextOptions& options) {
  if (options.chat_template) return BuiltInTemplate(*options.chat_template);
  SKALD_ASSIGN(auto published, OpenChatTemplate(info.model, tokenizer));
  if (options.chat_template_file) return ChatTemplateInFile(*options.chat_template_file, published);
  return published;
}

}  // namespace internal

SKALD_INLINE Result<ModelText> OpenModelText(const ModelInfo& info, const TextOptions& options) {
  return NoThrow(PathText(info.model.path()), [&]() -> Result<ModelText> {
    SKALD_ASSIGN(auto tokenizer, options.tokenizer ? OpenTokenizer(info, *options.tokenizer) : OpenTokenizer(info));
    SKALD_ASSIGN(auto chat_template, internal::ChosenTemplate(info, tokenizer, options));
    SKALD_ASSIGN(const auto advice, OpenGenerationConfig(info.model));
    SKALD_ASSIGN(auto stop_ids, StopIds(tokenizer, chat_template, advice));
    auto output = OutputFormatOf(internal::ToolSourceOf(chat_template));
    output.tools = options.tool_form.value_or(output.tools);
    return ModelText{std::move(tokenizer), std::move(chat_template), std::move(stop_ids), AdvisedSettings(advice),
                     std::move(output)};
  });
}

}  // namespace skald

#endif  // SKALD_OPEN_DETAIL_MODEL_TEXT_H_
