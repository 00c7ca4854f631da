// SPDX-License-Identifier: Apache-2.0
//
// The tokenizer, the chat template and the sampling that the options choose for a model.

#ifndef SKALD_EXAMPLES_SKALD_MODEL_FILES_MODEL_TEXT_H_
#define SKALD_EXAMPLES_SKALD_MODEL_FILES_MODEL_TEXT_H_

#include "command_line/options.h"
#include "model_files/known_models.h"
#include "skald/base/result.h"
#include "skald/open/chat.h"
#include "skald/open/model_text.h"
#include "skald/sampling/settings.h"
#include "skald/tokenizers/tokenizer_value.h"

namespace skald::program {

// Loads the tokenizer that the user names, or that of the model, and checks that it fits the model.
Result<Tokenizer> LoadTokenizer(const Options& options, const ModelInfo& info);

// The same where a tokenizer is all that is wanted: nothing else of the model is looked at.
Result<Tokenizer> LoadTokenizerAlone(const Options& options);

// Opens what the model says of text, with the tokenizer, the chat template and the sampling that the user chose.
// Errors: those of OpenModelText and ChooseSampler.
Result<ModelText> OpenText(const Options& options, const ModelInfo& info);

// Returns the template for a text that is one message: the one that the user names, else "none".
Result<ChatTemplate> ChooseMessageTemplate(const Options& options);

// Returns how tokens are drawn: as `advised`, with what the user chose. Errors: settings that cannot be, or that do not
// fit the model.
Result<SamplerSettings> ChooseSampler(const Options& options, const ModelInfo& info, const SamplerSettings& advised);

}  // namespace skald::program

#endif  // SKALD_EXAMPLES_SKALD_MODEL_FILES_MODEL_TEXT_H_
