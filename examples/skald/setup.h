// SPDX-License-Identifier: Apache-2.0
//
// Everything that a command needs before the first token, made from the options; and the line that closes a
// run.

#ifndef SKALD_EXAMPLES_SKALD_SETUP_H_
#define SKALD_EXAMPLES_SKALD_SETUP_H_

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "conversation/language_model.h"
#include "conversation/session.h"
#include "options.h"
#include "skald/base/result.h"
#include "skald/text/chat.h"
#include "skald/text/tokenizer.h"
#include "skald/weights/load_options.h"
#include "terminal/progress_bar.h"

namespace skald::program {

// Finds out which model options.model holds, and checks that the sampler settings fit it.
Result<ModelInfo> FindModel(const Options& options);

// Returns the chat template that the user names, else the one that the model publishes, else the built-in one that the
// pieces of the tokenizer tell of, or "none". Error: the model publishes one that is none.
Result<ChatTemplate> ChooseChatTemplate(const Options& options, const ModelInfo& info, const Tokenizer& tokenizer);

// Whether it is the built-in template for models that only continue a text.
bool IsNoTemplate(const ChatTemplate& chat_template);

// Returns the ids that end the model's turn. Error: the model's generation_config.json is none.
Result<std::vector<int32_t>> FindStopIds(const ModelInfo& info, const Tokenizer& tokenizer,
                                         const ChatTemplate& chat_template);

// What a chat's templates may ask for: the time.
RenderOptions RenderOptionsNow();

// What the options say of loading, with `bar`, which must outlive it, to show progress.
LoadOptions LoadOptionsOf(const Options& options, const ModelInfo& info, const ProgressBar& bar);

// Loads the weights, showing progress, and returns a model ready to run.
Result<std::unique_ptr<LanguageModel>> LoadWeights(const Options& options, const ModelInfo& info);

// Returns a new conversation. `model` must outlive it.
Result<Session> StartSession(const Options& options, const ModelInfo& info, const LanguageModel& model);

// Reports speed, use of the context and seed on stderr. `ending` says why the text ended.
void PrintClosingLine(const ModelInfo& info, const Session& session, uint64_t seed, std::string_view ending);

}  // namespace skald::program

#endif  // SKALD_EXAMPLES_SKALD_SETUP_H_
