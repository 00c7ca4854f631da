// SPDX-License-Identifier: Apache-2.0
//
// Weights that are whole numbers with a scale for some neighbours: weight = scale * (code - zero) + offset. Where one
// of the types in memory holds the same numbers, their codes and scales are brought into its order: Q4_0, Q5_0, Q8_0
// and Q4_1 if scales are numbers of binary16, else NVFP4, Q4A, Q8A32 or Q8A. Otherwise the numbers become floats.

#ifndef SKALD_WEIGHTS_QUANTISED_DETAIL_GROUP_ROWS_H_
#define SKALD_WEIGHTS_QUANTISED_DETAIL_GROUP_ROWS_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "skald/base/numbers/group_types.h"
#include "skald/base/numbers/numeric.h"
#include "skald/weights/quantised/detail/float_rows.h"
#include "skald/weights/types/gguf_blocks.h"
#include "skald/weights/types/quantised_rows.h"

namespace skald::internal {

/// The numbers that the codes of a group have in common.
struct ScaleAndZero {
  float scale = 0.0f, offset = 0.0f;
  int zero = 0;
};

/// A block of kWeights weights: scale and offset (floats), a signed byte for each.
template <size_t kWeights>
void DecodeBytes(const std::byte* block, CodeGroup* groups) {
  for (size_t i = 0; i < kWeights / kCodeGroup; ++i) {
    std::memcpy(&groups[i].scale, block, sizeof(float));
    std::memcpy(&groups[i].offset, block + 4, sizeof(float));
    std::memcpy(groups[i].codes, block + 8 + i * kCodeGroup, kCodeGroup);
  }
}
template <class T>
inline constexpr GroupFormat kFormatOfBytes = {T::kType, T::kGroup, 8 + T::kGroup, DecodeBytes<T::kGroup>};

inline bool IsOfBytes(const GroupFormat& format) {
  return format.decode == DecodeBytes<16> || format.decode == DecodeBytes<32>;
}

inline bool IsHalf(float value) { return FromHalf(ToHalf(value)) == value; }

/// Writes 32 codes of five bits, or of four where none is above 15: the fifth bits, low halves first; returns the end.
inline std::byte* WriteBlockCodes(const int* codes, bool five_bits, std::byte* to) {
  if (five_bits) {
    uint32_t fifth = 0;
    for (size_t i = 0; i < 32; ++i) fifth |= static_cast<uint32_t>(codes[i]) >> 4 << i;
    std::memcpy(to, &fifth, sizeof(fifth));
    to += sizeof(fifth);
  }
  for (size_t i = 0; i < 16; ++i) to[i] = static_cast<std::byte>((codes[i] & 15) | (codes[i + 16] & 15) << 4);
  return to + 16;
}

/// Rows of groups. A method gives their codes and numbers, and calls ChooseForm at the end of its constructor.
class GroupRows : public QuantisedRows {
 public:
  void Write(size_t first, size_t count, std::byte* to) const override {
    const auto cols = static_cast<size_t>(shape[1]);
    constexpr size_t kRows = 64;  // at once: some methods store the columns of a matrix, not its rows
    std::vector<int16_t> codes(kRows * cols);
    std::vector<ScaleAndZero> groups(num_groups());
    for (size_t row = first; row < first + count; row += kRows) {
      const size_t rows = std::min(kRows, first + count - row);
      Codes(row, rows, codes.data());
      for (size_t r = 0; r < rows; ++r, to += row_bytes()) {
        Numbers(row + r, groups.data());
        WriteRow(codes.data() + r * cols, groups.data(), to);
      }
    }
  }

 protected:
  // Codes of `bits` bits; a scale for each `group` columns, the last ones may have fewer.
  GroupRows(uint64_t rows, uint64_t cols, size_t group) : QuantisedRows(rows, cols), group_(group) {}

  size_t group() const { return group_; }
  size_t num_groups() const { return (static_cast<size_t>(shape[1]) + group_ - 1) / group_; }

  /// Gives each column a group of its own choice (act-order); `groups` [cols] are below num_groups(). Where groups have
  /// as many columns as they should, a type can represent the columns in the order of groups.
  void SetGroupsOfColumns(std::vector<uint32_t> groups) { groups_of_columns_ = std::move(groups); }

  /// Writes codes [count, cols] of rows.
  virtual void Codes(size_t first, size_t count, int16_t* codes) const = 0;

  /// Writes the numbers of the groups of a row.
  virtual void Numbers(size_t row, ScaleAndZero* groups) const = 0;

  /// Finds the type that represents all rows, whose codes are in [least, most], or values of NVFP4.
  void ChooseForm(int least, int most, bool four_bit_floats = false);

 private:
  friend class ReorderedRows;

  struct Facts {
    int least_code, most_code;  // as the file has them
    bool four_bit_floats;
    int least = 0, most = 0;  // code - zero
    bool halves = true, no_offsets = true, no_zeros = true, any = false;
    bool signed_is_exact = true, unsigned_is_exact = true;  // offsets of codes less these

    // These are taken from codes for the least one to become -128 or 0.
    int Signed() const { return least_code + 128; }
    int Unsigned() const { return least_code; }
    bool AreBytes() const { return least >= -128 && most <= 127; }

    void Add(const ScaleAndZero& group) {
      least = any ? std::min(least, least_code - group.zero) : least_code - group.zero;
      most = any ? std::max(most, most_code - group.zero) : most_code - group.zero;
      any = true;
      halves &= IsHalf(group.scale) && IsHalf(group.offset);
      no_offsets &= group.offset == 0.0f;
      no_zeros &= group.zero == 0;
      signed_is_exact &= HasExactOffset(group, Signed());
      unsigned_is_exact &= HasExactOffset(group, Unsigned());
    }
  };

  // The offset of codes that are less by `shift` than those of the file.
  static double Shifted(const ScaleAndZero& group, int shift) {
    return static_cast<double>(group.offset) + static_cast<double>(group.scale) * (shift - group.zero);
  }
  static bool HasExactOffset(const ScaleAndZero& group, int shift) {
    const double shifted = Shifted(group, shift);
    return static_cast<double>(static_cast<float>(shifted)) == shifted;
  }

  bool HaveGroupsOf(size_t columns) const {
    return groups_of_columns_.empty() && shape[1] % columns == 0 && (group_ % columns == 0 || group_ >= shape[1]);
  }

  // A type, none for floats, and what codes are less by if it has codes of bytes; nothing for the zeros of groups.
  struct Form {
    const GroupFormat* format = nullptr;
    std::optional<int> origin = {};
  };

  Form FormFor(const Facts& facts) const {
    if (HaveGroupsOf(32) && facts.halves) {
      if (const GroupFormat* const found = FormatOfHalves(facts)) return {found};
    }
    if (!HaveGroupsOf(kCodeGroup)) return {};
    if (facts.four_bit_floats) return {&kFormatOfBytes<NVFP4>};
    const bool are_few = facts.most_code - facts.least_code <= kLargestCode<Q4A>;
    if (HaveGroupsOf(32) && are_few && facts.unsigned_is_exact) return {&kFormatOfBytes<Q4A>, facts.Unsigned()};
    const GroupFormat* const bytes = HaveGroupsOf(32) ? &kFormatOfBytes<Q8A32> : &kFormatOfBytes<Q8A>;
    if (facts.AreBytes()) return {bytes};
    return facts.signed_is_exact ? Form{bytes, facts.Signed()} : Form{};
  }

  static const GroupFormat* FormatOfHalves(const Facts& facts) {
    if (facts.no_offsets) {
      if (facts.least >= -8 && facts.most <= 7) return FindGroupFormat("Q4_0");
      if (facts.least >= -16 && facts.most <= 15) return FindGroupFormat("Q5_0");
      if (facts.AreBytes()) return FindGroupFormat("Q8_0");
    }
    return facts.no_zeros && facts.least >= 0 && facts.most <= 15 ? FindGroupFormat("Q4_1") : nullptr;
  }

  void SetForm(const Form& form) { format = form.format, origin_ = form.origin; }

  void WriteRow(const int16_t* codes, const ScaleAndZero* groups, std::byte* to) const {
    const auto cols = static_cast<size_t>(shape[1]);
    if (format == nullptr) return WriteAsFloats(codes, groups, to);
    for (size_t k = 0; k < cols; k += format->block_elements, to += format->block_bytes) {
      const ScaleAndZero& group = groups[k / group_];
      IsOfBytes(*format) ? WriteBytes(codes + k, group, to) : WriteBlock(codes + k, group, to);
    }
  }

  void WriteAsFloats(const int16_t* codes, const ScaleAndZero* groups, std::byte* to) const {
    const auto cols = static_cast<size_t>(shape[1]);
    std::vector<float> values(cols);
    for (size_t k = 0; k < cols; ++k) {
      const ScaleAndZero& group = groups[groups_of_columns_.empty() ? k / group_ : groups_of_columns_[k]];
      const double product = static_cast<double>(group.scale) * (codes[k] - group.zero);
      values[k] = static_cast<float>(product + static_cast<double>(group.offset));
    }
    WriteFloats(values.data(), cols, dtype, to);
  }

  void WriteBytes(const int16_t* codes, const ScaleAndZero& group, std::byte* to) const {
    const float offset = origin_ ? static_cast<float>(Shifted(group, *origin_)) : group.offset;
    const int zero = origin_.value_or(group.zero);
    std::memcpy(to, &group.scale, sizeof(float));
    std::memcpy(to + 4, &offset, sizeof(float));
    for (size_t i = 0; i < format->block_elements; ++i) to[8 + i] = static_cast<std::byte>(codes[i] - zero);
  }

  void WriteBlock(const int16_t* codes, const ScaleAndZero& group, std::byte* to) const {
    const uint16_t scale = ToHalf(group.scale), offset = ToHalf(group.offset);
    std::memcpy(to, &scale, sizeof(scale));
    to += sizeof(scale);
    if (format->packed == DType::kQ4_1) {
      std::memcpy(to, &offset, sizeof(offset));
      to += sizeof(offset);
    }
    if (format->packed == DType::kQ8_0) {
      for (size_t i = 0; i < 32; ++i) to[i] = static_cast<std::byte>(codes[i] - group.zero);
      return;
    }
    const int below = format->packed == DType::kQ4_0 ? 8 : format->packed == DType::kQ5_0 ? 16 : 0;
    int stored[32];
    for (size_t i = 0; i < 32; ++i) stored[i] = codes[i] - group.zero + below;
    WriteBlockCodes(stored, format->packed == DType::kQ5_0, to);
  }

  size_t group_;
  std::optional<int> origin_;
  std::vector<uint32_t> groups_of_columns_;
};

/// Rows whose columns choose their groups, with the columns in the order of groups.
class ReorderedRows final : public GroupRows {
 public:
  ReorderedRows(const GroupRows& rows, std::vector<uint32_t> columns, const Facts& facts)
      : GroupRows(rows.shape[0], rows.shape[1], rows.group_), rows_(rows) {
    order = std::move(columns);
    SetForm(FormFor(facts));
  }

 private:
  void Codes(size_t first, size_t count, int16_t* codes) const override {
    const auto cols = static_cast<size_t>(shape[1]);
    std::vector<int16_t> stored(count * cols);
    rows_.Codes(first, count, stored.data());
    for (size_t row = 0; row < count; ++row) {
      for (const uint32_t column : order) *codes++ = stored[row * cols + column];
    }
  }
  void Numbers(size_t row, ScaleAndZero* groups) const override { rows_.Numbers(row, groups); }

  const GroupRows& rows_;
};

/// Returns the columns in the order of their groups, or nothing if these do not have `group` columns each.
inline std::vector<uint32_t> ColumnsByGroup(const std::vector<uint32_t>& groups, size_t group) {
  std::vector<uint32_t> columns(groups.size());
  for (size_t k = 0; k < columns.size(); ++k) columns[k] = static_cast<uint32_t>(k);
  std::ranges::stable_sort(columns, {}, [&](uint32_t column) { return groups[column]; });
  for (size_t k = 0; k < columns.size(); ++k) {
    if (groups[columns[k]] != k / group) return {};
  }
  return columns;
}

inline void GroupRows::ChooseForm(int least, int most, bool four_bit_floats) {
  Facts facts = {least, most, four_bit_floats};
  std::vector<ScaleAndZero> groups(num_groups());
  for (size_t row = 0; row < shape[0]; ++row) {
    Numbers(row, groups.data());
    for (const ScaleAndZero& group : groups) facts.Add(group);
  }
  SetForm(FormFor(facts));
  dtype = DType::kF32;
  std::vector<uint32_t> columns = ColumnsByGroup(groups_of_columns_, group_);
  if (columns.empty()) return;
  auto rows = std::make_unique<ReorderedRows>(*this, std::move(columns), facts);
  if (rows->format != nullptr) coded = std::move(rows);
}

}  // namespace skald::internal

#endif  // SKALD_WEIGHTS_QUANTISED_DETAIL_GROUP_ROWS_H_
