// SPDX-License-Identifier: Apache-2.0
//
// Weights from a seed, to try or measure a Config without a checkpoint. The values keep activations near 1 through any
// number of layers: matrices have variance 1 / fan-in, norms are near 1, and recurrent state fades slowly.

#ifndef SKALD_WEIGHTS_RANDOM_WEIGHTS_H_
#define SKALD_WEIGHTS_RANDOM_WEIGHTS_H_

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "skald/base/group_layout.h"
#include "skald/base/numeric.h"
#include "skald/base/packed_layout.h"
#include "skald/configs/layer.h"
#include "skald/configs/model_config.h"
#include "skald/configs/recurrence.h"
#include "skald/weights/matrix.h"
#include "skald/weights/model_weights.h"
#include "skald/weights/pack_groups.h"
#include "skald/weights/pack_rows.h"
#include "skald/weights/weight_shapes.h"

namespace skald {
namespace internal {

// SplitMix64 (Steele, Lea and Flood 2014) as a function of a counter, so that an element's value
// depends on the seed and on where it stands, and not on element type or order of filling.
inline float UniformAt(uint64_t seed, uint64_t index) {
  uint64_t z = seed + (index + 1) * 0x9E3779B97F4A7C15u;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  z ^= z >> 31;
  return static_cast<float>(static_cast<int32_t>(z >> 32)) * 0x1p-31f;  // in [-1, 1)
}

template <class T>
void FillMatrix(uint64_t seed, Matrix& matrix) {
  const float scale =
      std::sqrt(3.0f / static_cast<float>(matrix.cols));  // a uniform value has variance 1 / 3
  std::vector<float> values(kLanes * matrix.cols);
  T* output = matrix.As<T>();
  for (size_t panel = 0; panel < matrix.rows; panel += kLanes) {
    for (size_t i = 0; i < values.size(); ++i) values[i] = scale * UniformAt(seed, panel * matrix.cols + i);
    PackRow rows[kLanes];
    for (size_t n = 0; n < std::min(kLanes, matrix.rows - panel); ++n) {
      rows[n] = {reinterpret_cast<const std::byte*>(values.data() + n * matrix.cols), DType::kF32};
    }
    PackPanel(rows, matrix.cols, output);
    output += PackedBytes<T>(kLanes, matrix.cols) / sizeof(T);
  }
}

// Makes each parameter from a seed of its own, in a fixed order.
class RandomParameters {
 public:
  RandomParameters(uint64_t seed, DType dtype) : seed_(seed << 32), dtype_(dtype) {}

  Matrix MakeMatrix(size_t rows, size_t cols) {
    Matrix matrix(rows, cols, dtype_);
    VisitWeightType(dtype_, [&]<class T>() { FillMatrix<T>(++seed_, matrix); });
    return matrix;
  }

  // Values from center - spread to center + spread.
  std::vector<float> MakeVector(size_t size, float center, float spread = 0.1f) {
    std::vector<float> values(size);
    ++seed_;
    for (size_t i = 0; i < size; ++i) values[i] = center + spread * UniformAt(seed_, i);
    return values;
  }

 private:
  uint64_t seed_;
  DType dtype_;
};

inline AttentionWeights RandomAttention(const WeightShapes& shapes, RandomParameters& random) {
  const size_t model = shapes.model_dim, query = shapes.query_dim, qkv = query + 2 * shapes.kv_dim;
  AttentionWeights attention;
  attention.qkv = random.MakeMatrix(qkv, model);
  if (shapes.qkv_bias) attention.qkv_bias = random.MakeVector(qkv, 0.0f);
  if (shapes.qk_norm) {
    attention.query_norm = random.MakeVector(shapes.head_dim, 1.0f);
    attention.key_norm = random.MakeVector(shapes.head_dim, 1.0f);
  }
  attention.output = random.MakeMatrix(model, query);
  if (shapes.attention_output_bias) attention.output_bias = random.MakeVector(model, 0.0f);
  return attention;
}

// Adds what only an RG-LRU has. Its state is multiplied by exp(decay * gate) at each token, with a gate around 1 / 2.
inline void AddRgLru(const RecurrenceSpec& spec, size_t model, RandomParameters& random, RecurrentWeights& weights) {
  const size_t width = spec.width, block = width / spec.heads;
  weights.input_bias = random.MakeVector(2 * width, 0.0f);
  weights.output_bias = random.MakeVector(model, 0.0f);
  weights.decay = random.MakeVector(width, -0.5f, 0.49f);
  for (int i = 0; i < 2 * spec.heads; ++i) weights.gates.push_back(random.MakeMatrix(block, block));
  weights.gate_bias = random.MakeVector(2 * width, 0.0f);
}

// Adds what only the Mamba kinds have. Their state is multiplied by exp(decay * softplus(time step)) at each token;
// the softplus of these biases lies between 0.01 and 0.1.
inline void AddStateSpace(const RecurrenceSpec& spec, RandomParameters& random, RecurrentWeights& weights) {
  const bool is_mamba = spec.kind == LayerKind::kMamba;
  const size_t width = spec.width, state_dim = spec.state_dim, rank = spec.time_step_rank;
  const size_t steps = is_mamba ? spec.width : spec.heads;  // channels, or heads, with a time step of their own
  weights.decay = random.MakeVector(is_mamba ? state_dim * width : steps, -8.5f, 7.5f);
  weights.time_step_bias = random.MakeVector(steps, -3.43f, 1.15f);
  weights.skip = random.MakeVector(steps, 1.0f);
  if (is_mamba) {
    weights.selection = random.MakeMatrix(rank + 2 * state_dim, width);
    weights.time_step = random.MakeMatrix(width, rank);
  } else {
    weights.norm = random.MakeVector(width, 1.0f);
  }
}

inline RecurrentWeights RandomRecurrence(const RecurrenceSpec& spec, size_t model, RandomParameters& random) {
  const size_t channels = spec.conv_channels(), taps = spec.conv_width;
  RecurrentWeights weights;
  weights.input = random.MakeMatrix(spec.projected_dim(), model);
  weights.conv = random.MakeVector(taps * channels, 0.0f, std::sqrt(3.0f / static_cast<float>(taps)));
  weights.conv_bias = random.MakeVector(channels, 0.0f);
  weights.output = random.MakeMatrix(model, spec.width);
  if (spec.kind == LayerKind::kRgLru) {
    AddRgLru(spec, model, random, weights);
  } else {
    AddStateSpace(spec, random, weights);
  }
  return weights;
}

inline FeedForwardWeights RandomFeedForward(const WeightShapes& shapes, RandomParameters& random) {
  const size_t model = shapes.model_dim, hidden = shapes.feed_forward_dim;
  FeedForwardWeights feed_forward;
  feed_forward.gate_up = random.MakeMatrix(2 * hidden, model);
  feed_forward.down = random.MakeMatrix(model, hidden);
  if (shapes.feed_forward_bias) {
    feed_forward.gate_up_bias = random.MakeVector(2 * hidden, 0.0f);
    feed_forward.down_bias = random.MakeVector(model, 0.0f);
  }
  return feed_forward;
}

// The order of the parameters decides their values, which recorded results depend on.
inline LayerWeights RandomLayer(const WeightShapes& shapes, LayerKind kind, RandomParameters& random) {
  const size_t model = shapes.model_dim;
  LayerWeights layer;
  layer.input_norm = random.MakeVector(model, 1.0f);
  if (IsAttention(kind)) {
    layer.attention = RandomAttention(shapes, random);
  } else {
    layer.recurrent = RandomRecurrence(shapes.recurrences.Of(kind), model, random);
  }
  if (shapes.post_norms) layer.post_attention_norm = random.MakeVector(model, 1.0f);
  if (shapes.feed_forward_dim == 0) return layer;
  layer.feed_forward_norm = random.MakeVector(model, 1.0f);
  layer.feed_forward = RandomFeedForward(shapes, random);
  if (shapes.post_norms) layer.post_feed_forward_norm = random.MakeVector(model, 1.0f);
  return layer;
}

}  // namespace internal

// Returns weights for the Config C that are a function of `seed`; those of other types are the rounded f32 ones.
template <ModelConfig C>
ModelWeights RandomWeights(uint64_t seed, DType dtype = DType::kBF16) {
  constexpr WeightShapes shapes = WeightShapesOf<C>();
  internal::RandomParameters random(seed, dtype);
  ModelWeights weights;
  weights.dtype = dtype;
  weights.embedding = random.MakeMatrix(shapes.vocab_size, shapes.model_dim);
  if (!shapes.tied_embeddings) {
    weights.head = random.MakeMatrix(shapes.vocab_size, shapes.model_dim);
  }
  weights.final_norm = random.MakeVector(shapes.model_dim, 1.0f);
  for (const LayerKind kind : shapes.layers) weights.layers.push_back(internal::RandomLayer(shapes, kind, random));
  return weights;
}

}  // namespace skald

#endif  // SKALD_WEIGHTS_RANDOM_WEIGHTS_H_
