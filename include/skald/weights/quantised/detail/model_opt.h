// SPDX-License-Identifier: Apache-2.0
//
// NVIDIA's Model Optimizer. FP8: `weight` (F8_E4M3) and weight_scale, of the matrix, of rows, of blocks of 128 rows and
// columns or, as exponents (U8), of 32 columns (MXFP8). Floats of four bits: `weight` (U8), two codes in a byte;
// weight_scale, exponents (U8) of 32 columns (MXFP4), or F8_E4M3 of 16 or 32 with weight_scale_2, by which all scales
// are multiplied (NVFP4). Whole numbers of four bits: `weight` (U8 [rows / 2, cols]), two rows in a byte; weight_scale
// [rows, groups] of floats; with weight_scale_2 (W4A8) the products are rounded to FP8 times that number. Of eight
// bits: `weight` (I8), weight_scale of rows. pre_quant_scale [cols] multiplies the inputs of columns (AWQ,
// SmoothQuant). input_scale and the scales of caches say how the original rounds these.

#ifndef SKALD_WEIGHTS_QUANTISED_DETAIL_MODEL_OPT_H_
#define SKALD_WEIGHTS_QUANTISED_DETAIL_MODEL_OPT_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "skald/base/numbers/float_codes.h"
#include "skald/base/numbers/packed_layout.h"
#include "skald/base/text/message.h"
#include "skald/weights/quantised/detail/compressed_tensors.h"
#include "skald/weights/quantised/detail/float_rows.h"
#include "skald/weights/quantised/detail/fp8.h"
#include "skald/weights/quantised/detail/group_rows.h"
#include "skald/weights/quantised/detail/stored_tensors.h"
#include "skald/weights/quantised/quantisation.h"

namespace skald::internal {

inline std::unique_ptr<QuantisedRows> ModelOptFp8Of(const ModuleTensors& module) {
  const TensorView* const codes = module.RequireMatrix("weight", "F8_E4M3");
  if (codes == nullptr) return nullptr;
  constexpr uint64_t kBlock = 128, kColumns = 32;
  const uint64_t rows = codes->shape[0], cols = codes->shape[1];
  const uint64_t row_blocks = CeilDiv(rows, kBlock), col_blocks = CeilDiv(cols, kBlock);
  const TensorView* const found = module.Find("weight_scale");
  const auto with = [&](std::string_view types, std::initializer_list<std::vector<uint64_t>> shapes,
                        const Fp8Rows::Blocks& blocks) -> std::unique_ptr<QuantisedRows> {
    const TensorView* const scales = module.Require("weight_scale", types, shapes);
    return scales == nullptr ? nullptr : std::make_unique<Fp8Rows>(*codes, *scales, blocks);
  };
  if (found != nullptr && found->dtype_name == "U8") {
    return with("U8", {{rows, CeilDiv(cols, kColumns)}}, {rows, 1, kColumns});
  }
  const std::vector<uint64_t> of_blocks = {row_blocks, col_blocks}, apart = {row_blocks, 1, col_blocks, 1};
  const bool is_one = found != nullptr && (found->shape.empty() || HasShape(found, {1}) || HasShape(found, {1, 1}));
  if (!is_one && (HasShape(found, of_blocks) || HasShape(found, apart))) {
    return with(kFloatTypes, {of_blocks, apart}, {rows, kBlock, kBlock});
  }
  return with(kFloatTypes, {{}, {1}, {1, 1}, {rows}, {rows, 1}}, {rows, is_one ? rows : 1, cols});
}

/// Whole numbers of four bits, two rows in a byte, or of eight.
class ModelOptWholeNumberRows final : public GroupRows {
 public:
  ModelOptWholeNumberRows(const TensorView& codes, const TensorView& scales, size_t group)
      : GroupRows(scales.shape[0], codes.shape[1], group), codes_(codes), scales_(scales) {
    const int bits = codes.dtype_name == "U8" ? 4 : 8;
    stored_as = Concat({"ModelOpt, ", std::to_string(bits), " bits"});
    stored_bytes = StoredTensors::BytesOf({&codes, &scales});
    ChooseForm(-(1 << (bits - 1)), (1 << (bits - 1)) - 1);
  }

  /// The code at a place of `codes` [rows / 2, cols].
  static int FourBitsAt(const TensorView& codes, size_t row, size_t k) {
    const unsigned byte = ByteAt(codes.bytes.data(), row / 2 * static_cast<size_t>(codes.shape[1]) + k);
    return static_cast<int>((byte >> (row % 2 * 4) & 15) ^ 8) - 8;
  }

 private:
  void Codes(size_t first, size_t count, int16_t* codes) const override {
    const auto cols = static_cast<size_t>(shape[1]);
    for (size_t row = first; row < first + count; ++row) {
      for (size_t k = 0; k < cols; ++k) {
        const bool is_byte = codes_.dtype_name == "I8";
        *codes++ = static_cast<int16_t>(is_byte ? std::to_integer<int8_t>(codes_.bytes[row * cols + k])
                                                : FourBitsAt(codes_, row, k));
      }
    }
  }
  void Numbers(size_t row, ScaleAndZero* groups) const override {
    for (size_t g = 0; g < num_groups(); ++g) groups[g].scale = FloatAt(scales_, row * num_groups() + g);
  }

  const TensorView &codes_, &scales_;
};

/// Whole numbers of four bits whose products with scales are rounded to FP8 times a factor (W4A8).
class ModelOptRoundedRows final : public FloatRows {
 public:
  ModelOptRoundedRows(const TensorView& codes, const TensorView& scales, float factor)
      : FloatRows(scales.shape[0], codes.shape[1]), codes_(codes), scales_(scales), factor_(factor) {
    stored_as = "ModelOpt, 4 bits in FP8";
    stored_bytes = StoredTensors::BytesOf({&codes, &scales});
    if (shape[1] % kTile == 0) format = &kF8Format;
  }

  void Write(size_t first, size_t count, std::byte* to) const override {
    if (format == nullptr) return FloatRows::Write(first, count, to);
    for (size_t row = first; row < first + count; ++row) {
      for (size_t k = 0; k < shape[1]; ++k) {
        if (k % kTile == 0) std::memcpy(to, &factor_, sizeof(factor_)), to += sizeof(factor_);
        *to++ = static_cast<std::byte>(CodeAt(row, k));
      }
    }
  }

 private:
  uint8_t CodeAt(size_t row, size_t k) const {
    const auto groups = static_cast<size_t>(scales_.shape[1]), group = static_cast<size_t>(shape[1]) / groups;
    const float scale = FloatAt(scales_, row * groups + k / group);
    return ToE4M3(static_cast<float>(ModelOptWholeNumberRows::FourBitsAt(codes_, row, k)) * scale / factor_);
  }
  void Values(size_t row, float* values) const override {
    for (size_t k = 0; k < shape[1]; ++k) values[k] = FromE4M3(CodeAt(row, k)) * factor_;
  }

  const TensorView &codes_, &scales_;
  float factor_;
};

inline std::unique_ptr<QuantisedRows> ModelOptWholeNumbersOf(const ModuleTensors& module, const TensorView& codes) {
  const bool is_byte = codes.dtype_name == "I8";
  const uint64_t rows = is_byte ? codes.shape[0] : codes.shape[0] * 2, cols = codes.shape[1];
  if (is_byte) {
    const TensorView* const scales = module.Require("weight_scale", kFloatTypes, {{rows}, {rows, 1}});
    if (scales == nullptr || !module.all.status()) return nullptr;
    return std::make_unique<ModelOptWholeNumberRows>(codes, *scales, static_cast<size_t>(cols));
  }
  const TensorView* const scales = module.RequireMatrix("weight_scale", kFloatTypes);
  if (scales == nullptr) return nullptr;
  if (scales->shape[0] != rows || cols % scales->shape[1] != 0) {
    module.Complain(ErrorCode::kInvalidArgument, "weight_scale",
                    Concat({"has shape ", ShapeText(scales->shape), ", which does not divide ", std::to_string(rows),
                            " rows of ", std::to_string(cols)}));
  }
  // W4A8 alone rounds inputs too.
  const TensorView* rounding = module.Find("weight_scale_2");
  if (rounding != nullptr || module.Find("input_scale") != nullptr) {
    rounding = module.Require("weight_scale_2", "F32", {{}, {1}});
  }
  if (!module.all.status()) return nullptr;
  if (rounding != nullptr) {
    return std::make_unique<ModelOptRoundedRows>(codes, *scales, FloatAt(*rounding, 0));
  }
  const auto group = static_cast<size_t>(cols / scales->shape[1]);
  return std::make_unique<ModelOptWholeNumberRows>(codes, *scales, group);
}

inline std::unique_ptr<QuantisedRows> ModelOptNvfp4Of(const ModuleTensors& module, const TensorView& codes) {
  const TensorView* const factor = module.Require("weight_scale_2", "F32", {{}, {1}});
  const TensorView* const scales = module.RequireMatrix("weight_scale", "F8_E4M3");
  if (factor == nullptr || scales == nullptr) return nullptr;
  const uint64_t rows = codes.shape[0], cols = codes.shape[1] * 2, group = CeilDiv(cols, scales->shape[1]);
  const bool fits = scales->shape[0] == rows && group * scales->shape[1] == cols && (group == 16 || group == 32);
  if (!fits) {
    module.Complain(ErrorCode::kInvalidArgument, "weight_scale",
                    Concat({"has shape ", ShapeText(scales->shape), ", which is not one of groups of 16 or 32 of ",
                            std::to_string(rows), " rows of ", std::to_string(cols)}));
  }
  if (!module.all.status()) return nullptr;
  return std::make_unique<Nvfp4Rows>(codes, *scales, FloatAt(*factor, 0), /*divides=*/false,
                                     static_cast<size_t>(group));
}

inline std::unique_ptr<QuantisedRows> ModelOptMxfp4Of(const ModuleTensors& module, const TensorView& codes) {
  const uint64_t rows = codes.shape[0], cols = codes.shape[1] * 2;
  const TensorView* const scales = module.Require("weight_scale", "U8", {{rows, CeilDiv(cols, Mxfp4Rows::kGroup)}});
  if (scales != nullptr && cols % Mxfp4Rows::kGroup != 0) {
    module.Complain(ErrorCode::kInvalidArgument, "weight", "expected rows of whole groups of 32");
  }
  return scales == nullptr || !module.all.status() ? nullptr : std::make_unique<Mxfp4Rows>(codes, *scales);
}

/// A weight without the factors of its inputs.
inline std::unique_ptr<QuantisedRows> ModelOptCodesOf(const ModuleTensors& module, const TensorView& codes) {
  if (codes.dtype_name == "F8_E4M3") return ModelOptFp8Of(module);
  const TensorView* const weight = module.RequireMatrix("weight", "U8 I8");
  if (weight == nullptr) return nullptr;
  const TensorView* const scales = module.Find("weight_scale");
  const bool is_bytes = weight->dtype_name == "U8";
  if (is_bytes && scales != nullptr && scales->dtype_name == "F8_E4M3") return ModelOptNvfp4Of(module, *weight);
  if (is_bytes && scales != nullptr && scales->dtype_name == "U8") return ModelOptMxfp4Of(module, *weight);
  return ModelOptWholeNumbersOf(module, *weight);
}

/// The weight of a module with `weight` of FP8, U8 or I8.
inline std::unique_ptr<QuantisedRows> ModelOptOf(const ModuleTensors& module, const TensorView& codes) {
  module.Find("input_scale");
  std::unique_ptr<QuantisedRows> rows = ModelOptCodesOf(module, codes);
  if (rows == nullptr || module.Find("pre_quant_scale") == nullptr) return rows;
  const TensorView* const found = module.Require("pre_quant_scale", kFloatTypes, {{rows->shape[1]}});
  if (found == nullptr || !module.all.status()) return nullptr;
  std::vector<float> factors(static_cast<size_t>(rows->shape[1]));
  for (size_t k = 0; k < factors.size(); ++k) factors[k] = FloatAt(*found, k);
  rows->stored_bytes += found->bytes.size();
  return std::make_unique<MultipliedRows>(std::move(rows), std::move(factors));
}

}  // namespace skald::internal

#endif  // SKALD_WEIGHTS_QUANTISED_DETAIL_MODEL_OPT_H_
