// SPDX-License-Identifier: Apache-2.0
//
// Arcee's foundation models: their row of the registry.

#ifndef SKALD_FAMILIES_ARCEE_DETAIL_FAMILY_H_
#define SKALD_FAMILIES_ARCEE_DETAIL_FAMILY_H_

#include <vector>

#include "skald/families/arcee/arcee.h"
#include "skald/families/config/model_config.h"
#include "skald/families/readers/detail/config_json_transformer.h"
#include "skald/families/readers/detail/family_row.h"
#include "skald/families/readers/detail/gguf_transformer.h"
#include "skald/layers/kinds/feed_forward.h"

namespace skald::internal {

inline FamilyRules ArceeRules() {
  return {.implied = ShortFormOf<ArceeFamily>(),
          .kv_heads_given = false,
          .reads_attention_bias = true,
          .reads_feed_forward_bias = true};
}

inline ShortForm WithoutGates(ShortForm a) {
  a.feed_forward = FeedForward{.width = a.feed_forward_dim, .activation = a.activation, .bias = a.feed_forward_bias};
  a.feed_forward_dim = 0;
  a.feed_forward_bias = false;
  return a;
}

inline TextModel ReadArcee(const JsonFields& fields) { return WithoutGates(ReadTransformer(fields, ArceeRules())); }

inline std::vector<DescribedModel> ReadArceeGguf(const JsonFields& fields, const GgufTensorFacts& facts) {
  const ShortForm a = WithoutGates(ReadGgufModel(fields, ArceeRules(), facts));
  return {{a.model_type, Expand(a)}};
}

inline constexpr ModelType kArceeTypes[] = {{.name = ArceeFamily::kModelType, .read = ReadArcee}};

inline constexpr GgufArchitecture kArceeArchitectures[] = {
    {.name = "arcee", .read = ReadArceeGguf, .has_rope_pairs = true}};

struct ArceeRow {
  static constexpr FamilyRow kRow = {.name = "Arcee (AFM)",
                                     .special = "feed-forward layers without a gate, ReLU squared",
                                     .model_types = kArceeTypes,
                                     .architectures = kArceeArchitectures};
  using Published = ConfigTypes<>;
};

}  // namespace skald::internal

#endif  // SKALD_FAMILIES_ARCEE_DETAIL_FAMILY_H_
