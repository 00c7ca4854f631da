// SPDX-License-Identifier: Apache-2.0
//
// OutputHead: from the residual stream behind the last block to hidden states and logits: final norm, head, softcap.

#ifndef SKALD_MODEL_OUTPUT_HEAD_H_
#define SKALD_MODEL_OUTPUT_HEAD_H_

#include <cstddef>
#include <cstdint>
#include <span>

#include "skald/layers/model_weights.h"
#include "skald/layers/run/operations.h"
#include "skald/model/workspace.h"
#include "skald/weights/types/matrix.h"

namespace skald {

class OutputHead {
 public:
  // Everything must outlive this.
  OutputHead(const ModelWeights& weights, Operations& ops) : weights_(weights), ops_(ops) {}

  size_t model_dim() const;
  size_t vocab_size() const;

  // Grows the workspace's buffers to what logits of `rows` rows at a time need.
  void Reserve(size_t rows, Activations& activations) const;

  // output[i, :] = final norm of row wanted[i] of `stream`, [.., model_dim].
  void Normalize(float* stream, std::span<const uint32_t> wanted, float* output);

  // logits[i, :] of row wanted[i]; `normed` has room for [wanted, model_dim].
  void Logits(float* stream, std::span<const uint32_t> wanted, float* normed, float* logits);

 private:
  const Matrix& matrix() const { return weights_.head ? *weights_.head : weights_.embedding; }

  const ModelWeights& weights_;
  Operations& ops_;
};

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/model/detail/output_head.h"
#endif

#endif  // SKALD_MODEL_OUTPUT_HEAD_H_
