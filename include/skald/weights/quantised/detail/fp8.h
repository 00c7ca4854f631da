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
#include <memory>

#include "skald/weights/quantised/detail/float_rows.h"
#include "skald/weights/quantised/detail/stored_tensors.h"
#include "skald/weights/quantised/quantisation.h"

namespace skald::internal {

class Fp8Rows final : public FloatRows {
 public:
  // A scale for `block_rows` rows of `block_cols` columns.
  Fp8Rows(const TensorView& codes, const TensorView& scales, uint64_t block_rows, uint64_t block_cols)
      : FloatRows(codes.shape[0], codes.shape[1]),
        codes_(codes),
        scales_(scales),
        block_rows_(block_rows),
        block_cols_(block_cols) {
    for (unsigned i = 0; i < 256; ++i) numbers_[i] = FromE4M3(i);
    stored_as = "FP8";
    stored_bytes = StoredTensors::BytesOf({&codes, &scales});
    dtype = AreSimple() ? DType::kBF16 : DType::kF32;
  }

 private:
  uint64_t blocks_of_row() const { return CeilDiv(shape[1], block_cols_); }

  // Whether all scales are powers of two by which no number gets lost: products have the four bits of their codes.
  bool AreSimple() const {
    const uint64_t count = CeilDiv(shape[0], block_rows_) * blocks_of_row();
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
    const auto cols = static_cast<size_t>(shape[1]), step = static_cast<size_t>(block_cols_);
    const std::byte* const codes = codes_.bytes.data() + row * cols;
    const size_t first = row / static_cast<size_t>(block_rows_) * static_cast<size_t>(blocks_of_row());
    for (size_t begin = 0; begin < cols; begin += step) {
      const float scale = FloatAt(scales_, first + begin / step);
      for (size_t k = begin; k < std::min(cols, begin + step); ++k) values[k] = numbers_[ByteAt(codes, k)] * scale;
    }
  }

  const TensorView& codes_;
  const TensorView& scales_;
  uint64_t block_rows_, block_cols_;
  float numbers_[256];
};

/// The weight of a module with `weight` of FP8 and a tensor of scales, in one of the ways that they may be divided.
inline std::unique_ptr<QuantisedRows> Fp8Of(const ModuleTensors& module, std::string_view scales_name,
                                            const Quantisation& quantisation) {
  const TensorView* const codes = module.RequireMatrix("weight", "F8_E4M3");
  if (codes == nullptr) return nullptr;
  const uint64_t rows = codes->shape[0], cols = codes->shape[1];
  const uint64_t block_rows = quantisation.block_rows, block_cols = quantisation.block_cols;
  if (block_rows != 0) {
    const std::vector<uint64_t> blocks = {CeilDiv(rows, block_rows), CeilDiv(cols, block_cols)};
    const TensorView* const scales = module.Require(scales_name, "F32 BF16 F16 F8_E8M0 U8", {blocks});
    return scales == nullptr ? nullptr : std::make_unique<Fp8Rows>(*codes, *scales, block_rows, block_cols);
  }
  const std::vector<uint64_t> of_rows = {rows, 1};
  const TensorView* const scales = module.Require(scales_name, kFloatTypes, {of_rows, {rows}, {1}, {1, 1}, {}});
  if (scales == nullptr) return nullptr;
  const bool is_one = scales->bytes.size() == SizeOf(*scales->dtype);
  return std::make_unique<Fp8Rows>(*codes, *scales, is_one ? rows : 1, cols);
}

/// Whether a tensor is the weight of such a module.
inline bool IsFp8(const TensorView& tensor) {
  return tensor.dtype_name == "F8_E4M3" && tensor.name.ends_with(".weight");
}

}  // namespace skald::internal

#endif  // SKALD_WEIGHTS_QUANTISED_DETAIL_FP8_H_
