// SPDX-License-Identifier: Apache-2.0
//
// Rows as weights are multiplied by them (PreparedIndex, QuantizedRows), put together from parts of their columns that
// were prepared by themselves, one row at a time: what ranks exchange instead of floats.

#ifndef SKALD_LAYERS_RUN_PREPARED_ROWS_H_
#define SKALD_LAYERS_RUN_PREPARED_ROWS_H_

#include <cstddef>
#include <cstring>

#include "skald/base/numbers/group_layout.h"
#include "skald/base/numbers/numeric.h"
#include "skald/base/numbers/packed_layout.h"

namespace skald {

// Columns that are prepared alike whatever lies beside them: parts begin at multiples of this.
constexpr size_t PreparedUnit(DType type) { return IsGrouped(type) ? kActivationBlock : kTile; }

// Returns the bytes of one row of `cols` columns, prepared by itself.
inline size_t PreparedRowBytes(DType type, size_t cols) {
  const size_t padded = VisitWeightType(type, [=]<class T>() { return PaddedK<T>(cols); });
  return IsGrouped(type) ? QuantizedRows::Bytes(1, padded) : padded * SizeOf(type);
}

namespace internal {

// Copies pieces of so many bytes from one behind the other to every `step` bytes.
template <size_t kBytes>
void Spread(const std::byte* from, size_t pieces, size_t step, std::byte* to) {
  for (size_t i = 0; i < pieces; ++i) std::memcpy(to + i * step, from + i * kBytes, kBytes);
}

inline void PlaceQuantized(QuantizedRows part, const QuantizedRows& whole, size_t row, size_t first) {
  const size_t groups = part.padded_k / kActivationGroup, height = whole.height;
  const auto bytes = [](auto* pointer) { return reinterpret_cast<std::byte*>(pointer); };
  Spread<kActivationGroup>(bytes(part.codes), groups, height * kActivationGroup, bytes(whole.CodesAt(row, first)));
  constexpr size_t kSums = kActivationGroup / kActivationSum * sizeof(int16_t);
  Spread<kSums>(bytes(part.sums), groups, height * kSums, bytes(whole.SumAt(row, first)));
  Spread<sizeof(float)>(bytes(part.scales), QuantizedRows::Blocks(part.padded_k), height * sizeof(float),
                        bytes(whole.ScaleAt(row, first)));
}

template <class T>
void PlaceTiles(const std::byte* part, size_t padded_part, std::byte* whole, size_t rows, size_t row, size_t first,
                size_t padded_k) {
  constexpr size_t kBytes = kTile * sizeof(T);
  Spread<kBytes>(part, padded_part / kTile, RowBlockHeight(rows, row) * kBytes,
                 whole + PreparedIndex(rows, row, first, padded_k) * sizeof(T));
}

}  // namespace internal

// Puts `cols` columns of a row, prepared by themselves, where column `first` of row `row` of `rows` prepared rows of
// padded_k columns begins.
inline void PlacePrepared(DType type, const std::byte* part, size_t cols, std::byte* whole, size_t rows, size_t row,
                          size_t first, size_t padded_k) {
  VisitWeightType(type, [&]<class T>() {
    const size_t padded_part = PaddedK<T>(cols);
    if constexpr (kIsGrouped<T>) {
      internal::PlaceQuantized(QuantizedRows::In(const_cast<std::byte*>(part), 1, padded_part),
                               QuantizedRows::In(whole, rows, padded_k), row, first);
    } else {
      internal::PlaceTiles<T>(part, padded_part, whole, rows, row, first, padded_k);
    }
  });
}

}  // namespace skald

#endif  // SKALD_LAYERS_RUN_PREPARED_ROWS_H_
