// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/layers/run/prepared_rows.h.

#ifndef SKALD_LAYERS_RUN_DETAIL_PREPARED_ROWS_H_
#define SKALD_LAYERS_RUN_DETAIL_PREPARED_ROWS_H_

#include "skald/layers/run/prepared_rows.h"

#include <cstdint>
#include <type_traits>

#include "skald/base/inline.h"
#include "skald/base/numbers/bf16.h"

namespace skald {

SKALD_INLINE size_t PreparedRowBytes(DType type, size_t cols) {
  return VisitWeightType(type, [=]<class T>() {
    const size_t padded = PaddedK<T>(cols);
    return kIsGrouped<T> ? PreparedBytes<T>(1, padded) : padded * PreparedElement(type);
  });
}

namespace internal {

inline void PlaceQuantized(QuantizedRows part, const QuantizedRows& whole, size_t row, size_t first) {
  const size_t groups = part.padded_k / kActivationGroup, height = whole.height;
  const auto bytes = [](auto* pointer) { return reinterpret_cast<std::byte*>(pointer); };
  Spread<kActivationGroup>(bytes(part.codes), groups, height * kActivationGroup, bytes(whole.CodesAt(row, first)));
  constexpr size_t kSums = kActivationGroup / kActivationSum * sizeof(int16_t);
  Spread<kSums>(bytes(part.sums), groups, height * kSums, bytes(whole.SumAt(row, first)));
  Spread<sizeof(float)>(bytes(part.scales), part.RowScales(), height * sizeof(float), bytes(whole.ScaleAt(row, first)));
}

template <class T>
void PlaceTiles(const std::byte* part, size_t padded_part, std::byte* whole, size_t rows, size_t row, size_t first,
                size_t padded_k) {
  constexpr size_t kBytes = kTile * sizeof(T);
  Spread<kBytes>(part, padded_part / kTile, RowBlockHeight(rows, row) * kBytes,
                 whole + PreparedIndex(rows, row, first, padded_k) * sizeof(T));
}

}  // namespace internal

SKALD_INLINE void PlacePrepared(DType type, const std::byte* part, size_t cols, std::byte* whole, size_t rows,
                                size_t row, size_t first, size_t padded_k) {
  VisitWeightType(type, [&]<class T>() {
    const size_t padded_part = PaddedK<T>(cols);
    if constexpr (kIsGrouped<T>) {
      internal::PlaceQuantized(PreparedIn<T>(const_cast<std::byte*>(part), 1, padded_part),
                               PreparedIn<T>(whole, rows, padded_k), row, first);
    } else {
      using Element = std::remove_pointer_t<Prepared<T>>;
      internal::PlaceTiles<Element>(part, padded_part, whole, rows, row, first, padded_k);
    }
  });
}

}  // namespace skald

#endif  // SKALD_LAYERS_RUN_DETAIL_PREPARED_ROWS_H_
