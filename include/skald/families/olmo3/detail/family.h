// SPDX-License-Identifier: Apache-2.0
//
// Olmo 3: its row of the registry. GGUF files of it say that they are of OLMo 2's architecture, with a window.

#ifndef SKALD_FAMILIES_OLMO3_DETAIL_FAMILY_H_
#define SKALD_FAMILIES_OLMO3_DETAIL_FAMILY_H_

#include <string_view>

#include "skald/families/config/model_config.h"
#include "skald/families/olmo3/olmo3.h"
#include "skald/families/readers/detail/config_json_transformer.h"
#include "skald/families/readers/detail/family_row.h"
#include "skald/families/readers/detail/gguf_transformer.h"

namespace skald::internal {

inline FamilyRules Olmo3Rules() {
  return {.implied = ShortFormOf<Olmo3Family>(),
          .layers = LayerRule::kAllButNth,
          .nth = 4,
          .kv_heads_given = false,
          .reads_attention_bias = true};
}

// Version 4 of transformers has one scaling, which is of the full layers.
inline TextModel ReadOlmo3(const JsonFields& fields) {
  ShortForm a = ReadTransformer(fields, Olmo3Rules());
  if (!a.sliding_rope) a.sliding_rope = RopeSpec{.base = a.rope.base};
  return a;
}

inline std::vector<DescribedModel> ReadOlmo3Gguf(const JsonFields& fields, const GgufTensorFacts& facts) {
  ShortForm a = ReadGgufModel(fields, Olmo3Rules(), facts);
  a.sliding_rope = RopeSpec{.base = fields.Positive("rope.freq_base_swa", a.rope.base)};
  return {{a.model_type, Expand(a)}};
}

inline constexpr ModelType kOlmo3Types[] = {{.name = Olmo3Family::kModelType, .read = ReadOlmo3}};

inline constexpr std::string_view kOlmo3Shared[] = {"olmo2"};

struct Olmo3Row {
  static constexpr FamilyRow kRow = {.name = "Olmo 3",
                                     .special = "as OLMo 2, three layers with a window to one without, YaRN in these",
                                     .model_types = kOlmo3Types,
                                     .shared_architectures = kOlmo3Shared};
  using Published = ConfigTypes<>;
};

}  // namespace skald::internal

#endif  // SKALD_FAMILIES_OLMO3_DETAIL_FAMILY_H_
