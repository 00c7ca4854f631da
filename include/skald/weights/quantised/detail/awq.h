// SPDX-License-Identifier: Apache-2.0
//
// AWQ as AutoAWQ writes it. Version gemm has the columns of a weight one after the other: qweight [cols, rows / 8],
// eight rows in a word; scales [groups, rows]; qzeros [groups, rows / 8]. In a word, rows 0, 2, 4, 6, 1, 3, 5, 7 follow
// each other from the lowest bits on. Version gemv has rows: qweight [rows, cols / 8], qzeros [rows, words], scales
// [rows, 8 * words], from the lowest bits on, with more words than groups need. Version gemv_fast has four rows in a
// word: qweight (I16) [rows / 4, cols], whose columns are mixed within each 64; scales and qzeros [8 * words, rows] of
// floats: weight = scale * code + zero.

#ifndef SKALD_WEIGHTS_QUANTISED_DETAIL_AWQ_H_
#define SKALD_WEIGHTS_QUANTISED_DETAIL_AWQ_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "skald/weights/quantised/detail/group_rows.h"
#include "skald/weights/quantised/detail/stored_tensors.h"
#include "skald/weights/quantised/quantisation.h"

namespace skald::internal {

class AwqRows final : public GroupRows {
 public:
  AwqRows(const TensorView& codes, const TensorView& scales, const TensorView& zeros, size_t group)
      : GroupRows(codes.shape[1] * 8, codes.shape[0], group), codes_(codes), scales_(scales), zeros_(zeros) {
    stored_as = "AWQ, 4 bits";
    stored_bytes = StoredTensors::BytesOf({&codes, &scales, &zeros});
    ChooseForm(0, 15);
  }

 private:
  // The code of a row in a line of words.
  static int CodeIn(const std::byte* line, size_t row) {
    static constexpr unsigned kShifts[] = {0, 16, 4, 20, 8, 24, 12, 28};
    return static_cast<int>(WordAt(line + row / 8 * 4) >> kShifts[row % 8] & 15);
  }

  size_t line_bytes() const { return static_cast<size_t>(shape[0]) / 2; }

  void Codes(size_t first, size_t count, int16_t* codes) const override {
    const auto cols = static_cast<size_t>(shape[1]);
    for (size_t k = 0; k < cols; ++k) {
      const std::byte* const line = codes_.bytes.data() + k * line_bytes();
      for (size_t r = 0; r < count; ++r) codes[r * cols + k] = static_cast<int16_t>(CodeIn(line, first + r));
    }
  }

  void Numbers(size_t row, ScaleAndZero* groups) const override {
    for (size_t g = 0; g < num_groups(); ++g) {
      groups[g].scale = FloatAt(scales_, g * static_cast<size_t>(shape[0]) + row);
      groups[g].zero = CodeIn(zeros_.bytes.data() + g * line_bytes(), row);
    }
  }

  const TensorView &codes_, &scales_, &zeros_;
};

class AwqGemvRows final : public GroupRows {
 public:
  AwqGemvRows(const TensorView& codes, const TensorView& scales, const TensorView& zeros, size_t group)
      : GroupRows(codes.shape[0], codes.shape[1] * 8, group), codes_(codes), scales_(scales), zeros_(zeros) {
    stored_as = "AWQ, 4 bits";
    stored_bytes = StoredTensors::BytesOf({&codes, &scales, &zeros});
    ChooseForm(0, 15);
  }

 private:
  static const std::byte* RowOf(const TensorView& words, size_t row) {
    return words.bytes.data() + row * static_cast<size_t>(words.shape[1]) * 4;
  }

  void Codes(size_t first, size_t count, int16_t* codes) const override {
    const auto cols = static_cast<size_t>(shape[1]);
    for (size_t r = first; r < first + count; ++r) {
      for (size_t k = 0; k < cols; ++k) *codes++ = static_cast<int16_t>(BitsAt(RowOf(codes_, r), k, 4));
    }
  }

  void Numbers(size_t row, ScaleAndZero* groups) const override {
    for (size_t g = 0; g < num_groups(); ++g) {
      groups[g].scale = FloatAt(scales_, row * static_cast<size_t>(scales_.shape[1]) + g);
      groups[g].zero = BitsAt(RowOf(zeros_, row), g, 4);
    }
  }

  const TensorView &codes_, &scales_, &zeros_;
};

/// The number of words in which version gemv keeps the zero points of a row: a multiple of 1, 2 or 4.
inline uint64_t GemvWordsOf(uint64_t groups, size_t group) {
  const uint64_t multiple = group >= 128 ? 1 : group >= 64 ? 2 : 4;
  return CeilDiv(CeilDiv(groups, 8), multiple) * multiple;
}

inline std::unique_ptr<QuantisedRows> AwqGemvOf(const ModuleTensors& module, const Quantisation& quantisation) {
  const TensorView* const codes = module.RequireMatrix("qweight", "I32");
  if (codes == nullptr) return nullptr;
  const uint64_t rows = codes->shape[0], cols = codes->shape[1] * 8;
  const size_t chosen = quantisation.Of(module.module).group, group = chosen == 0 ? static_cast<size_t>(cols) : chosen;
  const uint64_t words = GemvWordsOf(cols / group, group);
  const TensorView* const scales = module.Require("scales", kFloatTypes, {{rows, words * 8}});
  const TensorView* const zeros = module.Require("qzeros", "I32", {{rows, words}});
  if (cols % group != 0) {
    module.Complain(ErrorCode::kInvalidArgument, "qweight", "expected rows of whole groups");
  }
  if (scales == nullptr || zeros == nullptr || !module.all.status()) return nullptr;
  return std::make_unique<AwqGemvRows>(*codes, *scales, *zeros, group);
}

class AwqFastRows final : public GroupRows {
 public:
  AwqFastRows(const TensorView& codes, const TensorView& scales, const TensorView& zeros, size_t group)
      : GroupRows(codes.shape[0] * 4, codes.shape[1], group), codes_(codes), scales_(scales), zeros_(zeros) {
    stored_as = "AWQ, 4 bits";
    stored_bytes = StoredTensors::BytesOf({&codes, &scales, &zeros});
    ChooseForm(0, 15);
  }

 private:
  // Where column k of a row is among the codes of 64 columns of four rows, 16 words of each row after the other. Of 32
  // columns, those that are 8 apart are neighbours; of the four pairs of columns in 8, all of one pair come together.
  static size_t PlaceOf(size_t row, size_t k) {
    const size_t within = k % 8 / 2 * 8 + k % 2 * 4 + k % 32 / 8;
    return row % 4 * 64 + k / 32 % 2 * 32 + within;
  }

  int CodeAt(size_t row, size_t k) const {
    const size_t place = PlaceOf(row, k), word = row / 4 * static_cast<size_t>(shape[1]) + k / 64 * 64 + place / 4;
    return HalfBitsAt(codes_.bytes.data() + 2 * word) >> (place % 4 * 4) & 15;
  }

  void Codes(size_t first, size_t count, int16_t* codes) const override {
    for (size_t row = first; row < first + count; ++row) {
      for (size_t k = 0; k < shape[1]; ++k) *codes++ = static_cast<int16_t>(CodeAt(row, k));
    }
  }

  void Numbers(size_t row, ScaleAndZero* groups) const override {
    for (size_t g = 0; g < num_groups(); ++g) {
      groups[g].scale = FloatAt(scales_, g * static_cast<size_t>(shape[0]) + row);
      groups[g].offset = FloatAt(zeros_, g * static_cast<size_t>(shape[0]) + row);
    }
  }

  const TensorView &codes_, &scales_, &zeros_;
};

inline std::unique_ptr<QuantisedRows> AwqFastOf(const ModuleTensors& module, const Quantisation& quantisation) {
  const TensorView* const codes = module.RequireMatrix("qweight", "I16");
  if (codes == nullptr) return nullptr;
  const uint64_t rows = codes->shape[0] * 4, cols = codes->shape[1];
  const size_t chosen = quantisation.Of(module.module).group, group = chosen == 0 ? static_cast<size_t>(cols) : chosen;
  const std::vector<uint64_t> shape = {GemvWordsOf(cols / group, group) * 8, rows};
  const TensorView* const scales = module.Require("scales", kFloatTypes, {shape});
  const TensorView* const zeros = module.Require("qzeros", kFloatTypes, {shape});
  if (cols % group != 0 || cols % 64 != 0) {
    module.Complain(ErrorCode::kInvalidArgument, "qweight", "expected rows of whole groups and of 64 columns");
  }
  if (scales == nullptr || zeros == nullptr || !module.all.status()) return nullptr;
  return std::make_unique<AwqFastRows>(*codes, *scales, *zeros, group);
}

/// The weight of a module with qweight.
inline std::unique_ptr<QuantisedRows> AwqOf(const ModuleTensors& module, const Quantisation& quantisation) {
  if (quantisation.is_fast) return AwqFastOf(module, quantisation);
  if (quantisation.in_rows) return AwqGemvOf(module, quantisation);
  const TensorView* const codes = module.RequireMatrix("qweight", "I32");
  if (codes == nullptr) return nullptr;
  const uint64_t rows = codes->shape[1] * 8, cols = codes->shape[0];
  const size_t chosen = quantisation.Of(module.module).group, group = chosen == 0 ? static_cast<size_t>(cols) : chosen;
  const uint64_t groups = CeilDiv(cols, group);
  const TensorView* const scales = module.Require("scales", kFloatTypes, {{groups, rows}});
  const TensorView* const zeros = module.Require("qzeros", "I32", {{groups, rows / 8}});
  if (scales == nullptr || zeros == nullptr) return nullptr;
  return std::make_unique<AwqRows>(*codes, *scales, *zeros, group);
}

}  // namespace skald::internal

#endif  // SKALD_WEIGHTS_QUANTISED_DETAIL_AWQ_H_
