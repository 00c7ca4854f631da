// SPDX-License-Identifier: Apache-2.0
//
// The facts of a model that its files tell before any weights are read.

#ifndef SKALD_OPEN_MODEL_INFO_H_
#define SKALD_OPEN_MODEL_INFO_H_

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

#include "skald/base/numbers/numeric.h"
#include "skald/base/result.h"
#include "skald/families/config/described_model.h"
#include "skald/families/find_named.h"
#include "skald/layers/model_spec.h"
#include "skald/weights/opened/opened_model.h"

namespace skald {

/// A model on disk and the facts that its files tell of it. Immutable in use; cheap to copy but for the spec.
struct ModelInfo {
  OpenedModel model;         ///< the files, open
  DType weight_type;         ///< to load the weights as, unless the user wants others: of a packed file, the only one
  ModelSpec spec;            ///< what the model computes
  std::string family;        ///< as config.json names it; empty where a packed file does not say
  std::string name;          ///< of the named spec that is equal, else of its family
  uint32_t trained_context;  ///< tokens of the texts that the model learned from; 0 if no file says
};

/// Says what a model is; `known` are the specs whose names it may have. Errors: those of DescribeModel.
Result<ModelInfo> IdentifyModel(const OpenedModel& model, std::span<const NamedSpec> known);

/// Opens the model at `path` and says what it is, with the names of families/published.h. Errors: those of
/// OpenedModel::Open and DescribeModel.
Result<ModelInfo> IdentifyModel(const std::filesystem::path& path);

/// Returns the name of the last of `known` that has the model's spec, else the model's type.
std::string NameAmong(std::span<const NamedSpec> known, const DescribedModel& model);

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/open/detail/model_info.h"
#endif

#endif  // SKALD_OPEN_MODEL_INFO_H_
