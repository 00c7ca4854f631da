// SPDX-License-Identifier: Apache-2.0
//
// OutputHead: from the residual stream after the last block to hidden states and logits: final norm, head, softcap.

#ifndef SKALD_MODEL_DETAIL_OUTPUT_HEAD_H_
#define SKALD_MODEL_DETAIL_OUTPUT_HEAD_H_

#include <cstddef>
#include <cstdint>
#include <span>

#include "skald/layers/model_weights.h"
#include "skald/layers/run/operations.h"
#include "skald/layers/spec/norm.h"
#include "skald/model/workspace.h"

namespace skald {

class OutputHead {
 public:
  // Everything must outlive this.
  OutputHead(const ModelWeights& weights, Operations& ops) : weights_(weights), ops_(ops) {}

  size_t model_dim() const { return static_cast<size_t>(weights_.spec.model_dim); }
  size_t vocab_size() const { return static_cast<size_t>(weights_.spec.vocab_size); }

  // Grows the workspace's buffers to what logits of `rows` rows at a time need.
  void Reserve(size_t rows, Activations& activations) const {
    skald::Reserve(activations.normed, rows * model_dim());
    ReserveMatMul(matrix(), rows, activations.matmul);
  }

  // output[i, :] = final norm of row wanted[i] of `stream`, [.., model_dim].
  void Normalize(float* stream, std::span<const uint32_t> wanted, float* output) {
    for (size_t i = 0, end; i < wanted.size(); i = end) {  // rows that lie together at once
      for (end = i + 1; end < wanted.size() && wanted[end] - wanted[i] == end - i;) ++end;
      weights_.spec.final_norm.Run(weights_.final_norm, ops_, {stream + wanted[i] * model_dim(), model_dim()}, end - i,
                                   {output + i * model_dim(), model_dim()});
    }
  }

  // logits[i, :] of row wanted[i]; `normed` has room for [wanted, model_dim].
  void Logits(float* stream, std::span<const uint32_t> wanted, float* normed, float* logits) {
    if (wanted.empty()) return;
    Normalize(stream, wanted, normed);
    ops_.MatMul(matrix(), {normed, model_dim()}, wanted.size(), weights_.head_bias, {logits, vocab_size()});
    const size_t size = wanted.size() * vocab_size();
    const float scaling = weights_.spec.logits_scaling, softcap = weights_.spec.final_softcap;
    if (scaling != 1.0f) ops_.Scale(logits, size, 1.0f / scaling);
    if (softcap > 0.0f) ops_.Softcap(logits, size, softcap);
  }

 private:
  const Matrix& matrix() const { return weights_.head ? *weights_.head : weights_.embedding; }

  const ModelWeights& weights_;
  Operations& ops_;
};

}  // namespace skald

#endif  // SKALD_MODEL_DETAIL_OUTPUT_HEAD_H_
