// SPDX-License-Identifier: Apache-2.0
//
// Which parameters a model has and of which shapes, with the parameters themselves from any source: random numbers, or
// nothing yet where only the shapes are wanted.

#ifndef SKALD_WEIGHTS_BUILD_WEIGHTS_H_
#define SKALD_WEIGHTS_BUILD_WEIGHTS_H_

#include <cmath>
#include <cstddef>

#include "skald/configs/layer.h"
#include "skald/configs/recurrence.h"
#include "skald/weights/model_weights.h"
#include "skald/weights/weight_shapes.h"

namespace skald {
namespace internal {

template <class Source>
AttentionWeights BuildAttention(const WeightShapes& shapes, Source& source) {
  const size_t model = shapes.model_dim, query = shapes.query_dim, qkv = query + 2 * shapes.kv_dim;
  AttentionWeights attention;
  attention.qkv = source.MakeMatrix(qkv, model);
  if (shapes.qkv_bias) attention.qkv_bias = source.MakeVector(qkv, 0.0f);
  if (shapes.qk_norm) {
    attention.query_norm = source.MakeVector(shapes.head_dim, 1.0f);
    attention.key_norm = source.MakeVector(shapes.head_dim, 1.0f);
  }
  attention.output = source.MakeMatrix(model, query);
  if (shapes.attention_output_bias) attention.output_bias = source.MakeVector(model, 0.0f);
  return attention;
}

// Adds what only an RG-LRU has. Its state is multiplied by exp(decay * gate) at each token, with a gate around 1 / 2.
template <class Source>
void AddRgLru(const RecurrenceSpec& spec, size_t model, Source& source, RecurrentWeights& weights) {
  const size_t width = spec.width, block = width / spec.heads;
  weights.input_bias = source.MakeVector(2 * width, 0.0f);
  weights.output_bias = source.MakeVector(model, 0.0f);
  weights.decay = source.MakeVector(width, -0.5f, 0.49f);
  for (int i = 0; i < 2 * spec.heads; ++i) weights.gates.push_back(source.MakeMatrix(block, block));
  weights.gate_bias = source.MakeVector(2 * width, 0.0f);
}

// Adds what only the Mamba kinds have. Their state is multiplied by exp(decay * softplus(time step)) at each token;
// the softplus of these biases lies between 0.01 and 0.1.
template <class Source>
void AddStateSpace(const RecurrenceSpec& spec, Source& source, RecurrentWeights& weights) {
  const bool is_mamba = spec.kind == LayerKind::kMamba;
  const size_t width = spec.width, state_dim = spec.state_dim, rank = spec.time_step_rank;
  const size_t steps = is_mamba ? spec.width : spec.heads;  // channels, or heads, with a time step of their own
  weights.decay = source.MakeVector(is_mamba ? state_dim * width : steps, -8.5f, 7.5f);
  weights.time_step_bias = source.MakeVector(steps, -3.43f, 1.15f);
  weights.skip = source.MakeVector(steps, 1.0f);
  if (is_mamba) {
    weights.selection = source.MakeMatrix(rank + 2 * state_dim, width);
    weights.time_step = source.MakeMatrix(width, rank);
  } else {
    weights.norm = source.MakeVector(width, 1.0f);
  }
}

template <class Source>
RecurrentWeights BuildRecurrence(const RecurrenceSpec& spec, size_t model, Source& source) {
  const size_t channels = spec.conv_channels(), taps = spec.conv_width;
  RecurrentWeights weights;
  weights.input = source.MakeMatrix(spec.projected_dim(), model);
  weights.conv = source.MakeVector(taps * channels, 0.0f, std::sqrt(3.0f / static_cast<float>(taps)));
  weights.conv_bias = source.MakeVector(channels, 0.0f);
  weights.output = source.MakeMatrix(model, spec.width);
  if (spec.kind == LayerKind::kRgLru) {
    AddRgLru(spec, model, source, weights);
  } else {
    AddStateSpace(spec, source, weights);
  }
  return weights;
}

template <class Source>
FeedForwardWeights BuildFeedForward(const WeightShapes& shapes, Source& source) {
  const size_t model = shapes.model_dim, hidden = shapes.feed_forward_dim;
  FeedForwardWeights feed_forward;
  feed_forward.gate_up = source.MakeMatrix(2 * hidden, model);
  feed_forward.down = source.MakeMatrix(model, hidden);
  if (shapes.feed_forward_bias) {
    feed_forward.gate_up_bias = source.MakeVector(2 * hidden, 0.0f);
    feed_forward.down_bias = source.MakeVector(model, 0.0f);
  }
  return feed_forward;
}

template <class Source>
LayerWeights BuildLayer(const WeightShapes& shapes, LayerKind kind, Source& source) {
  const size_t model = shapes.model_dim;
  LayerWeights layer;
  layer.input_norm = source.MakeVector(model, 1.0f);
  if (IsAttention(kind)) {
    layer.attention = BuildAttention(shapes, source);
  } else {
    layer.recurrent = BuildRecurrence(shapes.recurrences.Of(kind), model, source);
  }
  if (shapes.post_norms) layer.post_attention_norm = source.MakeVector(model, 1.0f);
  if (shapes.feed_forward_dim == 0) return layer;
  layer.feed_forward_norm = source.MakeVector(model, 1.0f);
  layer.feed_forward = BuildFeedForward(shapes, source);
  if (shapes.post_norms) layer.post_feed_forward_norm = source.MakeVector(model, 1.0f);
  return layer;
}

}  // namespace internal

// Returns the weights that `shapes` describes. A Source makes the matrices as MakeMatrix(rows, cols), and the vectors
// as MakeVector(size, center, spread), whose values usually lie within `spread` (if given) of `center`. It is asked in
// a fixed order, on which the values of random weights, and so recorded results, depend.
template <class Source>
ModelWeights BuildWeights(const WeightShapes& shapes, Source& source) {
  ModelWeights weights;
  weights.embedding = source.MakeMatrix(shapes.vocab_size, shapes.model_dim);
  if (!shapes.tied_embeddings) weights.head = source.MakeMatrix(shapes.vocab_size, shapes.model_dim);
  weights.final_norm = source.MakeVector(shapes.model_dim, 1.0f);
  for (const LayerKind kind : shapes.layers) weights.layers.push_back(internal::BuildLayer(shapes, kind, source));
  return weights;
}

}  // namespace skald

#endif  // SKALD_WEIGHTS_BUILD_WEIGHTS_H_
