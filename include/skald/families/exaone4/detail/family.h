// SPDX-License-Identifier: Apache-2.0
//
// EXAONE 4: its row of the registry.

#ifndef SKALD_FAMILIES_EXAONE4_DETAIL_FAMILY_H_
#define SKALD_FAMILIES_EXAONE4_DETAIL_FAMILY_H_

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "skald/families/config/layer.h"
#include "skald/families/config/model_config.h"
#include "skald/families/exaone4/exaone4.h"
#include "skald/families/readers/detail/config_json_transformer.h"
#include "skald/families/readers/detail/family_row.h"
#include "skald/families/readers/detail/gguf_transformer.h"

namespace skald::internal {

// With or without layers that have a window.
inline FamilyRules Exaone4Rules(bool slides) {
  return {
      .implied = ShortFormOf<Exaone4Family>(), .layers = slides ? LayerRule::kAllButNth : LayerRule::kNone, .nth = 4};
}

// Where some layers have a window, the others have no RoPE.
inline ShortForm WithoutRopeInFullLayers(ShortForm a) {
  if (std::ranges::count(a.layers, LayerKind::kSlidingAttention) == 0) return a;
  std::ranges::replace(a.layers, LayerKind::kFullAttention, LayerKind::kNopeAttention);
  return a;
}

inline TextModel ReadExaone4(const JsonFields& fields) {
  const nlohmann::json* const window = fields.Find("sliding_window");
  const ShortForm a = ReadTransformer(fields, Exaone4Rules(window != nullptr));
  // The original takes the RoPE from all layers then, llama.cpp from none.
  if (window != nullptr && a.window == 0) {
    fields.Unsupported("sliding_window", *window, "null where no layer of layer_types has a window");
  }
  return WithoutRopeInFullLayers(a);
}

// llama.cpp knows the models with windows by their layers, too.
inline std::vector<DescribedModel> ReadExaone4Gguf(const JsonFields& fields, const GgufTensorFacts& facts) {
  FamilyRules rules = Exaone4Rules(ReadGgufWindow(fields) > 0 || GgufLayerCount(fields) == 64);
  rules.gguf_window = 4096;
  const ShortForm a = WithoutRopeInFullLayers(ReadGgufModel(fields, rules, facts));
  return {{a.model_type, Expand(a)}};
}

inline constexpr PassedFields kExaone4PassedJson[] = {
    {"the older form of layer_types, which is read where it is missing", "", "sliding_window_pattern"}};

inline constexpr ModelType kExaone4Types[] = {{.name = Exaone4Family::kModelType, .read = ReadExaone4}};

inline constexpr GgufArchitecture kExaone4Architectures[] = {
    {.name = "exaone4", .read = ReadExaone4Gguf, .is_written = true}};

struct Exaone4Row {
  static constexpr FamilyRow kRow = {.name = "EXAONE 4",
                                     .special = "norms only after layers, QK-norm, full layers without RoPE",
                                     .model_types = kExaone4Types,
                                     .architectures = kExaone4Architectures,
                                     .passed_json = kExaone4PassedJson};
  using Published = ConfigTypes<>;
};

}  // namespace skald::internal

#endif  // SKALD_FAMILIES_EXAONE4_DETAIL_FAMILY_H_
