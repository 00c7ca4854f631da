// SPDX-License-Identifier: Apache-2.0
//
// The names that Hugging Face checkpoints of the Llama lineage (Llama, Mistral, Qwen, Gemma) give
// their tensors.

#ifndef SKALD_WEIGHTS_TENSOR_NAMES_H_
#define SKALD_WEIGHTS_TENSOR_NAMES_H_

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

#include "skald/weights/checkpoint.h"
#include "skald/weights/message.h"

namespace skald {

// Where the tensors of the language model stand. Multimodal checkpoints put them under a prefix of
// their own, which changed over time, beside a vision part that Skald does not read.
struct TensorNames {
  std::string_view body;  // in front of embed_tokens, layers and norm
  std::string_view head;  // in front of the output head's "weight"

  std::string Embedding() const { return Concat({body, "embed_tokens.weight"}); }
  std::string FinalNorm() const { return Concat({body, "norm.weight"}); }
  std::string Head() const { return Concat({head, "weight"}); }

  // `part` as in "self_attn.q_proj.weight".
  std::string Layer(size_t layer, std::string_view part) const {
    return Concat({body, "layers.", std::to_string(layer), ".", part});
  }

  // True when this tensor belongs to the language model, so that a Config has to account for it.
  bool Covers(std::string_view name) const {
    return name.starts_with(body) || name.starts_with(head);
  }
};

inline constexpr std::array kTensorNames = {
    TensorNames{"model.", "lm_head."},                                // text models
    TensorNames{"language_model.model.", "language_model.lm_head."},  // Gemma 3 as first published
    TensorNames{"model.language_model.", "lm_head."},  // Gemma 3 as later versions write it
};

// Returns the scheme whose embedding the checkpoint has. When it has none, returns that of text
// models, so that the error about the missing embedding names the usual one.
inline const TensorNames& DetectTensorNames(const Checkpoint& checkpoint) {
  for (const TensorNames& names : kTensorNames) {
    if (checkpoint.Find(names.Embedding()) != nullptr) return names;
  }
  return kTensorNames.front();
}

// True for tensors that hold no parameters: older exporters saved the RoPE frequencies, which a
// Config computes.
inline bool IsDerivedTensor(std::string_view name) {
  return name.ends_with(".rotary_emb.inv_freq");
}

}  // namespace skald

#endif  // SKALD_WEIGHTS_TENSOR_NAMES_H_
