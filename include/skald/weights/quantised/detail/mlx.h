// SPDX-License-Identifier: Apache-2.0
//
// MLX's quantised weights: weight [rows, cols * bits / 32], words of codes from the lowest bits on; scales and biases
// [rows, groups]: weight = scale * code + bias. In the modes mxfp4, nvfp4 and mxfp8 codes are floats, and scales (U8)
// exponents or, of nvfp4, floats of eight bits, without biases. Those of experts are stacked: each tensor has an axis
// of them before.

#ifndef SKALD_WEIGHTS_QUANTISED_DETAIL_MLX_H_
#define SKALD_WEIGHTS_QUANTISED_DETAIL_MLX_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "skald/base/text/message.h"
#include "skald/weights/files/tensor_view.h"
#include "skald/weights/quantised/detail/compressed_tensors.h"
#include "skald/weights/quantised/detail/fp8.h"
#include "skald/weights/quantised/detail/group_rows.h"
#include "skald/weights/quantised/detail/stored_tensors.h"
#include "skald/weights/quantised/quantisation.h"
#include "skald/weights/types/quantised_rows.h"

namespace skald::internal {

class MlxRows final : public GroupRows {
 public:
  MlxRows(const TensorView& codes, const TensorView& scales, const TensorView& biases, uint64_t cols,
          const QuantisedSizes& sizes)
      : GroupRows(codes.bytes.size() / 4 / codes.shape.back(), cols, sizes.group),
        codes_(codes),
        scales_(scales),
        biases_(biases),
        bits_(sizes.bits) {
    stored_as = Concat({"MLX, ", std::to_string(bits_), " bits"});
    stored_bytes = StoredTensors::BytesOf({&codes, &scales, &biases});
    ChooseForm(0, (1 << bits_) - 1);
  }

 private:
  void Codes(size_t first, size_t count, int16_t* codes) const override {
    const auto cols = static_cast<size_t>(shape[1]), line = codes_.bytes.size() / static_cast<size_t>(shape[0]);
    for (size_t r = 0; r < count; ++r) {
      const std::byte* const row = codes_.bytes.data() + (first + r) * line;
      for (size_t k = 0; k < cols; ++k) *codes++ = static_cast<int16_t>(BitsAt(row, k, bits_));
    }
  }

  void Numbers(size_t row, ScaleAndZero* groups) const override {
    for (size_t g = 0; g < num_groups(); ++g) {
      groups[g].scale = FloatAt(scales_, row * num_groups() + g);
      groups[g].offset = FloatAt(biases_, row * num_groups() + g);
    }
  }

  const TensorView &codes_, &scales_, &biases_;
  int bits_;
};

/// Floats: their words are the bytes that other methods have.
class MlxFloatRows final : public QuantisedRows {
 public:
  MlxFloatRows(const TensorView& words, const TensorView& scales, uint64_t cols, const QuantisedSizes& sizes)
      : QuantisedRows(words.bytes.size() / 4 / words.shape.back(), cols),
        shape_of_codes_{shape[0], words.shape.back() * 4},
        shape_of_scales_{shape[0], cols / sizes.group},
        codes_(words),
        scales_(scales) {
    codes_.shape = shape_of_codes_, scales_.shape = shape_of_scales_;
    if (sizes.bits == 8) {
      rows_ = std::make_unique<Fp8Rows>(codes_, scales_, Fp8Rows::Blocks{shape[0], 1, sizes.group});
    } else if (sizes.group == Mxfp4Rows::kGroup) {
      rows_ = std::make_unique<Mxfp4Rows>(codes_, scales_);
    } else {
      scales_.dtype_name = "F8_E4M3";
      rows_ = std::make_unique<Nvfp4Rows>(codes_, scales_, /*factor=*/1.0f, /*divides=*/false);
    }
    stored_as = Concat({"MLX, ", rows_->stored_as}), stored_bytes = rows_->stored_bytes;
    format = rows_->format, dtype = rows_->dtype;
  }

  void Write(size_t first, size_t count, std::byte* to) const override { rows_->Write(first, count, to); }

 private:
  uint64_t shape_of_codes_[2], shape_of_scales_[2];
  TensorView codes_, scales_;
  std::unique_ptr<const QuantisedRows> rows_;
};

/// The weight of a module with scales and, unless its codes are floats, biases.
inline std::unique_ptr<QuantisedRows> MlxOf(const ModuleTensors& module, const Quantisation& quantisation) {
  const QuantisedSizes sizes = quantisation.Of(module.module);
  const TensorView* const found = module.Find("weight");
  const bool stacked = found != nullptr && found->shape.size() == 3;
  const TensorView* const codes = module.RequireMatrix("weight", "U32", stacked);
  if (codes == nullptr) return nullptr;
  const auto bits = static_cast<uint64_t>(sizes.bits);
  const uint64_t words = codes->shape.back(), cols = words * 32 / bits;
  if (words * 32 % bits != 0 || cols % sizes.group != 0) {
    module.Complain(ErrorCode::kInvalidArgument, "weight",
                    Concat({"expected rows of whole groups of ", std::to_string(sizes.group), " codes of ",
                            std::to_string(bits), " bits, found shape ", ShapeText(codes->shape)}));
    return nullptr;
  }
  std::vector<uint64_t> shape(codes->shape.begin(), codes->shape.end());
  shape.back() = cols / sizes.group;
  if (sizes.are_floats) {
    const TensorView* const scales = module.Require("scales", "U8", {shape});
    return scales == nullptr ? nullptr : std::make_unique<MlxFloatRows>(*codes, *scales, cols, sizes);
  }
  const TensorView* const scales = module.Require("scales", kFloatTypes, {shape});
  const TensorView* const biases = module.Require("biases", kFloatTypes, {shape});
  if (scales == nullptr || biases == nullptr) return nullptr;
  return std::make_unique<MlxRows>(*codes, *scales, *biases, cols, sizes);
}

}  // namespace skald::internal

#endif  // SKALD_WEIGHTS_QUANTISED_DETAIL_MLX_H_
