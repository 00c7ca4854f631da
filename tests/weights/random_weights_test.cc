// SPDX-License-Identifier: Apache-2.0

#include "tests/support/random_weights.h"

#include <cmath>
#include <string>
#include <vector>

#include "doctest/doctest.h"
#include "skald/weights/load.h"
#include "tests/support/safetensors_writer.h"
#include "tests/support/unpack.h"
#include "tests/weights/tiny_checkpoint.h"

namespace skald {
namespace {

using testing::RandomWeights;
using testing::TinyFull;

std::string ShapesOf(const ModelWeights& weights) {
  const testing::ParameterList parameters(weights);
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

TEST_CASE("Random weights have the shapes of loaded ones") {
  const testing::TemporaryFolder folder;
  testing::WriteFile(folder.path() / "model.safetensors",
                     testing::SafetensorsImage(testing::TinyTensors<TinyFull>()));
  const Result<ModelWeights> loaded = LoadWeights<TinyFull>(folder.path());
  REQUIRE(loaded);
  CHECK(ShapesOf(RandomWeights<TinyFull>(1)) == ShapesOf(*loaded));
}

TEST_CASE("Random weights depend on the seed alone, and bf16 ones are the f32 ones rounded") {
  const ModelWeights a = RandomWeights<TinyFull>(7, DType::kF32);
  CHECK(testing::SameWeights(a, RandomWeights<TinyFull>(7, DType::kF32)));
  CHECK(!testing::SameWeights(a, RandomWeights<TinyFull>(8, DType::kF32)));
  std::vector<float> rounded = testing::Unpack(a.layers[1].feed_forward.down);
  for (float& value : rounded) value = ToFloat(RoundToBF16(value));
  const ModelWeights b = RandomWeights<TinyFull>(7, DType::kBF16);
  CHECK(testing::Unpack(b.layers[1].feed_forward.down) == rounded);
  CHECK(!testing::SameMatrix(a.layers[0].feed_forward.down, a.layers[1].feed_forward.down));
}

TEST_CASE("Random matrices have mean 0 and variance 1 / columns") {
  Matrix matrix(200, 300, DType::kF32);
  testing::FillMatrix<float>(3, matrix);
  double sum = 0.0, squares = 0.0;
  for (const double value : testing::Unpack(matrix)) {
    sum += value;
    squares += value * value;
  }
  const double count = 200.0 * 300.0;
  CHECK(std::abs(sum / count) < 5.0 / std::sqrt(300.0 * count));  // five standard errors
  CHECK(std::abs(300.0 * squares / count - 1.0) < 5.0 / std::sqrt(count));
}

}  // namespace
}  // namespace skald
