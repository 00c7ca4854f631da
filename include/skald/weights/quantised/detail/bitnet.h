// SPDX-License-Identifier: Apache-2.0
//
// BitNet b1.58 as transformers packs it: weights of -1, 0 and 1 with one factor. `weight` (U8) [rows / 4, cols] has in
// each byte a code of two bits, one more than the weight, of each quarter of the rows, those of the first quarter
// lowest; weight_scale [1] multiplies them in modules of the class autobitlinear and divides them in those of
// bitlinear.

#ifndef SKALD_WEIGHTS_QUANTISED_DETAIL_BITNET_H_
#define SKALD_WEIGHTS_QUANTISED_DETAIL_BITNET_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>

#include "skald/base/numbers/numeric.h"
#include "skald/weights/quantised/detail/group_rows.h"
#include "skald/weights/quantised/detail/stored_tensors.h"
#include "skald/weights/quantised/quantisation.h"
#include "skald/weights/types/gguf_blocks.h"

namespace skald::internal {

class BitNetRows final : public GroupRows {
 public:
  BitNetRows(const TensorView& codes, const TensorView& factor, bool divides)
      : GroupRows(codes.shape[0] * 4, codes.shape[1], static_cast<size_t>(codes.shape[1])),
        codes_(codes),
        scale_(divides ? 1.0f / FloatAt(factor, 0) : FloatAt(factor, 0)) {
    stored_as = "BitNet, 2 bits";
    stored_bytes = StoredTensors::BytesOf({&codes, &factor});
    ChooseForm(-1, 2);
    const GroupFormat* const ternary = FindGroupFormat("TQ2_0");
    if (shape[1] % ternary->block_elements == 0 && IsHalf(scale_)) format = ternary;
  }

  void Write(size_t first, size_t count, std::byte* to) const override {
    const GroupFormat* const ternary = FindGroupFormat("TQ2_0");
    if (format != ternary) return GroupRows::Write(first, count, to);
    for (size_t row = first; row < first + count; ++row) {
      for (size_t k = 0; k < shape[1]; k += ternary->block_elements, to += ternary->block_bytes)
        WriteTernary(row, k, to);
    }
  }

 private:
  unsigned CodeAt(size_t row, size_t k) const {
    const auto quarter = static_cast<size_t>(codes_.shape[0]), cols = static_cast<size_t>(shape[1]);
    return ByteAt(codes_.bytes.data(), row % quarter * cols + k) >> (2 * (row / quarter)) & 3;
  }

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

  const TensorView& codes_;
  float scale_;
};

/// The weight of a module with `weight` of U8 and weight_scale.
inline std::unique_ptr<QuantisedRows> BitNetOf(const ModuleTensors& module, const Quantisation& quantisation) {
  const TensorView* const codes = module.RequireMatrix("weight", "U8");
  const TensorView* const factor = module.Require("weight_scale", kFloatTypes, {{1}, {}});
  if (codes == nullptr || factor == nullptr) return nullptr;
  return std::make_unique<BitNetRows>(*codes, *factor, quantisation.divides);
}

}  // namespace skald::internal

#endif  // SKALD_WEIGHTS_QUANTISED_DETAIL_BITNET_H_
