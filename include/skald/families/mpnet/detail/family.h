// SPDX-License-Identifier: Apache-2.0
//
// MPNet: its row of the registry.

#ifndef SKALD_FAMILIES_MPNET_DETAIL_FAMILY_H_
#define SKALD_FAMILIES_MPNET_DETAIL_FAMILY_H_

#include <string_view>

#include "skald/families/bert/detail/bert.h"
#include "skald/families/mpnet/mpnet.h"
#include "skald/families/readers/detail/family_row.h"
#include "skald/weights/files/tensor_names.h"

namespace skald::internal {

inline DescribedModel ReadMpnet(const JsonFields& fields) {
  BertSizes sizes = ReadBertSizes(fields);
  sizes.token_types = 0;
  sizes.first_position = fields.Integer("pad_token_id", 0, sizes.positions - 2, 1) + 1;
  return {MpnetFamily::kModelType, MpnetSpec(sizes, fields.Size("relative_attention_num_buckets", 32))};
}

inline constexpr Renaming kMpnetNames[] = {{"embedding_norm.", "embeddings.LayerNorm."},
                                           {"position_embedding.", "embeddings.position_embeddings."},
                                           {"distance_bias.", "encoder.relative_attention_bias."},
                                           {"self_attn.q_proj.", "attention.attn.q."},
                                           {"self_attn.k_proj.", "attention.attn.k."},
                                           {"self_attn.v_proj.", "attention.attn.v."},
                                           {"self_attn.o_proj.", "attention.attn.o."},
                                           {"post_attention_layernorm.", "attention.LayerNorm."},
                                           {"mlp.up_proj.", "intermediate.dense."},
                                           {"mlp.down_proj.", "output.dense."},
                                           {"post_feedforward_layernorm.", "output.LayerNorm."}};

inline constexpr std::string_view kMpnetHeads[] = {"pooler.", "mpnet.pooler.", "lm_head.", "classifier."};

constexpr TensorNames MpnetTensors(std::string_view body) {
  return {.body = body,
          .head = "lm_head.decoder.",
          .embedding = "embeddings.word_embeddings.weight",
          .layers = "encoder.layer.",
          .renamings = kMpnetNames,
          .mark = "attention.attn.q.weight",
          .other_parts = kMpnetHeads};
}

inline constexpr TensorNames kMpnetTensors[] = {MpnetTensors(""), MpnetTensors("mpnet.")};

inline constexpr PassedFields kMpnetPassedJson[] = {
    {"how the model is trained", "", "attention_probs_dropout_prob hidden_dropout_prob gradient_checkpointing"},
    {"an encoder has no output head", "", "tie_word_embeddings"},
    {"tokens have no types", "", "type_vocab_size"}};

inline constexpr ModelType kMpnetTypes[] = {{.name = MpnetFamily::kModelType, .read = ReadOne<ReadMpnet>}};

struct MpnetRow {
  static constexpr FamilyRow kRow = {.name = "MPNet (encoder)",
                                     .special = "as BERT, with a learned bias of distances",
                                     .model_types = kMpnetTypes,
                                     .own_names = kMpnetTensors,
                                     .passed_json = kMpnetPassedJson};
  using Published = ConfigTypes<>;
};

}  // namespace skald::internal

#endif  // SKALD_FAMILIES_MPNET_DETAIL_FAMILY_H_
