// SPDX-License-Identifier: Apache-2.0
//
// How a model reads and writes text, as its files say: tokenizer, chat template, and what its publisher advises for
// sampling. Safe for concurrent calls.

#ifndef SKALD_OPEN_MODEL_TEXT_H_
#define SKALD_OPEN_MODEL_TEXT_H_

#include "skald/base/result.h"
#include "skald/open/generation_config.h"
#include "skald/open/model_info.h"
#include "skald/sampling/settings.h"
#include "skald/templates/chat_template.h"
#include "skald/tokenizers/tokenizer_value.h"
#include "skald/weights/opened/opened_model.h"

namespace skald {

/// Returns the tokenizer that goes with a model, compared with the model's vocabulary. Errors: those of Tokenizer::Load
/// and CheckVocabulary.
Result<Tokenizer> OpenTokenizer(const ModelInfo& info);

/// Returns the chat template that the model publishes, else the built-in one that its tokenizer's pieces tell of.
/// Errors, which name the path: those of ChatTemplateFromFiles.
Result<ChatTemplate> OpenChatTemplate(const OpenedModel& model, const Tokenizer& tokenizer);

/// Returns what generation_config.json says; nothing if there is no such file. Errors, which name the path: those of
/// ParseGenerationConfig.
Result<GenerationConfig> OpenGenerationConfig(const OpenedModel& model);

/// Returns the settings that the advice means. Advice of any kind counts as whole: where it leaves a setting open, that
/// is as in the publisher's own library, which draws from all tokens. Without advice these are Skald's defaults.
SamplerSettings AdvisedSettings(const GenerationConfig& advice);

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/open/detail/model_text.h"
#endif

#endif  // SKALD_OPEN_MODEL_TEXT_H_
