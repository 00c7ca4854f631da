// SPDX-License-Identifier: Apache-2.0
//
// BitNet b1.58: its row of the registry.

#ifndef SKALD_FAMILIES_BITNET_DETAIL_FAMILY_H_
#define SKALD_FAMILIES_BITNET_DETAIL_FAMILY_H_

#include <utility>
#include <vector>

#include "skald/families/bitnet/bitnet.h"
#include "skald/families/config/model_config.h"
#include "skald/families/readers/detail/change_layers.h"
#include "skald/families/readers/detail/config_json_transformer.h"
#include "skald/families/readers/detail/family_row.h"
#include "skald/families/readers/detail/gguf_transformer.h"
#include "skald/layers/kinds/attention.h"
#include "skald/layers/kinds/gated_feed_forward.h"
#include "skald/layers/model_spec.h"
#include "skald/layers/norms/rms_norm.h"

namespace skald::internal {

inline FamilyRules BitNetRules() { return {.implied = ShortFormOf<BitNetFamily>(), .kv_heads_given = false}; }

inline DescribedModel BitNetModel(const ShortForm& a) {
  ModelSpec spec = Expand(a);
  const RmsNorm norm = {.epsilon = a.norm_epsilon};
  ChangeLayers<Attention>(spec, [&](Attention& attention) { attention.output_norm = norm; });
  ChangeLayers<GatedFeedForward>(spec, [&](GatedFeedForward& layer) { layer.inner_norm = norm; });
  return {a.model_type, std::move(spec)};
}

inline TextModel ReadBitNet(const JsonFields& fields) { return BitNetModel(ReadTransformer(fields, BitNetRules())); }

// Files of this architecture are of the first models of the family, whose gates are of SiLU, as llama.cpp has it.
inline std::vector<DescribedModel> ReadBitNetGguf(const JsonFields& fields, const GgufTensorFacts& facts) {
  FamilyRules rules = BitNetRules();
  rules.implied.activation = Activation::kSilu;
  return {BitNetModel(ReadGgufModel(fields, rules, facts))};
}

inline constexpr Renaming kBitNetNames[] = {{"self_attn.output_norm.", "self_attn.attn_sub_norm."},
                                            {"mlp.inner_norm.", "mlp.ffn_sub_norm."}};

inline constexpr Renaming kBitNetGgufNames[] = {{"self_attn.output_norm.", "attn_sub_norm."},
                                                {"mlp.inner_norm.", "ffn_sub_norm."}};

inline constexpr ModelType kBitNetTypes[] = {{.name = BitNetFamily::kModelType, .read = ReadBitNet}};

inline constexpr GgufArchitecture kBitNetArchitectures[] = {
    {.name = "bitnet", .read = ReadBitNetGguf, .is_written = true}};

struct BitNetRow {
  static constexpr FamilyRow kRow = {.name = "BitNet b1.58",
                                     .special = "a norm before the last projection of each layer, ReLU squared gates",
                                     .model_types = kBitNetTypes,
                                     .architectures = kBitNetArchitectures,
                                     .names = kBitNetNames,
                                     .gguf_names = kBitNetGgufNames};
  using Published = ConfigTypes<>;
};

}  // namespace skald::internal

#endif  // SKALD_FAMILIES_BITNET_DETAIL_FAMILY_H_
