// SPDX-License-Identifier: Apache-2.0
//
// BitNet b1.58 as transformers packs it: weights of -1, 0 and 1 with one factor. `weight` (U8) [rows / 4, cols] has in
// each byte a code of two bits, one more than the weight, of each quarter of the rows, those of the first quarter
// lowest; weight_scale [1] multiplies them in modules of the class autobitlinear and divides them in those of
// bitlinear. In the mode online `weight` has floats, and loading makes them -1, 0 and 1 with their mean size as factor.

#ifndef SKALD_WEIGHTS_QUANTISED_DETAIL_BITNET_H_
#define SKALD_WEIGHTS_QUANTISED_DETAIL_BITNET_H_

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>

#include "skald/base/numbers/bf16.h"
#include "skald/base/numbers/numeric.h"
#include "skald/weights/quantised/detail/group_rows.h"
#include "skald/weights/quantised/detail/stored_tensors.h"
#include "skald/weights/quantised/quantisation.h"
#include "skald/weights/types/gguf_blocks.h"

namespace skald::internal {

/// Weights of -1, 0 and 1 with one factor, which a method sets before it calls ChooseType.
class TernaryRows : public GroupRows {
 public:
  void Write(size_t first, size_t count, std::byte* to) const override {
    const GroupFormat* const ternary = FindGroupFormat("TQ2_0");
    if (format != ternary) return GroupRows::Write(first, count, to);
    for (size_t row = first; row < first + count; ++row) {
      for (size_t k = 0; k < shape[1]; k += ternary->block_elements, to += ternary->block_bytes)
        WriteTernary(row, k, to);
    }
  }

 protected:
  TernaryRows(uint64_t rows, uint64_t cols, float scale)
      : GroupRows(rows, cols, static_cast<size_t>(cols)), scale_(scale) {
    row_scale = true;
  }

  void ChooseType() {
    ChooseForm(-1, 2);
    const GroupFormat* const ternary = FindGroupFormat("TQ2_0");
    if (shape[1] % ternary->block_elements == 0 && IsHalf(scale_)) format = ternary;
  }

  /// One more than a weight without its factor.
  virtual unsigned CodeAt(size_t row, size_t k) const = 0;

 private:
  // A block as DecodeTq2_0 reads it.
  void WriteTernary(size_t row, size_t k, std::byte* to) const {
    for (size_t byte = 0; byte < 64; ++byte) {
      const size_t first = k + byte / 32 * 128 + byte % 32;
      unsigned bits = 0;
      for (unsigned i = 0; i < 4; ++i) bits |= CodeAt(row, first + 32 * i) << (2 * i);
      to[byte] = static_cast<std::byte>(bits);
    }
    const uint16_t scale = ToHalf(scale_);
    std::memcpy(to + 64, &scale, sizeof(scale));
  }

  void Codes(size_t first, size_t count, int16_t* codes) const override {
    for (size_t row = first; row < first + count; ++row) {
      for (size_t k = 0; k < shape[1]; ++k) *codes++ = static_cast<int16_t>(static_cast<int>(CodeAt(row, k)) - 1);
    }
  }
  void Numbers(size_t, ScaleAndZero* groups) const override { groups[0].scale = scale_; }

  float scale_;
};

class BitNetRows final : public TernaryRows {
 public:
  BitNetRows(const TensorView& codes, const TensorView& factor, bool divides)
      : TernaryRows(codes.shape[0] * 4, codes.shape[1], divides ? 1.0f / FloatAt(factor, 0) : FloatAt(factor, 0)),
        codes_(codes) {
    stored_as = "BitNet, 2 bits";
    stored_bytes = StoredTensors::BytesOf({&codes, &factor});
    ChooseType();
  }

 private:
  unsigned CodeAt(size_t row, size_t k) const override {
    const auto quarter = static_cast<size_t>(codes_.shape[0]), cols = static_cast<size_t>(shape[1]);
    return ByteAt(codes_.bytes.data(), row % quarter * cols + k) >> (2 * (row / quarter)) & 3;
  }

  const TensorView& codes_;
};

/// The factor by which floats are multiplied before they are rounded: one divided by their mean size. The original adds
/// floats in an order of its own; here their sum is exact to the rounding of double.
inline float RoundingFactorOf(const TensorView& weight) {
  const auto count = static_cast<size_t>(weight.shape[0] * weight.shape[1]);
  double sum = 0.0;
  for (size_t i = 0; i < count; ++i) sum += std::fabs(FloatAt(weight, i));
  return 1.0f / std::max(static_cast<float>(sum / static_cast<double>(count)), 1e-5f);
}

/// A number as a tensor of this type has it.
inline float RoundedTo(const TensorView& tensor, float value) {
  if (tensor.dtype == DType::kF16) return FromHalf(ToHalf(value));
  return tensor.dtype == DType::kBF16 ? ToFloat(RoundToBF16(value)) : value;
}

/// Floats, of which loading makes such weights.
class OnlineBitNetRows final : public TernaryRows {
 public:
  explicit OnlineBitNetRows(const TensorView& weight) : OnlineBitNetRows(weight, RoundingFactorOf(weight)) {}

 private:
  OnlineBitNetRows(const TensorView& weight, float factor)
      : TernaryRows(weight.shape[0], weight.shape[1], RoundedTo(weight, 1.0f / factor)),
        weight_(weight),
        factor_(factor) {
    stored_as = "BitNet online";
    stored_bytes = weight.bytes.size();
    ChooseType();
  }

  unsigned CodeAt(size_t row, size_t k) const override {
    const float scaled = FloatAt(weight_, row * static_cast<size_t>(shape[1]) + k) * factor_;
    return scaled > 0.5f ? 2 : scaled < -0.5f ? 0 : 1;  // halves are rounded to even
  }

  const TensorView& weight_;
  float factor_;
};

/// Whether a tensor is one of floats that loading makes ternary: the weight of a projection within a layer.
inline bool IsOnlineBitNet(const TensorView& tensor, const Quantisation& quantisation) {
  constexpr std::string_view kEnding = ".weight";
  if (!tensor.name.ends_with("_proj.weight") || !tensor.dtype || tensor.shape.size() != 2) return false;
  const std::string_view module = tensor.name.substr(0, tensor.name.size() - kEnding.size());
  const auto is_named = [&](const std::string& part) { return module.starts_with(part) || module.ends_with(part); };
  return std::ranges::none_of(quantisation.floats, is_named);
}

/// The weight of a module with `weight` of U8 and weight_scale, or of floats.
inline std::unique_ptr<QuantisedRows> BitNetOf(const ModuleTensors& module, const Quantisation& quantisation) {
  if (quantisation.is_online) {
    const TensorView* const weight = module.RequireMatrix("weight", kFloatTypes);
    return weight == nullptr ? nullptr : std::make_unique<OnlineBitNetRows>(*weight);
  }
  const TensorView* const codes = module.RequireMatrix("weight", "U8");
  const TensorView* const factor = module.Require("weight_scale", kFloatTypes, {{1}, {}});
  if (codes == nullptr || factor == nullptr) return nullptr;
  return std::make_unique<BitNetRows>(*codes, *factor, quantisation.divides);
}

}  // namespace skald::internal

#endif  // SKALD_WEIGHTS_QUANTISED_DETAIL_BITNET_H_
