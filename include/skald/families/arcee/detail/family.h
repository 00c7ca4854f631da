// SPDX-License-Identifier: Apache-2.0
//
// Arcee's foundation models: their row of the registry.

#ifndef SKALD_FAMILIES_ARCEE_DETAIL_FAMILY_H_
#define SKALD_FAMILIES_ARCEE_DETAIL_FAMILY_H_

#include "skald/families/arcee/arcee.h"
#include "skald/families/config/model_config.h"
#include "skald/families/readers/detail/config_json_transformer.h"
#include "skald/families/readers/detail/family_row.h"
#include "skald/families/readers/detail/gguf_transformer.h"

namespace skald::internal {

inline FamilyRules ArceeRules() {
  return {.implied = ShortFormOf<ArceeFamily>(),
          .kv_heads_given = false,
          .reads_attention_bias = true,
          .reads_feed_forward_bias = true,
          .gated = false};
}

inline constexpr ModelType kArceeTypes[] = {{.name = ArceeFamily::kModelType, .read = ReadTransformerWith<ArceeRules>}};

inline constexpr GgufArchitecture kArceeArchitectures[] = {
    {.name = "arcee", .read = ReadGgufWith<ArceeRules>, .has_rope_pairs = true, .is_written = true}};

struct ArceeRow {
  static constexpr FamilyRow kRow = {.name = "Arcee (AFM)",
                                     .special = "feed-forward layers without a gate, ReLU squared",
                                     .model_types = kArceeTypes,
                                     .architectures = kArceeArchitectures};
  using Published = ConfigTypes<>;
};

}  // namespace skald::internal

#endif  // SKALD_FAMILIES_ARCEE_DETAIL_FAMILY_H_
