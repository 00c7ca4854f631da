// SPDX-License-Identifier: Apache-2.0
//
// The models that the program knows by name, and the model at a path among them.

#ifndef SKALD_EXAMPLES_SKALD_MODEL_FILES_KNOWN_MODELS_H_
#define SKALD_EXAMPLES_SKALD_MODEL_FILES_KNOWN_MODELS_H_

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "skald/base/result.h"
#include "skald/layers/model_spec.h"
#include "skald/open/model_info.h"
#include "skald/weights/opened/opened_model.h"

namespace skald::program {

// Opens the model at `path` and says what it is. Errors: nothing at `path` says what the model is, or it is none that
// Skald runs.
Result<ModelInfo> IdentifyModel(const std::filesystem::path& path);
Result<ModelInfo> IdentifyModel(const OpenedModel& model);

// Returns what to say of a model without a known Config: whether it runs, and the nearest one with what differs.
// Nothing if it has one.
std::optional<std::string> WhyNoConfig(const OpenedModel& model);

// Returns the Config of the model as C++, to paste into a program that is to compile this model alone.
Result<std::string> ConfigOf(const OpenedModel& model);

// Returns the spec of the known Config of this name. Error: there is none.
Result<ModelSpec> FindModelByName(std::string_view name);

// The names of all known Configs.
std::vector<std::string_view> KnownModels();

}  // namespace skald::program

#endif  // SKALD_EXAMPLES_SKALD_MODEL_FILES_KNOWN_MODELS_H_
