// SPDX-License-Identifier: Apache-2.0
//
// How a model reads and writes text, as its files say: tokenizer, chat template, and what its publisher advises for
// sampling. Safe for concurrent calls.

#ifndef SKALD_OPEN_MODEL_TEXT_H_
#define SKALD_OPEN_MODEL_TEXT_H_

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "skald/base/result.h"
#include "skald/open/generation_config.h"
#include "skald/open/model_info.h"
#include "skald/open/tools/output_format.h"
#include "skald/sampling/settings.h"
#include "skald/templates/chat_template.h"
#include "skald/tokenizers/tokenizer_value.h"
#include "skald/weights/opened/opened_model.h"

namespace skald {

/// Returns the tokenizer that goes with a model, compared with the model's vocabulary. Errors: those of Tokenizer::Load
/// and CheckVocabulary.
Result<Tokenizer> OpenTokenizer(const ModelInfo& info);

/// The same of a tokenizer elsewhere, in a file or a folder.
Result<Tokenizer> OpenTokenizer(const ModelInfo& info, const std::filesystem::path& path);

/// Returns the chat template that the model publishes, else the built-in one that its tokenizer's pieces tell of.
/// Errors, which name the path: those of ChatTemplateFromFiles.
Result<ChatTemplate> OpenChatTemplate(const OpenedModel& model, const Tokenizer& tokenizer);

/// Returns what generation_config.json says; nothing if there is no such file. Errors, which name the path: those of
/// ParseGenerationConfig.
Result<GenerationConfig> OpenGenerationConfig(const OpenedModel& model);

/// Returns the settings that the advice means. Advice of any kind counts as whole: where it leaves a setting open, that
/// is as in the publisher's own library, which draws from all tokens. Without advice these are Skald's defaults.
SamplerSettings AdvisedSettings(const GenerationConfig& advice);

/// A caller's choices in place of what the model's files say.
struct TextOptions {
  std::optional<std::filesystem::path> tokenizer = {};  ///< opened by Tokenizer::Load
  std::optional<std::string> chat_template = {};        ///< the name of a built-in one
  /// A file with a template in the language of those that models publish, in place of all of the model's.
  std::optional<std::filesystem::path> chat_template_file = {};
  std::optional<ToolForm> tool_form = {};  ///< of calls, in place of that which the template tells
};

/// All that a model's files say of text. Immutable in use: a chat needs no other state of it.
struct ModelText {
  Tokenizer tokenizer;            ///< which fits the model's vocabulary
  ChatTemplate chat_template;     ///< messages to text
  std::vector<int32_t> stop_ids;  ///< each ends the model's turn; see StopIds
  SamplerSettings sampler;        ///< as the publisher advises; see AdvisedSettings
  OutputFormat output;            ///< of thoughts and tool calls, as the template teaches them
};

/// Returns the template in a file, with the special tokens of `published`. Errors, which name the path: kNotFound, and
/// those of ChatTemplate::Make.
Result<ChatTemplate> ChatTemplateInFile(const std::filesystem::path& path, const ChatTemplate& published);

/// Opens all of it. Errors: those of the functions above, of StopIds, and of BuiltInTemplate.
Result<ModelText> OpenModelText(const ModelInfo& info, const TextOptions& options = {});

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/open/detail/model_text.h"
#endif

#endif  // SKALD_OPEN_MODEL_TEXT_H_
