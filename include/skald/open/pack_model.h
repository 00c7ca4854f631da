// SPDX-License-Identifier: Apache-2.0
//
// Writes a model into one packed file that runs alone.

#ifndef SKALD_OPEN_PACK_MODEL_H_
#define SKALD_OPEN_PACK_MODEL_H_

#include <filesystem>

#include "skald/base/result.h"
#include "skald/open/model_info.h"
#include "skald/weights/load_options.h"

namespace skald {

/// Loads the weights of the model as `options` say, and writes them to the packed file `output` with the tokenizer and
/// the small files that go with them. A model with a tokenizer of a kind that Skald does not read is packed without it,
/// and runs on token ids. Errors: those of LoadWeights, WritePackedFile and of the files; kUnsupported for rerankers
/// and encoders with dense layers.
Result<void> PackModel(const ModelInfo& info, const LoadOptions& options, const std::filesystem::path& output);

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/open/detail/pack_model.h"
#endif

#endif  // SKALD_OPEN_PACK_MODEL_H_
