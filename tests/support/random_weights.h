// SPDX-License-Identifier: Apache-2.0
//
// Weights from a seed, for tests and benchmarks that need a model of some shape but no checkpoint.
// The values keep activations near 1 through any number of layers: matrices have variance 1 /
// fan-in, norms are near 1.

#ifndef SKALD_TESTS_SUPPORT_RANDOM_WEIGHTS_H_
#define SKALD_TESTS_SUPPORT_RANDOM_WEIGHTS_H_

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "skald/base/numeric.h"
#include "skald/base/packed_layout.h"
#include "skald/configs/model_config.h"
#include "skald/weights/load.h"
#include "skald/weights/matrix.h"
#include "skald/weights/model_weights.h"

namespace skald::testing {

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
  T* data = matrix.As<T>();
  for (size_t panel = 0; panel < matrix.rows; panel += kLanes) {
    for (size_t k = 0; k < matrix.cols; ++k) {
      for (size_t n = panel; n < std::min(panel + kLanes, matrix.rows); ++n) {
        data[PackedIndex<T>(n, k, matrix.padded_cols)] =
            FromFloat<T>(scale * UniformAt(seed, n * matrix.cols + k));
      }
    }
  }
}

// Makes each parameter from a seed of its own, in a fixed order.
class RandomParameters {
 public:
  RandomParameters(uint64_t seed, DType dtype) : seed_(seed << 32), dtype_(dtype) {}

  Matrix MakeMatrix(size_t rows, size_t cols) {
    Matrix matrix(rows, cols, dtype_);
    if (dtype_ == DType::kF32) {
      FillMatrix<float>(++seed_, matrix);
    } else {
      FillMatrix<bf16>(++seed_, matrix);
    }
    return matrix;
  }

  std::vector<float> MakeVector(size_t size, float center) {
    std::vector<float> values(size);
    ++seed_;
    for (size_t i = 0; i < size; ++i) values[i] = center + 0.1f * UniformAt(seed_, i);
    return values;
  }

 private:
  uint64_t seed_;
  DType dtype_;
};

inline LayerWeights RandomLayer(const WeightShapes& shapes, RandomParameters& random) {
  const size_t model = shapes.model_dim, query = shapes.query_dim, qkv = query + 2 * shapes.kv_dim;
  LayerWeights layer;
  layer.input_norm = random.MakeVector(model, 1.0f);
  layer.attention.qkv = random.MakeMatrix(qkv, model);
  if (shapes.qkv_bias) layer.attention.qkv_bias = random.MakeVector(qkv, 0.0f);
  if (shapes.qk_norm) {
    layer.attention.query_norm = random.MakeVector(shapes.head_dim, 1.0f);
    layer.attention.key_norm = random.MakeVector(shapes.head_dim, 1.0f);
  }
  layer.attention.output = random.MakeMatrix(model, query);
  if (shapes.post_norms) layer.post_attention_norm = random.MakeVector(model, 1.0f);
  layer.feed_forward_norm = random.MakeVector(model, 1.0f);
  layer.feed_forward.gate_up = random.MakeMatrix(2 * shapes.feed_forward_dim, model);
  layer.feed_forward.down = random.MakeMatrix(model, shapes.feed_forward_dim);
  if (shapes.post_norms) layer.post_feed_forward_norm = random.MakeVector(model, 1.0f);
  return layer;
}

// Returns weights for the Config C; the bf16 ones are the rounded f32 ones of the same seed.
template <ModelConfig C>
ModelWeights RandomWeights(uint64_t seed, DType dtype = DType::kBF16) {
  constexpr WeightShapes shapes = WeightShapesOf<C>();
  RandomParameters random(seed, dtype);
  ModelWeights weights;
  weights.dtype = dtype;
  weights.embedding = random.MakeMatrix(shapes.vocab_size, shapes.model_dim);
  if (!shapes.tied_embeddings) {
    weights.head = random.MakeMatrix(shapes.vocab_size, shapes.model_dim);
  }
  weights.final_norm = random.MakeVector(shapes.model_dim, 1.0f);
  for (size_t i = 0; i < shapes.layers; ++i) weights.layers.push_back(RandomLayer(shapes, random));
  return weights;
}

}  // namespace skald::testing

#endif  // SKALD_TESTS_SUPPORT_RANDOM_WEIGHTS_H_
