// SPDX-License-Identifier: Apache-2.0
//
// Drafters of Gemma 4, which are published by themselves for a model each ("gemma4_assistant"): a few narrow layers
// whose attention reads the keys and values in the model's cache, so that they have nothing to read of a text but its
// last token and the model's row before it. All guesses that follow each other are made from the same position.

#ifndef SKALD_MODEL_HEADS_ASSISTANT_HEAD_H_
#define SKALD_MODEL_HEADS_ASSISTANT_HEAD_H_

#include <cstddef>
#include <cstdint>
#include <filesystem>

#include "skald/base/numbers/numeric.h"
#include "skald/base/result.h"
#include "skald/model/any_model.h"
#include "skald/model/heads/draft_head.h"
#include "skald/weights/load_options.h"

namespace skald {

/// Whether `path` has such a head: a folder, by the "model_type" of its config.json, or a GGUF file (architecture
/// "gemma4-assistant"). False for what cannot be read.
bool HasAssistantHead(const std::filesystem::path& path);

/// Loads the head in a folder (config.json and safetensors) or a GGUF file for `model`, which must outlive it. Errors
/// name the file: kNotFound if it has no such head, kInvalidArgument for one of another model, kUnsupported for a model
/// that ranks compute; else those of LoadWeights.
Result<DraftHead> LoadAssistantHead(const std::filesystem::path& path, const AnyModel& model,
                                    const LoadOptions& options = {});

/// Returns a head of random weights, with a layer for each form of keys and values that the model keeps. Its guesses
/// are no better than chance. With `groups`, the tokens are in so many, and one in 64 of them is guessed from
/// (TokenGroups), as published heads of 2,048 have it. Errors: kUnsupported for a model that keeps none that it could
/// read, kInvalidArgument for groups that do not divide the vocabulary.
Result<DraftHead> RandomAssistantHead(const AnyModel& model, uint64_t seed, DType dtype = DType::kBF16,
                                      size_t groups = 0);

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/model/heads/detail/assistant_head.h"
#endif

#endif  // SKALD_MODEL_HEADS_ASSISTANT_HEAD_H_
