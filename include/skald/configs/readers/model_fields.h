// SPDX-License-Identifier: Apache-2.0
//
// Fields that files of more than one kind of model have.

#ifndef SKALD_CONFIGS_READERS_MODEL_FIELDS_H_
#define SKALD_CONFIGS_READERS_MODEL_FIELDS_H_

#include <cstddef>

#include "skald/base/json/json_fields.h"

namespace skald::internal {

inline constexpr int kMaxLayers = 1 << 12;  // beyond every model there is

// How many layers the model has.
inline size_t LayerCount(const JsonFields& fields) {
  return static_cast<size_t>(fields.Integer("num_hidden_layers", 1, kMaxLayers));
}

// A soft cap that is absent is the family's; one that is null is off.
inline float ReadSoftcap(const JsonFields& fields, const char* name, float standard) {
  return static_cast<float>(fields.Positive(name, fields.Contains(name) ? 0.0f : standard));
}

}  // namespace skald::internal

#endif  // SKALD_CONFIGS_READERS_MODEL_FIELDS_H_
