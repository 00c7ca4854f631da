// SPDX-License-Identifier: Apache-2.0
//
// GGUF metadata of models whose layers are not all of one kind: numbers for each layer, and Mamba-2.

#ifndef SKALD_FAMILIES_READERS_DETAIL_GGUF_LAYERS_H_
#define SKALD_FAMILIES_READERS_DETAIL_GGUF_LAYERS_H_

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>

#include "skald/base/json/detail/json_fields.h"
#include "skald/families/config/layer.h"
#include "skald/families/config/short_form.h"
#include "skald/families/readers/detail/model_fields.h"
#include "skald/layers/kinds/recurrent/mamba2.h"

namespace skald::internal {

// Returns the number that an array has for each layer, apart from zeros.
inline int ReadLayersNumber(const JsonFields& fields, const char* name) {
  constexpr int64_t kMaxSize = 1 << 24;
  int64_t number = 0;
  const nlohmann::json* const numbers = fields.Find(name);
  for (size_t i = 0; numbers != nullptr && numbers->is_array() && i < numbers->size(); ++i) {
    const nlohmann::json& one = (*numbers)[i];
    const int64_t value = one.is_number_integer() ? one.get<int64_t>() : -1;
    if (value < 0 || value > kMaxSize || (number != 0 && value != 0 && number != value)) {
      fields.WrongValue(name, one, "whole numbers, the same but for those that are 0");
      break;
    }
    if (value != 0) number = value;
  }
  return static_cast<int>(number);
}

// Reads a model whose layers are mixers of one kind alone, apart from their sizes.
inline void ReadGgufMixers(const JsonFields& fields, const GgufTensorFacts& facts, LayerKind kind, ShortForm& a) {
  a.model_dim = fields.Size("embedding_length");
  a.vocab_size = facts.vocab_size;
  a.layers.assign(static_cast<size_t>(fields.Integer("block_count", 1, kMaxLayers)), kind);
  fields.Expect("feed_forward_length", 0);
  fields.Expect("attention.head_count", 0);
  a.norm_epsilon = static_cast<float>(fields.Positive("attention.layer_norm_rms_epsilon"));
  a.tied_embeddings = !facts.has_head;
}

inline Mamba2 ReadGgufMamba2(const JsonFields& fields) {
  Mamba2 mamba = {.heads = fields.Size("ssm.time_step_rank"),
                  .state_dim = fields.Size("ssm.state_size"),
                  .groups = fields.Size("ssm.group_count"),
                  .conv_width = fields.Size("ssm.conv_kernel")};
  const int width = fields.Size("ssm.inner_size");
  mamba.head_dim = width / mamba.heads;
  if (width % mamba.heads != 0) fields.WrongValue("ssm.inner_size", width, "a multiple of ssm.time_step_rank");
  if (mamba.heads % mamba.groups != 0) {
    fields.WrongValue("ssm.group_count", mamba.groups, "a divisor of ssm.time_step_rank");
  }
  return mamba;
}

}  // namespace skald::internal

#endif  // SKALD_FAMILIES_READERS_DETAIL_GGUF_LAYERS_H_
