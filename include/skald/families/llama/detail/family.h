// SPDX-License-Identifier: Apache-2.0
//
// Llama: its row of the registry. GGUF files of Mistral and Mixtral models say that they are of its architecture.

#ifndef SKALD_FAMILIES_LLAMA_DETAIL_FAMILY_H_
#define SKALD_FAMILIES_LLAMA_DETAIL_FAMILY_H_

#include <algorithm>
#include <vector>

#include "skald/families/config/layer.h"
#include "skald/families/config/model_config.h"
#include "skald/families/llama/llama.h"
#include "skald/families/mistral/detail/family.h"
#include "skald/families/mistral/mistral.h"
#include "skald/families/readers/detail/config_json_transformer.h"
#include "skald/families/readers/detail/family_row.h"
#include "skald/families/readers/detail/gguf_transformer.h"

namespace skald::internal {

inline FamilyRules LlamaRules() {
  return {.implied = ShortFormOf<LlamaFamily>(),
          .kv_heads_given = false,
          .reads_attention_bias = true,
          .reads_feed_forward_bias = true};
}

// Mistral models, and those with a window, which no field tells.
inline std::vector<DescribedModel> WithMistral(const ShortForm& llama) {
  ShortForm mistral = llama, sliding = llama;
  mistral.model_type = sliding.model_type = MistralFamily::kModelType;
  std::ranges::fill(sliding.layers, LayerKind::kSlidingAttention);
  sliding.window = 4096;
  std::vector<DescribedModel> models;
  for (const ShortForm& form : {llama, mistral, sliding}) models.push_back({form.model_type, Expand(form)});
  return models;
}

// Tensors tell which layers have biases.
inline ShortForm WithGgufBiases(ShortForm a, const GgufTensorFacts& facts) {
  a.qkv_bias = facts.has_query_bias;
  a.attention_output_bias = facts.has_output_bias;
  a.feed_forward_bias = facts.has_feed_forward_bias;
  return a;
}

// Mixtral is Llama with experts there.
inline std::vector<DescribedModel> ReadLlamaGguf(const JsonFields& fields, const GgufTensorFacts& facts) {
  if (!GgufHasExperts(fields)) {
    return WithMistral(WithGgufBiases(ReadGgufModel(fields, LlamaRules(), facts), facts));
  }
  const ShortForm mixtral = ReadGgufModel(fields, MixtralRules(), facts);
  return {{mixtral.model_type, Expand(mixtral)}};
}

inline constexpr PassedFields kLlamaPassedGguf[] = {
    {"a width, which the tensors have or do not fit", "", "expert_feed_forward_length"},
    {"the softmax of the chosen experts, as in all published models", "", "expert_weights_norm", true},
    {"experts are chosen by a softmax", "", "expert_gating_func", 1.0}};

inline constexpr ModelType kLlamaTypes[] = {{.name = LlamaFamily::kModelType, .read = ReadTransformerWith<LlamaRules>}};

inline constexpr std::string_view kWrittenAsLlama[] = {MistralFamily::kModelType, MixtralFamily::kModelType};

inline constexpr GgufArchitecture kLlamaArchitectures[] = {{.name = "llama",
                                                            .read = ReadLlamaGguf,
                                                            .has_rope_pairs = true,
                                                            .is_written = true,
                                                            .written_for = kWrittenAsLlama}};

struct LlamaRow {
  static constexpr FamilyRow kRow = {.name = "Llama 2, 3, TinyLlama",
                                     .special = "RoPE scaling of Llama 3",
                                     .model_types = kLlamaTypes,
                                     .architectures = kLlamaArchitectures,
                                     .passed_gguf = kLlamaPassedGguf};
  using Published =
      ConfigTypes<Stories260K, Stories15M, TinyLlama_1_1B, Llama2_7B, Llama3_2_1B, Llama3_2_3B, Llama3_1_8B>;
};

}  // namespace skald::internal

#endif  // SKALD_FAMILIES_LLAMA_DETAIL_FAMILY_H_
