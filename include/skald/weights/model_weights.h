// SPDX-License-Identifier: Apache-2.0
//
// All parameters of one model, in the form in which kernels read them. Plain data, immutable after
// loading, safe for concurrent reads. Matrices are [outputs, inputs]. Norm weights are what the
// norm multiplies by: for models whose norms multiply by (1 + w) that is 1 + w, so kernels know one
// form.

#ifndef SKALD_WEIGHTS_MODEL_WEIGHTS_H_
#define SKALD_WEIGHTS_MODEL_WEIGHTS_H_

#include <cstddef>
#include <optional>
#include <vector>

#include "skald/base/numeric.h"
#include "skald/weights/matrix.h"

namespace skald {

// With q = heads * head_dim and kv = kv_heads * head_dim:
struct AttentionWeights {
  Matrix qkv;  // [q + 2 * kv, model_dim]: query rows, then key rows, then value rows
  std::vector<float> qkv_bias;    // [q + 2 * kv] in the same order; empty when there is none
  std::vector<float> query_norm;  // [head_dim], for each head before RoPE; empty when there is none
  std::vector<float> key_norm;    // the same
  Matrix output;                   // [model_dim, q]
  std::vector<float> output_bias;  // [model_dim]; empty when there is none
};

// Of a recurrent layer; shapes are those of its RecurrenceSpec. What a kind does not have is empty.
struct RecurrentWeights {
  // [projected_dim, model_dim]. RG-LRU: the gate (linear_y), then what enters the convolution (linear_x); the Mamba
  // kinds as their in_proj.
  Matrix input;
  std::vector<float> input_bias;   // RG-LRU: [projected_dim]
  std::vector<float> conv;         // [conv_width, conv_channels]; the last tap multiplies the token itself
  std::vector<float> conv_bias;    // [conv_channels]
  Matrix output;                   // [model_dim, width]
  std::vector<float> output_bias;  // RG-LRU: [model_dim]

  // How fast the state fades. RG-LRU: -8 * softplus(recurrent_param), [width]; Mamba: -exp(A_log), [state_dim, width];
  // Mamba-2: -exp(A_log), [heads].
  std::vector<float> decay;

  // RG-LRU: the gates' block-diagonal matrices, input gates of all heads, then recurrence gates of all heads, each
  // [width / heads, width / heads], outputs in rows like every Matrix.
  std::vector<Matrix> gates;
  std::vector<float> gate_bias;  // [2 * width] in the same order

  // Mamba: x_proj [time_step_rank + 2 * state_dim, width] and dt_proj [width, time_step_rank].
  Matrix selection;
  Matrix time_step;
  std::vector<float> time_step_bias;  // Mamba: [width]; Mamba-2: [heads]
  std::vector<float> skip;            // D. Mamba: [width]; Mamba-2: [heads]
  std::vector<float> norm;            // Mamba-2: [width], on the gated output
};

struct FeedForwardWeights {
  Matrix gate_up;                   // [2 * feed_forward_dim, model_dim]: gate rows, then up rows
  std::vector<float> gate_up_bias;  // [2 * feed_forward_dim]; empty when there is none
  Matrix down;                      // [model_dim, feed_forward_dim]
  std::vector<float> down_bias;     // [model_dim]; empty when there is none
};

struct LayerWeights {
  std::vector<float> input_norm;  // [model_dim], before the mixer
  AttentionWeights attention;     // empty in recurrent layers
  RecurrentWeights recurrent;     // empty in attention layers
  std::vector<float>
      post_attention_norm;  // [model_dim], on the output of the mixer; empty without post-norms
  std::vector<float> feed_forward_norm;  // [model_dim], before the feed-forward block; empty without one
  FeedForwardWeights feed_forward;       // empty in Configs without kFeedForwardDim
  std::vector<float>
      post_feed_forward_norm;  // [model_dim], on its output; empty without post-norms
};

struct ModelWeights {
  DType dtype = DType::kBF16;  // of every matrix but those that the file holds quantised
  Matrix embedding;            // [vocab_size, model_dim]
  std::optional<Matrix>
      head;  // [vocab_size, model_dim]; absent when the embedding is the output head
  std::vector<float> final_norm;  // [model_dim]
  std::vector<LayerWeights> layers;
};

namespace internal {

template <class Layer, class Visitor>
void VisitLayer(Layer& layer, Visitor& visit) {
  auto& attention = layer.attention;
  auto& recurrent = layer.recurrent;
  auto& feed_forward = layer.feed_forward;
  for (auto* matrix : {&attention.qkv, &attention.output, &recurrent.input, &recurrent.selection,
                               &recurrent.time_step, &recurrent.output, &feed_forward.gate_up, &feed_forward.down}) {
    visit(*matrix);
  }
  for (auto& gate : recurrent.gates) visit(gate);
  for (auto* vector :
       {&layer.input_norm, &attention.qkv_bias, &attention.query_norm, &attention.key_norm, &attention.output_bias,
        &recurrent.input_bias, &recurrent.conv, &recurrent.conv_bias, &recurrent.decay, &recurrent.gate_bias,
        &recurrent.time_step_bias, &recurrent.skip, &recurrent.norm, &recurrent.output_bias,
        &layer.post_attention_norm, &layer.feed_forward_norm, &feed_forward.gate_up_bias, &feed_forward.down_bias,
        &layer.post_feed_forward_norm}) {
    visit(*vector);
  }
}

}  // namespace internal

// Calls `visit` with every parameter, a Matrix& or a std::vector<float>&, const where the weights are. The order is
// fixed. What a model does not have is visited as an empty one, except for a head.
template <class Weights, class Visitor>
void VisitParameters(Weights& weights, Visitor visit) {
  visit(weights.embedding);
  if (weights.head) visit(*weights.head);
  visit(weights.final_norm);
  for (auto& layer : weights.layers) internal::VisitLayer(layer, visit);
}

// Returns the bytes of all parameters, padding included.
inline size_t MemoryBytes(const ModelWeights& weights) {
  struct Counter {
    size_t& bytes;
    void operator()(const Matrix& matrix) const { bytes += matrix.data.size(); }
    void operator()(const std::vector<float>& vector) const { bytes += vector.size() * sizeof(float); }
  };
  size_t bytes = 0;
  VisitParameters(weights, Counter{bytes});
  return bytes;
}

}  // namespace skald

#endif  // SKALD_WEIGHTS_MODEL_WEIGHTS_H_
