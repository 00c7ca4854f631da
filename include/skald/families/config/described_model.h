// SPDX-License-Identifier: Apache-2.0
//
// A model with the names that people and files know it by.

#ifndef SKALD_FAMILIES_CONFIG_DESCRIBED_MODEL_H_
#define SKALD_FAMILIES_CONFIG_DESCRIBED_MODEL_H_

#include <string_view>

#include "skald/layers/model_spec.h"

namespace skald {

/// A model as the metadata of a checkpoint describe it, which may be one that cannot be: see WhyImpossible.
struct DescribedModel {
  std::string_view model_type;  ///< the family's name in config.json, a constant
  ModelSpec spec;               ///< what it says
};

/// The content of a Config, as a value.
struct NamedSpec {
  std::string_view name, model_type;  ///< constants
  ModelSpec spec;                     ///< what it says
};

}  // namespace skald

#endif  // SKALD_FAMILIES_CONFIG_DESCRIBED_MODEL_H_
