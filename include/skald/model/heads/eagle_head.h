// SPDX-License-Identifier: Apache-2.0
//
// Heads of EAGLE-3 (Li et al. 2025, arXiv:2503.01840), which are published by themselves for a model each:
// one layer that reads the residual stream at three places of the model and guesses among the most frequent tokens.

#ifndef SKALD_MODEL_HEADS_EAGLE_HEAD_H_
#define SKALD_MODEL_HEADS_EAGLE_HEAD_H_

#include <cstdint>
#include <filesystem>

#include "skald/base/numbers/numeric.h"
#include "skald/base/result.h"
#include "skald/model/any_model.h"
#include "skald/model/heads/draft_head.h"
#include "skald/weights/load_options.h"

namespace skald {

/// Whether `path` has such a head: a folder, by its config.json (the architecture, one layer and a vocabulary of
/// drafts, or the form of the speculators library), or a GGUF file (architecture "eagle3"). False for what cannot be
/// read.
bool HasEagleHead(const std::filesystem::path& path);

/// Loads the head in a folder (config.json and safetensors) or a GGUF file for `model`, which must outlive it. Where
/// config.json names no places (eagle_aux_hidden_state_layer_ids), they are the input of the third layer, of the middle
/// one and of the third last. A head without an embedding or an output head of its own uses the model's. Errors name
/// the file: kNotFound if it has no such head, kInvalidArgument for one of another model, kUnsupported for a head with
/// fields or tensors that are not known, and for a model that ranks compute; else those of LoadWeights.
Result<DraftHead> LoadEagleHead(const std::filesystem::path& path, const AnyModel& model,
                                const LoadOptions& options = {});

/// Returns a head of random weights, which reads the model's first rows, those in the middle and its last ones, and
/// guesses among every second token. Its guesses are no better than chance.
Result<DraftHead> RandomEagleHead(const AnyModel& model, uint64_t seed, DType dtype = DType::kBF16);

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/model/heads/detail/eagle_head.h"
#endif

#endif  // SKALD_MODEL_HEADS_EAGLE_HEAD_H_
