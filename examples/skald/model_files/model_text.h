// SPDX-License-Identifier: Apache-2.0
//
// What a model's files say of text: its tokenizer, its chat template, and how its publisher would write with it.

#ifndef SKALD_EXAMPLES_SKALD_MODEL_FILES_MODEL_TEXT_H_
#define SKALD_EXAMPLES_SKALD_MODEL_FILES_MODEL_TEXT_H_

#include <cstdint>
#include <span>
#include <vector>

#include "command_line/options.h"
#include "model_files/identify_model.h"
#include "skald/base/result.h"
#include "skald/open/chat.h"
#include "skald/open/generation_config.h"
#include "skald/sampling/settings.h"
#include "skald/tokenizers/tokenizer_value.h"

namespace skald::program {

// Loads the tokenizer that the user names, or that of the model, and checks that it fits the model.
Result<Tokenizer> LoadTokenizer(const Options& options, const ModelInfo& info);

// The same where a tokenizer is all that is wanted: nothing else of the model is looked at.
Result<Tokenizer> LoadTokenizerAlone(const Options& options);

// Returns the chat template that the user names, else the one that the model publishes, else the built-in one that the
// pieces of the tokenizer tell of, or "none". Error: the model publishes one that is none.
Result<ChatTemplate> ChooseChatTemplate(const Options& options, const ModelInfo& info, const Tokenizer& tokenizer);

// Returns the template for a text that is one message: the one that the user names, else "none".
Result<ChatTemplate> ChooseMessageTemplate(const Options& options);

// EncodeChat, EncodeNextTurn and StopIds, compiled in model_text.cc alone, which compiles the language of templates.
Result<std::vector<int32_t>> IdsOfChat(const Tokenizer& tokenizer, const ChatTemplate& chat_template, const Chat& chat);
Result<NextTurn> IdsOfNextTurn(const Tokenizer& tokenizer, const ChatTemplate& chat_template, const Chat& chat,
                               std::span<const int32_t> cached);
Result<std::vector<int32_t>> IdsThatStop(const Tokenizer& tokenizer, const ChatTemplate& chat_template,
                                         const GenerationConfig& advice);

// What a chat's templates may ask for: the time.
RenderOptions RenderOptionsNow();

// Returns what the publisher advises; nothing where there is no generation_config.json.
Result<GenerationConfig> ReadGenerationConfig(const ModelInfo& info);

// Returns how tokens are drawn: as the user chose, else as the publisher advises, else tamely. Errors: settings that
// cannot be, or that do not fit the model.
Result<SamplerSettings> ChooseSampler(const Options& options, const ModelInfo& info, const GenerationConfig& advice);

}  // namespace skald::program

#endif  // SKALD_EXAMPLES_SKALD_MODEL_FILES_MODEL_TEXT_H_
