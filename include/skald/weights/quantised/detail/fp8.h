// SPDX-License-Identifier: Apache-2.0
//
// Weights of eight-bit floats (float8_e4m3fn) with a scale for each block, row or matrix: transformers' fp8
// (DeepSeek-V3, Qwen 3), fbgemm_fp8 and the floats of compressed-tensors.

#ifndef SKALD_WEIGHTS_QUANTISED_DETAIL_FP8_H_
#define SKALD_WEIGHTS_QUANTISED_DETAIL_FP8_H_

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>

#include "skald/base/numbers/packed_layout.h"
#include "skald/weights/quantised/detail/float_rows.h"
#include "skald/weights/quantised/detail/stored_tensors.h"
#include "skald/weights/quantised/quantisation.h"

namespace skald::internal {

/// A block of F8: a scale, codes.
inline void DecodeF8(const std::byte* block, float* numbers) {
  float scale;
  std::memcpy(&scale, block, sizeof(scale));
  for (size_t i = 0; i < kTile; ++i) numbers[i] = FromE4M3(ByteAt(block + sizeof(scale), i)) * scale;
}
inline constexpr GroupFormat kF8Format = {DType::kF8, kTile, sizeof(float) + kTile, nullptr, nullptr, DecodeF8};

class Fp8Rows final : public FloatRows {
 public:
  // The rows of a matrix, and a scale for `rows` rows of `cols` columns of each.
  struct Blocks {
    uint64_t matrix_rows, rows, cols;
  };

  Fp8Rows(const TensorView& codes, const TensorView& scales, const Blocks& blocks)
      : FloatRows(codes.bytes.size() / codes.shape.back(), codes.shape.back()),
        codes_(codes),
        scales_(scales),
        blocks_(blocks) {
    for (unsigned i = 0; i < 256; ++i) numbers_[i] = FromE4M3(i);
    stored_as = "FP8";
    stored_bytes = StoredTensors::BytesOf({&codes, &scales});
    dtype = AreSimple() ? DType::kBF16 : DType::kF32;
    const bool fits = shape[1] % kTile == 0 && (blocks.cols % kTile == 0 || blocks.cols >= shape[1]);
    if (fits && dtype == DType::kF32) format = &kF8Format;
  }

  void Write(size_t first, size_t count, std::byte* to) const override {
    if (format == nullptr) return FloatRows::Write(first, count, to);
    for (size_t row = first; row < first + count; ++row) {
      for (size_t k = 0; k < shape[1]; k += kTile, to += kF8Format.block_bytes) {
        const float scale = ScaleAt(row, k);
        std::memcpy(to, &scale, sizeof(scale));
        std::memcpy(to + sizeof(scale), CodesFrom(row, k), kTile);
      }
    }
  }

  /// Of one matrix.
  size_t matrix_rows() const { return static_cast<size_t>(blocks_.matrix_rows); }
  /// Whether 32 codes that follow each other in a column have one scale.
  bool SharesScalesInColumns() const {
    return matrix_rows() % kTile == 0 && (blocks_.rows % kTile == 0 || blocks_.rows >= matrix_rows());
  }
  float ScaleAt(size_t row, size_t col) const { return FloatAt(scales_, ScaleIndex(row, col)); }
  /// The codes of a row from a column on; those of the next row are shape[1] after them.
  const std::byte* CodesFrom(size_t row, size_t col) const {
    return codes_.bytes.data() + row * static_cast<size_t>(shape[1]) + col;
  }

 private:
  uint64_t blocks_of_row() const { return CeilDiv(shape[1], blocks_.cols); }
  uint64_t blocks_of_matrix() const { return CeilDiv(blocks_.matrix_rows, blocks_.rows) * blocks_of_row(); }

  size_t ScaleIndex(size_t row, size_t k) const {
    const uint64_t matrix = row / blocks_.matrix_rows, line = row % blocks_.matrix_rows / blocks_.rows;
    return static_cast<size_t>(matrix * blocks_of_matrix() + line * blocks_of_row() + k / blocks_.cols);
  }

  // Whether all scales are powers of two by which no number gets lost: products have the four bits of their codes.
  bool AreSimple() const {
    const uint64_t count = shape[0] / blocks_.matrix_rows * blocks_of_matrix();
    for (uint64_t i = 0; i < count; ++i) {
      int exponent;
      const float scale = FloatAt(scales_, static_cast<size_t>(i));
      if (!(std::abs(scale) < 0x1p+100f) || std::abs(std::frexp(scale, &exponent)) != 0.5f || exponent < -100) {
        return false;
      }
    }
    return true;
  }

  void Values(size_t row, float* values) const override {
    const auto cols = static_cast<size_t>(shape[1]), step = static_cast<size_t>(blocks_.cols);
    const std::byte* const codes = CodesFrom(row, 0);
    const size_t first = ScaleIndex(row, 0);
    for (size_t begin = 0; begin < cols; begin += step) {
      const float scale = FloatAt(scales_, first + begin / step);
      for (size_t k = begin; k < std::min(cols, begin + step); ++k) values[k] = numbers_[ByteAt(codes, k)] * scale;
    }
  }

  const TensorView& codes_;
  const TensorView& scales_;
  Blocks blocks_;
  float numbers_[256];
};

/// Each of some stacked matrices transposed. Their columns must share scales.
class TransposedFp8Rows final : public QuantisedRows {
 public:
  /// Of `rows`, which must outlive it.
  explicit TransposedFp8Rows(const Fp8Rows& rows)
      : QuantisedRows(rows.shape[0] / rows.matrix_rows() * rows.shape[1], rows.matrix_rows()), rows_(rows) {
    format = &kF8Format;
  }

  void Write(size_t first, size_t count, std::byte* to) const override {
    const auto cols = static_cast<size_t>(rows_.shape[1]);
    for (size_t k = 0; k < shape[1]; k += kTile) {  // the codes of all rows, which are side by side, before the next
      std::byte* block = to + k / kTile * kF8Format.block_bytes;
      for (size_t row = first; row < first + count; ++row, block += row_bytes()) {
        const size_t line = row / cols * rows_.matrix_rows() + k, col = row % cols;
        const float scale = rows_.ScaleAt(line, col);
        std::memcpy(block, &scale, sizeof(scale));
        const std::byte* const codes = rows_.CodesFrom(line, col);
        for (size_t i = 0; i < kTile; ++i) block[sizeof(scale) + i] = codes[i * cols];
      }
    }
  }

 private:
  const Fp8Rows& rows_;
};

inline bool HasShape(const TensorView* tensor, const std::vector<uint64_t>& shape) {
  return tensor != nullptr && std::ranges::equal(tensor->shape, shape);
}

/// The weight of a module with `weight` of FP8 and a tensor of scales, in one of the ways that they may be divided.
inline std::unique_ptr<QuantisedRows> Fp8Of(const ModuleTensors& module, std::string_view scales_name,
                                            const Quantisation& quantisation) {
  const TensorView* const codes = module.RequireMatrix("weight", "F8_E4M3");
  if (codes == nullptr) return nullptr;
  const uint64_t rows = codes->shape[0], cols = codes->shape[1];
  const uint64_t block_rows = quantisation.block_rows, block_cols = quantisation.block_cols;
  if (block_rows != 0) {
    const std::vector<uint64_t> blocks = {CeilDiv(rows, block_rows), CeilDiv(cols, block_cols)};
    if (!quantisation.also_rows || HasShape(module.Find(scales_name), blocks)) {
      const TensorView* const scales = module.Require(scales_name, "F32 BF16 F16 F8_E8M0 U8", {blocks});
      if (scales == nullptr) return nullptr;
      return std::make_unique<Fp8Rows>(*codes, *scales, Fp8Rows::Blocks{rows, block_rows, block_cols});
    }
  }
  const std::vector<uint64_t> of_rows = {rows, 1};
  const TensorView* const scales = module.Require(scales_name, kFloatTypes, {of_rows, {rows}, {1}, {1, 1}, {}});
  if (scales == nullptr) return nullptr;
  const bool is_one = scales->bytes.size() == SizeOf(*scales->dtype);
  return std::make_unique<Fp8Rows>(*codes, *scales, Fp8Rows::Blocks{rows, is_one ? rows : 1, cols});
}

/// The weights of all experts in one tensor [experts, rows, cols] of FP8: blocks with scales NAME_scale_inv, or
/// fbgemm's (Llama 4), whose columns are outputs, with scales NAME_scale [experts, 1, cols] or [experts, cols, 1].
inline std::unique_ptr<QuantisedRows> Fp8ExpertsOf(const ModuleTensors& module, std::string_view part,
                                                   const Quantisation& quantisation) {
  const TensorView* const codes = module.RequireMatrix(part, "F8_E4M3", /*stacked=*/true);
  if (codes == nullptr) return nullptr;
  const uint64_t experts = codes->shape[0], rows = codes->shape[1], cols = codes->shape[2];
  const bool has_blocks = quantisation.block_rows != 0;
  Fp8Rows::Blocks blocks = {rows, rows, 1};
  if (has_blocks) blocks.rows = quantisation.block_rows, blocks.cols = quantisation.block_cols;
  const std::vector<uint64_t> shape = {experts, CeilDiv(rows, blocks.rows), CeilDiv(cols, blocks.cols)};
  std::vector<uint64_t> other = shape;
  if (!has_blocks) std::swap(other[1], other[2]);
  const std::string name = Concat({part, has_blocks ? "_scale_inv" : "_scale"});
  const TensorView* const scales =
      module.Require(name, has_blocks ? "F32 BF16 F16 F8_E8M0 U8" : kFloatTypes, {shape, other});
  if (scales == nullptr) return nullptr;
  auto found = std::make_unique<Fp8Rows>(*codes, *scales, blocks);
  if (found->SharesScalesInColumns()) found->transposed = std::make_unique<TransposedFp8Rows>(*found);
  return found;
}

/// Whether a tensor is the weight of such a module, or of experts.
inline bool IsFp8(const TensorView& tensor) { return tensor.dtype_name == "F8_E4M3" && tensor.shape.size() > 1; }

}  // namespace skald::internal

#endif  // SKALD_WEIGHTS_QUANTISED_DETAIL_FP8_H_
