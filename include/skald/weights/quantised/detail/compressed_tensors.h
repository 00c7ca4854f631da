// SPDX-License-Identifier: Apache-2.0
//
// The formats of compressed-tensors, which llm-compressor writes. All have weight_scale. Whole numbers are in `weight`
// (I8) or weight_packed (words of codes from the lowest bits on, the least value as 0), with weight_zero_point and
// weight_g_idx if a folder has them. Four-bit floats are in weight_packed (U8), with weight_global_scale (NVFP4) or
// scales that are exponents (MXFP4). Eight-bit floats are as in fp8.h. config.json says which of them to expect, and a
// tensor says which one it is.

#ifndef SKALD_WEIGHTS_QUANTISED_DETAIL_COMPRESSED_TENSORS_H_
#define SKALD_WEIGHTS_QUANTISED_DETAIL_COMPRESSED_TENSORS_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "skald/base/numbers/group_types.h"
#include "skald/weights/quantised/detail/fp8.h"
#include "skald/weights/quantised/detail/gptq.h"
#include "skald/weights/quantised/detail/group_rows.h"
#include "skald/weights/quantised/detail/stored_tensors.h"
#include "skald/weights/quantised/quantisation.h"
#include "skald/weights/types/gguf_blocks.h"

namespace skald::internal {

/// Whole numbers. In bytes they are signed, in words they count from the least.
class WholeNumberRows final : public GroupRows {
 public:
  struct Tensors {
    const TensorView *codes, *scales, *zeros;  // the last may be null
  };

  WholeNumberRows(const Tensors& tensors, uint64_t cols, size_t group, int bits, std::vector<uint32_t> groups)
      : GroupRows(tensors.codes->shape[0], cols, group),
        tensors_(tensors),
        bits_(bits),
        middle_(tensors.codes->dtype_name == "I8" ? 0 : 1 << (bits - 1)),
        has_one_scale_(tensors.scales->bytes.size() == SizeOf(*tensors.scales->dtype)) {
    SetGroupsOfColumns(std::move(groups));
    stored_as = Concat({"compressed-tensors, ", std::to_string(bits), " bits"});
    stored_bytes = StoredTensors::BytesOf({tensors.codes, tensors.scales, tensors.zeros});
    const int least = middle_ == 0 ? -(1 << (bits - 1)) : 0;
    ChooseForm(least, least + (1 << bits) - 1);
  }

 private:
  void Codes(size_t first, size_t count, int16_t* codes) const override {
    const auto cols = static_cast<size_t>(shape[1]), rows = static_cast<size_t>(shape[0]);
    const size_t line = tensors_.codes->bytes.size() / rows;
    for (size_t r = 0; r < count; ++r) {
      const std::byte* const row = tensors_.codes->bytes.data() + (first + r) * line;
      for (size_t k = 0; k < cols; ++k) {
        *codes++ = static_cast<int16_t>(middle_ == 0 ? std::to_integer<int8_t>(row[k]) : BitsAt(row, k, bits_));
      }
    }
  }

  void Numbers(size_t row, ScaleAndZero* groups) const override {
    for (size_t g = 0; g < num_groups(); ++g) {
      groups[g].scale = FloatAt(*tensors_.scales, has_one_scale_ ? 0 : row * num_groups() + g);
      groups[g].zero = ZeroOf(row, g);
    }
  }

  // Zero points in words are along the rows of the weight.
  int ZeroOf(size_t row, size_t group) const {
    const TensorView* const zeros = tensors_.zeros;
    if (zeros == nullptr) return middle_;
    if (zeros->dtype_name == "I8") {  // of bytes, or one for all
      const size_t at = has_one_scale_ ? 0 : row * num_groups() + group;
      return middle_ + std::to_integer<int8_t>(zeros->bytes[at]);
    }
    return BitsDown(zeros->bytes.data() + 4 * group, num_groups(), row, bits_);
  }

  Tensors tensors_;
  int bits_, middle_;
  bool has_one_scale_;
};

/// Four-bit floats in bytes, the first of two in the low half; doubled they are whole numbers.
inline int FourBitFloatAt(const std::byte* row, size_t k) {
  return MXFP4::kValues[ByteAt(row, k / 2) >> (k % 2 * 4) & 15];
}

class Nvfp4Rows final : public GroupRows {
 public:
  static constexpr size_t kGroup = 16;

  // Scales are multiplied by a factor or divided by it.
  Nvfp4Rows(const TensorView& codes, const TensorView& scales, float factor, bool divides, size_t group = kGroup)
      : GroupRows(codes.shape[0], codes.shape[1] * 2, group),
        codes_(codes),
        scales_(scales),
        factor_(factor),
        divides_(divides) {
    stored_as = "NVFP4";
    stored_bytes = StoredTensors::BytesOf({&codes, &scales});
    ChooseForm(-12, 12, /*four_bit_floats=*/true);
  }

 private:
  void Codes(size_t first, size_t count, int16_t* codes) const override {
    const auto cols = static_cast<size_t>(shape[1]);
    for (size_t r = first; r < first + count; ++r) {
      const std::byte* const row = codes_.bytes.data() + r * cols / 2;
      for (size_t k = 0; k < cols; ++k) *codes++ = static_cast<int16_t>(FourBitFloatAt(row, k));
    }
  }
  void Numbers(size_t row, ScaleAndZero* groups) const override {
    for (size_t g = 0; g < num_groups(); ++g) {
      const float scale = FloatAt(scales_, row * num_groups() + g);
      groups[g].scale = 0.5f * (divides_ ? scale / factor_ : scale * factor_);
    }
  }

  const TensorView &codes_, &scales_;
  float factor_;
  bool divides_;
};

class Mxfp4Rows final : public QuantisedRows {
 public:
  static constexpr size_t kGroup = 32;

  Mxfp4Rows(const TensorView& codes, const TensorView& scales)
      : QuantisedRows(codes.shape[0], codes.shape[1] * 2), codes_(codes), scales_(scales) {
    stored_as = "MXFP4";
    stored_bytes = StoredTensors::BytesOf({&codes, &scales});
    format = FindGroupFormat("MXFP4");
  }

  void Write(size_t first, size_t count, std::byte* to) const override {
    const size_t blocks = static_cast<size_t>(shape[1]) / kGroup;
    for (size_t block = first * blocks; block < (first + count) * blocks; ++block, to += format->block_bytes) {
      const std::byte* const codes = codes_.bytes.data() + block * kGroup / 2;
      to[0] = scales_.bytes[block];
      for (size_t i = 0; i < kGroup / 2; ++i) {
        const unsigned low = ByteAt(codes, i / 2) >> (i % 2 * 4) & 15;
        const unsigned high = ByteAt(codes, 8 + i / 2) >> (i % 2 * 4) & 15;
        to[1 + i] = static_cast<std::byte>(low | high << 4);
      }
    }
  }

 private:
  const TensorView &codes_, &scales_;
};

inline std::unique_ptr<QuantisedRows> FourBitFloatsOf(const ModuleTensors& module) {
  const TensorView* const codes = module.RequireMatrix("weight_packed", "U8");
  if (codes == nullptr) return nullptr;
  const uint64_t rows = codes->shape[0], cols = codes->shape[1] * 2;
  const TensorView* const divisor = module.Find("weight_global_scale");
  const size_t group = divisor != nullptr ? Nvfp4Rows::kGroup : Mxfp4Rows::kGroup;
  if (cols % group != 0) {
    module.Complain(ErrorCode::kInvalidArgument, "weight_packed",
                    Concat({"expected rows of whole groups of ", std::to_string(group), ", found shape ",
                            ShapeText(codes->shape)}));
    return nullptr;
  }
  const std::vector<uint64_t> shape = {rows, cols / group};
  if (divisor == nullptr) {
    const TensorView* const scales = module.Require("weight_scale", "U8 F8_E8M0", {shape});
    return scales == nullptr ? nullptr : std::make_unique<Mxfp4Rows>(*codes, *scales);
  }
  const TensorView* const scales = module.Require("weight_scale", "F8_E4M3", {shape});
  if (scales == nullptr || module.Require("weight_global_scale", "F32", {{1}, {}}) == nullptr) return nullptr;
  return std::make_unique<Nvfp4Rows>(*codes, *scales, FloatAt(*divisor, 0), /*divides=*/true);
}

/// Tensors beside those of the codes and the scales; or null.
struct OtherTensors {
  const TensorView *zeros, *choices;
};

/// The group that a tensor of scales for `cols` columns has, among those that config.json names; or nothing.
inline std::optional<QuantisedSizes> ChoiceFor(const Quantisation& quantisation, const TensorView& codes, uint64_t cols,
                                               const TensorView& scales, const OtherTensors& others) {
  const uint64_t rows = codes.shape[0];
  for (const QuantisedSizes& sizes : quantisation.choices) {
    if (sizes.has_zeros && others.zeros == nullptr) continue;
    if (sizes.has_choices != (others.choices != nullptr)) continue;
    if (codes.dtype_name != "I8" && codes.shape[1] != WordsOf(cols, sizes.bits)) continue;
    const std::vector<uint64_t> shape = {rows, sizes.group == 0 ? 1 : CeilDiv(cols, sizes.group)};
    const bool is_one = sizes.group == 0 && std::ranges::all_of(scales.shape, [](uint64_t axis) { return axis == 1; });
    if (is_one || std::ranges::equal(scales.shape, shape)) return sizes;
  }
  return std::nullopt;
}

/// The columns of a weight in words: weight_shape (I64) says how many codes the last word has.
inline uint64_t ColumnsOf(const ModuleTensors& module, const TensorView& codes) {
  if (codes.dtype_name == "I8") return codes.shape[1];
  const TensorView* const shape = module.Require("weight_shape", "I64 I32", {{2}});
  if (shape == nullptr) return 0;
  const size_t bytes = shape->bytes.size() / 2;
  uint64_t sizes[2] = {};
  for (size_t i = 0; i < 2; ++i) std::memcpy(&sizes[i], shape->bytes.data() + i * bytes, bytes);
  if (sizes[0] == codes.shape[0] && sizes[1] != 0 && sizes[1] <= codes.shape[1] * 32) return sizes[1];
  module.Complain(ErrorCode::kInvalidArgument, "weight_shape",
                  Concat({"does not fit words of shape ", ShapeText(codes.shape)}));
  return 0;
}

/// Whether signed bytes are numbers of `bits` bits.
inline bool HasBytesOf(const TensorView& codes, int bits) {
  return std::ranges::all_of(codes.bytes, [limit = 1 << (bits - 1)](std::byte byte) {
    const int code = std::to_integer<int8_t>(byte);
    return code >= -limit && code < limit;
  });
}

inline std::unique_ptr<QuantisedRows> WholeNumbersOf(const ModuleTensors& module, std::string_view codes_name,
                                                     const Quantisation& quantisation) {
  const TensorView* const codes = module.RequireMatrix(codes_name, "I8 I32");
  const TensorView* const scales = module.Require("weight_scale", kFloatTypes);
  const uint64_t cols = codes == nullptr ? 0 : ColumnsOf(module, *codes);
  if (scales == nullptr || cols == 0) return nullptr;
  const TensorView* const zeros = module.Find("weight_zero_point");
  const TensorView* const chosen = module.Find("weight_g_idx");
  const auto sizes = ChoiceFor(quantisation, *codes, cols, *scales, {zeros, chosen});
  if (!sizes) {
    module.Complain(
        ErrorCode::kInvalidArgument, "weight_scale",
        Concat({"has shape ", ShapeText(scales->shape), ", which with the other tensors of the weight, codes of shape ",
                ShapeText(codes->shape), ", is of no group in config.json"}));
    return nullptr;
  }
  const size_t group = sizes->group == 0 ? static_cast<size_t>(cols) : sizes->group;
  const uint64_t groups = CeilDiv(cols, group);
  const std::vector<uint64_t> of_scales(scales->shape.begin(), scales->shape.end());
  const bool is_one = scales->bytes.size() == SizeOf(*scales->dtype);
  if (zeros != nullptr && (codes->dtype_name == "I8" || (is_one && zeros->dtype_name == "I8"))) {
    module.Require("weight_zero_point", "I8", {of_scales});
  } else if (zeros != nullptr) {
    const std::vector<uint64_t> words = {WordsOf(codes->shape[0], sizes->bits), groups};
    module.Require("weight_zero_point", "I32", {words});
  }
  std::vector<uint32_t> of_columns;
  if (chosen != nullptr && module.Require("weight_g_idx", "I32", {{cols}}) != nullptr) {
    of_columns = GroupsOfColumns(*chosen, group);
    if (std::ranges::any_of(of_columns, [&](uint32_t one) { return one >= groups; })) {
      module.Complain(ErrorCode::kInvalidArgument, "weight_g_idx", "has a group that there is not");
    }
  }
  if (!module.all.status()) return nullptr;
  // Bytes have the numbers of more bits if another group of config.json is meant.
  const bool are_few = codes->dtype_name != "I8" || sizes->bits == 8 || HasBytesOf(*codes, sizes->bits);
  return std::make_unique<WholeNumberRows>(WholeNumberRows::Tensors{codes, scales, zeros}, cols, group,
                                           are_few ? sizes->bits : 8, std::move(of_columns));
}

/// The weight of a module with weight_packed, or with `weight` of I8 or FP8. Tensors of activations and of the
/// cache are passed over: Skald rounds these in its own way.
inline std::unique_ptr<QuantisedRows> CompressedOf(const ModuleTensors& module, const TensorView& codes,
                                                   const Quantisation& quantisation) {
  for (const char* const part :
       {"input_scale", "input_zero_point", "input_global_scale", "output_scale", "output_zero_point"}) {
    module.Find(part);
  }
  if (codes.dtype_name == "F8_E4M3") return Fp8Of(module, "weight_scale", quantisation);
  if (codes.dtype_name == "U8") return FourBitFloatsOf(module);
  return WholeNumbersOf(module, codes.name.ends_with(".weight_packed") ? "weight_packed" : "weight", quantisation);
}

}  // namespace skald::internal

#endif  // SKALD_WEIGHTS_QUANTISED_DETAIL_COMPRESSED_TENSORS_H_
