// SPDX-License-Identifier: Apache-2.0
//
// Heads of EAGLE-3 (Li et al. 2025, arXiv:2503.01840), which are published in folders of their own for a model each:
// one layer that reads the residual stream at three places of the model and guesses among the most frequent tokens.

#ifndef SKALD_MODEL_EAGLE_HEAD_H_
#define SKALD_MODEL_EAGLE_HEAD_H_

#include <filesystem>

#include "skald/base/result.h"
#include "skald/model/any_model.h"
#include "skald/model/draft_head.h"
#include "skald/weights/load_options.h"

namespace skald {

/// Whether a folder has such a head, by its config.json: one layer, and a vocabulary of drafts. False for a file, and
/// for a folder without a config.json that can be read.
bool HasEagleHead(const std::filesystem::path& folder);

/// Loads the head in a folder (config.json and safetensors) for `model`, which must outlive it. Where config.json names
/// no places (eagle_aux_hidden_state_layer_ids), they are the input of the third layer, of the middle one and of the
/// third last. Errors name the file: kInvalidArgument for a head of another model, kUnsupported for one that normalises
/// what it reads of the model, or for a model that ranks compute; else those of LoadWeights.
Result<DraftHead> LoadEagleHead(const std::filesystem::path& folder, const AnyModel& model,
                                const LoadOptions& options = {});

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/model/detail/eagle_head.h"
#endif

#endif  // SKALD_MODEL_EAGLE_HEAD_H_
