// SPDX-License-Identifier: Apache-2.0
//
// Reads what config.json and the metadata of GGUF files say of Mamba-2. Settings of its configuration class that no
// published checkpoint uses (other biases, activations, norms) are refused.

#ifndef SKALD_FAMILIES_MAMBA2_DETAIL_MAMBA2_H_
#define SKALD_FAMILIES_MAMBA2_DETAIL_MAMBA2_H_

#include <cstdint>
#include <string>

#include "skald/base/json/detail/json_fields.h"
#include "skald/families/config/layer.h"
#include "skald/families/config/model_config.h"
#include "skald/families/config/short_form.h"
#include "skald/families/mamba2/mamba2.h"
#include "skald/families/readers/detail/gguf_layers.h"
#include "skald/families/readers/detail/mamba_fields.h"
#include "skald/families/readers/detail/model_fields.h"

namespace skald::internal {

inline ShortForm ReadMamba2(const JsonFields& fields) {
  ShortForm a = ShortFormOf<Mamba2Family>();
  ReadMambaFields(fields, LayerKind::kMamba2, a);
  fields.Expect("norm_before_gate", false);
  Mamba2& layer = a.mamba2;
  layer.conv_width = fields.Size("conv_kernel", 4);
  layer.heads = fields.Size("num_heads", 128);
  layer.head_dim = fields.Size("head_dim", 64);
  layer.state_dim = fields.Size("state_size", 128);
  layer.groups = fields.Size("n_groups", 8);
  const int width = ExpandedSize(fields, "expand", a.model_dim);
  if (int64_t{layer.heads} * layer.head_dim != width) {
    fields.WrongValue(
        "num_heads", layer.heads,
        "expand * hidden_size / head_dim, that is " + std::to_string(width) + " / " + std::to_string(layer.head_dim));
  }
  if (layer.heads % layer.groups != 0) fields.WrongValue("n_groups", layer.groups, "a divisor of num_heads");
  ReadTimeStepLimit(fields, layer);
  return a;
}

inline DescribedModel ReadMamba2Gguf(const JsonFields& fields, const GgufTensorFacts& facts) {
  ShortForm a = ShortFormOf<Mamba2Family>();
  ReadGgufMixers(fields, facts, LayerKind::kMamba2, a);
  a.mamba2 = ReadGgufMamba2(fields);
  return {a.model_type, Expand(a)};
}

}  // namespace skald::internal

#endif  // SKALD_FAMILIES_MAMBA2_DETAIL_MAMBA2_H_
