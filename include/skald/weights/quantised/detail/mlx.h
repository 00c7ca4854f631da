// SPDX-License-Identifier: Apache-2.0
//
// MLX's quantised weights: weight [rows, cols * bits / 32], words of codes from the lowest bits on; scales and biases
// [rows, groups]: weight = scale * code + bias. Those of experts are stacked: each tensor has an axis of them before.

#ifndef SKALD_WEIGHTS_QUANTISED_DETAIL_MLX_H_
#define SKALD_WEIGHTS_QUANTISED_DETAIL_MLX_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "skald/weights/quantised/detail/group_rows.h"
#include "skald/weights/quantised/detail/stored_tensors.h"
#include "skald/weights/quantised/quantisation.h"

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

/// The weight of a module with scales and biases.
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
  const TensorView* const scales = module.Require("scales", kFloatTypes, {shape});
  const TensorView* const biases = module.Require("biases", kFloatTypes, {shape});
  if (scales == nullptr || biases == nullptr) return nullptr;
  return std::make_unique<MlxRows>(*codes, *scales, *biases, cols, sizes);
}

}  // namespace skald::internal

#endif  // SKALD_WEIGHTS_QUANTISED_DETAIL_MLX_H_
