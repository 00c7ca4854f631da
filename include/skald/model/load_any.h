// SPDX-License-Identifier: Apache-2.0
//
// Loads the model at a path, of any kind: its metadata describe it. Every size of every family that the readers know
// runs, with or without a Config.

#ifndef SKALD_MODEL_LOAD_ANY_H_
#define SKALD_MODEL_LOAD_ANY_H_

#include <filesystem>
#include <string_view>

#include "skald/base/result.h"
#include "skald/families/config/described_model.h"
#include "skald/model/any_model.h"
#include "skald/weights/load_options.h"
#include "skald/weights/opened/opened_model.h"

namespace skald {

/// The model_type of models in packed files, which say what they are in another way.
inline constexpr std::string_view kPackedModelType = "packed";

/// The attachment name of the JSON of a packed file's ModelSpec.
inline constexpr const char* kSpecAttachment = "spec.json";

/// Returns what the model at `path` is: a folder with config.json, a file in one, a GGUF file or a packed file. Errors
/// name the path: those of the readers of metadata, and kUnsupported for sizes that no model can have.
Result<DescribedModel> DescribeModel(const std::filesystem::path& path);

/// The same of a model that is open already.
Result<DescribedModel> DescribeModel(const OpenedModel& model);

/// Returns the model at `path`. It computes the bits that a Model of a Config of the same sizes does. Errors: those of
/// DescribeModel and LoadWeights.
Result<AnyModel> LoadAnyModel(const std::filesystem::path& path, const LoadOptions& options = {});

/// The same of a model that is open already.
Result<AnyModel> LoadAnyModel(const OpenedModel& model, const LoadOptions& options = {});

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/model/detail/load_any.h"
#endif

#endif  // SKALD_MODEL_LOAD_ANY_H_
