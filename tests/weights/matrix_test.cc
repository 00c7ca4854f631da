// SPDX-License-Identifier: Apache-2.0

#include "skald/weights/types/matrix.h"
#include "skald/base/numbers/packed_layout.h"

#include <memory>
#include <span>
#include <utility>

#include "doctest/doctest.h"
#include "skald/base/aligned_buffer.h"

namespace skald {
namespace matrix_test {

TEST_CASE("a matrix owns its elements, zeroed, also after it was moved") {
  Matrix matrix(3, 5, DType::kF32);
  CHECK(matrix.data.size() == PackedSize(3, 5) * sizeof(float));
  CHECK(matrix.As<float>()[0] == 0.0f);
  matrix.As<float>()[0] = 7.0f;
  const Matrix moved = std::move(matrix);
  CHECK(moved.As<float>()[0] == 7.0f);
}

TEST_CASE("a matrix over somebody else's bytes keeps them alive and copies nothing") {
  auto buffer = std::make_shared<AlignedBuffer<std::byte>>(Matrix::BytesOf(3, 5, DType::kBF16));
  const std::span<const std::byte> bytes = *buffer;
  const std::weak_ptr<const void> watched = buffer;
  {
    Matrix matrix(3, 5, DType::kBF16, MatrixBytes(bytes, std::move(buffer)));
    const Matrix moved = std::move(matrix);
    CHECK(moved.data.data() == bytes.data());
    CHECK(moved.data.size() == Matrix::BytesOf(3, 5, DType::kBF16));
    CHECK(moved.NumPanels() == 1);
    CHECK_FALSE(watched.expired());
  }
  CHECK(watched.expired());
}

}  // namespace matrix_test
}  // namespace skald
