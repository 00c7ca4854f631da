// SPDX-License-Identifier: Apache-2.0
//
// Drafters for the program's model: a smaller model, or layers that read the model.

#ifndef SKALD_EXAMPLES_SKALD_CONVERSATION_DRAFTING_H_
#define SKALD_EXAMPLES_SKALD_CONVERSATION_DRAFTING_H_

#include <cstdint>
#include <memory>
#include <string>

#include "command_line/options.h"
#include "conversation/program_model.h"
#include "skald/base/result.h"
#include "skald/cache/layout/runtime_config.h"
#include "skald/engine/requests/drafter.h"

namespace skald::program {

// RuntimeConfig::rewind_tokens for caches of texts that are guessed.
inline constexpr uint32_t kDraftedTokens = 8;

// Returns a sentence about what guesses tokens, without its point; something does.
std::string DescribeDrafter(const DraftOptions& draft);

// Whether it is a smaller model, which is loaded without the larger one.
bool DraftsWithModel(const DraftOptions& draft);

// The options of the smaller model by itself.
Options OptionsOfDraft(const Options& options);

// Returns the smaller model that guesses for one of `info` with caches of `runtime`; null if it is none. Problems
// with it show before the larger one is loaded. Errors name the option.
Result<std::shared_ptr<Drafter>> LoadDraftModel(const Options& options, const ModelInfo& info,
                                                const RuntimeConfig& runtime);

// Returns the layers that read `model`, which the drafter keeps alive; null if there are none. Errors name the option.
Result<std::shared_ptr<Drafter>> LoadDraftHead(const Options& options, const ModelInfo& info,
                                               std::shared_ptr<const ProgramModel> model, const RuntimeConfig& runtime);

// A model, and what guesses tokens for it.
struct DraftedModel {
  std::shared_ptr<const ProgramModel> model;
  std::shared_ptr<Drafter> drafter;  // or null
};

// Loads both, for caches of `runtime`. Errors: those of LoadWeights and of the above; kUnsupported in a program without
// skald::store.
Result<DraftedModel> LoadWithDrafter(const Options& options, const ModelInfo& info, const RuntimeConfig& runtime);

}  // namespace skald::program

#endif  // SKALD_EXAMPLES_SKALD_CONVERSATION_DRAFTING_H_
