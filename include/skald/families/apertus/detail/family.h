// SPDX-License-Identifier: Apache-2.0
//
// Apertus: its row of the registry.

#ifndef SKALD_FAMILIES_APERTUS_DETAIL_FAMILY_H_
#define SKALD_FAMILIES_APERTUS_DETAIL_FAMILY_H_

#include <string>
#include <vector>

#include "skald/base/text/message.h"
#include "skald/families/apertus/apertus.h"
#include "skald/families/config/model_config.h"
#include "skald/families/readers/detail/change_draft.h"
#include "skald/families/readers/detail/config_json_transformer.h"
#include "skald/families/readers/detail/family_row.h"
#include "skald/families/readers/detail/gguf_transformer.h"
#include "skald/layers/model_spec.h"
#include "skald/weights/files/tensor_names.h"
#include "skald/weights/writing/gguf_draft.h"

namespace skald::internal {

inline FamilyRules ApertusRules() {
  return {
      .implied = ShortFormOf<ApertusFamily>(), .kv_heads_given = false, .reads_attention_bias = true, .gated = false};
}

inline constexpr Renaming kApertusNames[] = {{"input_layernorm.", "attention_layernorm."},
                                             {"feed_forward_norm.", "feedforward_layernorm."}};

// Numbers of the metadata, of each layer (GgufFile).
inline constexpr Renaming kApertusGgufNames[] = {{"mlp.act_fn.", "xielu."}};

inline constexpr TensorNames kApertusTensors[] = {
    {.body = "model.", .head = "lm_head.", .renamings = kApertusNames, .mark = "attention_layernorm.weight"}};

inline constexpr PassedFields kApertusPassedJson[] = {{"norms come before layers", "", "post_norm", false},
                                                      {"queries and keys are normalised", "", "qk_norm", true}};

// Numbers of each layer become values of the metadata, which have one for each.
inline void MoveNumbers(const ModelSpec& /*spec*/, GgufDraft& draft) {
  for (const char* const name : {"xielu.alpha_p", "xielu.alpha_n", "xielu.beta", "xielu.eps"}) {
    std::vector<float> numbers;
    ChangeTensors(draft, {Concat({".", name})}, [&](DraftTensor& tensor) {
      tensor.read_row(0, {&numbers.emplace_back(), 1});
    });
    draft.Set(GgufNumbers(name, numbers));
  }
  std::erase_if(draft.tensors,
                [](const DraftTensor& tensor) { return tensor.name.find(".xielu.") != std::string::npos; });
}

inline constexpr ModelType kApertusTypes[] = {
    {.name = ApertusFamily::kModelType, .read = ReadTransformerWith<ApertusRules>}};

inline constexpr GgufArchitecture kApertusArchitectures[] = {
    {.name = "apertus", .read = ReadGgufWith<ApertusRules>, .is_written = true, .change_draft = MoveNumbers}};

struct ApertusRow {
  static constexpr FamilyRow kRow = {.name = "Apertus",
                                     .special = "QK-norm, feed-forward layers without a gate, a learned activation",
                                     .model_types = kApertusTypes,
                                     .architectures = kApertusArchitectures,
                                     .gguf_names = kApertusGgufNames,
                                     .own_names = kApertusTensors,
                                     .passed_json = kApertusPassedJson};
  using Published = ConfigTypes<>;
};

}  // namespace skald::internal

#endif  // SKALD_FAMILIES_APERTUS_DETAIL_FAMILY_H_
