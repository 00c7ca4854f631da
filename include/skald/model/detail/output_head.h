// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/model/output_head.h.

#ifndef SKALD_MODEL_DETAIL_OUTPUT_HEAD_H_
#define SKALD_MODEL_DETAIL_OUTPUT_HEAD_H_

#include "skald/model/output_head.h"

#include "skald/base/inline.h"
#include "skald/layers/model_spec.h"
#include "skald/layers/run/multiplications.h"
#include "skald/layers/run/scratch.h"
#include "skald/layers/spec/norm.h"

namespace skald {

SKALD_INLINE size_t OutputHead::model_dim() const { return static_cast<size_t>(weights_.spec.model_dim); }

SKALD_INLINE size_t OutputHead::vocab_size() const { return static_cast<size_t>(weights_.spec.vocab_size); }

SKALD_INLINE void OutputHead::Reserve(size_t rows, Activations& activations) const {
  skald::Reserve(activations.normed, rows * model_dim());
  ReserveMatMul(matrix(), rows, activations.matmul);
}

SKALD_INLINE void OutputHead::Normalize(float* stream, std::span<const uint32_t> wanted, float* output) {
  for (size_t i = 0; i < wanted.size(); ++i) {
    weights_.spec.final_norm.Run(weights_.final_norm, ops_, {stream + wanted[i] * model_dim(), model_dim()}, 1,
                                 {output + i * model_dim(), model_dim()});
  }
}

SKALD_INLINE void OutputHead::Logits(float* stream, std::span<const uint32_t> wanted, float* normed, float* logits) {
  if (wanted.empty()) return;
  Normalize(stream, wanted, normed);
  ops_.MatMul(matrix(), {normed, model_dim()}, wanted.size(), {}, {logits, vocab_size()});
  const size_t size = wanted.size() * vocab_size();
  const float scaling = weights_.spec.logits_scaling, softcap = weights_.spec.final_softcap;
  if (scaling != 1.0f) ops_.Scale(logits, size, 1.0f / scaling);
  if (softcap > 0.0f) ops_.Softcap(logits, size, softcap);
}

}  // namespace skald

#endif  // SKALD_MODEL_DETAIL_OUTPUT_HEAD_H_
