// SPDX-License-Identifier: Apache-2.0

#include "skald/weights/random_weights.h"
#include "skald/base/numbers/bf16.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "doctest/doctest.h"
#include "skald/base/threads/executor.h"
#include "skald/base/threads/thread_pool.h"
#include "skald/layers/kinds/recurrent/mamba.h"
#include "skald/layers/kinds/recurrent/mamba2.h"
#include "skald/layers/kinds/recurrent/rg_lru.h"
#include "skald/model/load.h"
#include "tests/support/layer_blocks.h"
#include "tests/support/unpack.h"
#include "tests/weights/load_tensors.h"
#include "tests/weights/tiny_checkpoint.h"

namespace skald {
namespace random_weights_test {

using testing::FeedForwardOf;
using testing::MixerOf;
using testing::TinyFull;

std::string ShapesOf(const ModelWeights& weights) {
  const testing::ParameterArrays parameters(weights);
  std::string text;
  const auto add = [&text](size_t size) { text += std::to_string(size) + " "; };
  for (const Matrix* matrix : parameters.matrices) {
    add(matrix->rows);
    add(matrix->cols);
    add(matrix->data.size());
  }
  for (const std::vector<float>* vector : parameters.vectors) add(vector->size());
  return text;
}

template <ModelConfig C>
void CheckShapes() {
  const Result<ModelWeights> loaded = testing::LoadTensors<C>(testing::TinyTensors<C>());
  REQUIRE(loaded);
  CHECK(ShapesOf(RandomWeights<C>(1)) == ShapesOf(*loaded));
}

TEST_CASE("Random weights have the shapes of loaded ones") {
  CheckShapes<TinyFull>();
  CheckShapes<testing::TinyHybrid>();
  CheckShapes<testing::TinyMambaModel>();
}

// Tests elsewhere hold results that follow from these numbers.
TEST_CASE("Random weights stay what they are") {
  const ModelWeights weights = RandomWeights<TinyFull>(5, DType::kF32);
  CHECK(testing::ElementOf(weights.embedding, 0, 0) == 0x1.3fb12ap-1f);
  CHECK(testing::ElementOf(FeedForwardOf(weights, 1).Of<GatedFeedForward>().down, 5, 9) == -0x1.c24078p-4f);
  CHECK(FeedForwardOf(weights, 1).post_norm.Of<RmsNorm>()[5] == 0x1.f9a91cp-1f);
}

TEST_CASE("Random recurrent layers neither forget at once nor remember for ever") {
  const auto between = [](const std::vector<float>& values, float min, float max) {
    return std::ranges::all_of(values, [=](float value) { return value >= min && value <= max; });
  };
  const ModelWeights hybrid = RandomWeights<testing::TinyHybrid>(1), mamba = RandomWeights<testing::TinyMambaModel>(1);
  CHECK(between(MixerOf(hybrid, 0).Of<RgLru>().decay, -1.0f, -0.01f));
  const auto check = [&](const auto& weights) {
    CHECK(between(weights.decay, -16.0f, -1.0f));
    CHECK(between(weights.time_step_bias, std::log(std::expm1(0.01f)), std::log(std::expm1(0.1f))));
  };
  check(MixerOf(hybrid, 2).Of<Mamba2>());
  check(MixerOf(mamba, 0).Of<Mamba>());
}

TEST_CASE("Random weights depend on the seed alone, and bf16 ones are the f32 ones rounded") {
  const ModelWeights a = RandomWeights<TinyFull>(7, DType::kF32);
  CHECK(testing::SameWeights(a, RandomWeights<TinyFull>(7, DType::kF32)));
  CHECK(!testing::SameWeights(a, RandomWeights<TinyFull>(8, DType::kF32)));
  const auto down = [](const ModelWeights& weights, size_t layer) -> const Matrix& {
    return FeedForwardOf(weights, layer).Of<GatedFeedForward>().down;
  };
  std::vector<float> rounded = testing::Unpack(down(a, 1));
  for (float& value : rounded) value = ToFloat(RoundToBF16(value));
  const ModelWeights b = RandomWeights<TinyFull>(7, DType::kBF16);
  CHECK(testing::Unpack(down(b, 1)) == rounded);
  CHECK(!testing::SameMatrix(down(a, 0), down(a, 1)));
}

TEST_CASE("Random weights are the same on any number of threads") {
  const ModelSpec spec = SpecOf<TinyFull>();
  const ModelWeights alone = *RandomWeights(spec, 7, DType::kMXFP4);
  CHECK(testing::SameWeights(alone, *RandomWeights(spec, 7, DType::kMXFP4, 3)));
}

TEST_CASE("Random matrices have mean 0 and variance 1 / columns") {
  Matrix matrix(200, 300, DType::kF32);
  ThreadPool alone(1);
  internal::FillMatrix(3, ExecutorRef(alone), matrix);
  double sum = 0.0, squares = 0.0;
  for (const double value : testing::Unpack(matrix)) {
    sum += value;
    squares += value * value;
  }
  const double count = 200.0 * 300.0;
  CHECK(std::abs(sum / count) < 5.0 / std::sqrt(300.0 * count));  // five standard errors
  CHECK(std::abs(300.0 * squares / count - 1.0) < 5.0 / std::sqrt(count));
}

}  // namespace random_weights_test
}  // namespace skald
