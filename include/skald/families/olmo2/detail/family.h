// SPDX-License-Identifier: Apache-2.0
//
// OLMo 2: its row of the registry.

#ifndef SKALD_FAMILIES_OLMO2_DETAIL_FAMILY_H_
#define SKALD_FAMILIES_OLMO2_DETAIL_FAMILY_H_

#include <vector>

#include "skald/families/config/model_config.h"
#include "skald/families/olmo2/olmo2.h"
#include "skald/families/olmo3/detail/family.h"
#include "skald/families/readers/detail/config_json_transformer.h"
#include "skald/families/readers/detail/family_row.h"
#include "skald/families/readers/detail/gguf_transformer.h"

namespace skald::internal {

inline FamilyRules Olmo2Rules() {
  return {.implied = ShortFormOf<Olmo2Family>(), .kv_heads_given = false, .reads_attention_bias = true};
}

inline constexpr ModelType kOlmo2Types[] = {{.name = Olmo2Family::kModelType, .read = ReadTransformerWith<Olmo2Rules>}};

// Files of Olmo 3 give a window.
inline std::vector<DescribedModel> ReadOlmo2Gguf(const JsonFields& fields, const GgufTensorFacts& facts) {
  return ReadGgufWindow(fields) > 0 ? ReadOlmo3Gguf(fields, facts) : ReadGgufWith<Olmo2Rules>(fields, facts);
}

inline constexpr std::string_view kWrittenAsOlmo2[] = {Olmo3Family::kModelType};

inline constexpr GgufArchitecture kOlmo2Architectures[] = {
    {.name = "olmo2", .read = ReadOlmo2Gguf, .is_written = true, .written_for = kWrittenAsOlmo2}};

struct Olmo2Row {
  static constexpr FamilyRow kRow = {.name = "OLMo 2",
                                     .special = "norms only after layers, QK-norm over whole projections",
                                     .model_types = kOlmo2Types,
                                     .architectures = kOlmo2Architectures};
  using Published = ConfigTypes<Olmo2_1B, Olmo2_7B, Olmo2_13B, Olmo2_32B>;
};

}  // namespace skald::internal

#endif  // SKALD_FAMILIES_OLMO2_DETAIL_FAMILY_H_
