// SPDX-License-Identifier: Apache-2.0
//
// Gemma: its row of the registry.

#ifndef SKALD_FAMILIES_GEMMA_DETAIL_FAMILY_H_
#define SKALD_FAMILIES_GEMMA_DETAIL_FAMILY_H_

#include "skald/families/config/model_config.h"
#include "skald/families/gemma/gemma.h"
#include "skald/families/readers/detail/config_json_transformer.h"
#include "skald/families/readers/detail/family_row.h"
#include "skald/families/readers/detail/gguf_transformer.h"

namespace skald::internal {

inline FamilyRules GemmaRules() {
  return {
      .implied = ShortFormOf<GemmaFamily>(), .head_dim = 256, .reads_attention_bias = true, .gelu_means_tanh = true};
}

inline constexpr ModelType kGemmaTypes[] = {{.name = GemmaFamily::kModelType, .read = ReadTransformerWith<GemmaRules>}};

inline constexpr GgufArchitecture kGemmaArchitectures[] = {
    {.name = "gemma", .read = ReadGgufWith<GemmaRules>, .is_written = true}};

struct GemmaRow {
  static constexpr FamilyRow kRow = {.name = "Gemma",
                                     .special = "heads wider than the stream, GELU, scaled embeddings",
                                     .model_types = kGemmaTypes,
                                     .architectures = kGemmaArchitectures};
  using Published = ConfigTypes<Gemma_2B, Gemma_7B>;
};

}  // namespace skald::internal

#endif  // SKALD_FAMILIES_GEMMA_DETAIL_FAMILY_H_
