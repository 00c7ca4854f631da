// SPDX-License-Identifier: Apache-2.0
//
// The one memory layout that every matrix multiplication reads: weights, cached keys and cached values alike. An [N, K]
// matrix (N outputs, K summed over) is stored as [N/16][K/pair][16][pair]. A panel holds 16 outputs; within it `pair`
// neighbouring k of one output are adjacent, where pair is 2 for bfloat16 and 1 for float. One 64-byte row thus fills
// 16 lanes of 32 bits on any target, and AMX tiles without reordering. Int8 codes of cached keys and values are laid
// out like floats: they are widened before they are multiplied.

#ifndef SKALD_BASE_NUMBERS_PACKED_LAYOUT_H_
#define SKALD_BASE_NUMBERS_PACKED_LAYOUT_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace skald {

/// The layout's version, which files with packed weights store. Raise it with any change to the memory layout of a
/// packed matrix of any element type, to the numbers of DType, or to the order of VisitParameters.
inline constexpr uint32_t kPackedLayoutVersion = 2;

/// Outputs per panel, and the width of the 16 virtual lanes in which every reduction is ordered.
inline constexpr size_t kLanes = 16;

/// Terms per tile of a bfloat16 sum; K is padded with zeros to a multiple of it. AMX fixes this number: one
/// TDPBF16PS sums 32 products.
inline constexpr size_t kTile = 32;

/// Neighbouring k stored together: two of bfloat16, so that one lane holds 32 bits.
template <class T>
inline constexpr size_t kPair = sizeof(T) == 2 ? 2 : 1;

constexpr size_t RoundUp(size_t value, size_t multiple) { return (value + multiple - 1) / multiple * multiple; }

/// Returns the number of elements of a packed [n, k] matrix, padding included.
constexpr size_t PackedSize(size_t n, size_t k) { return RoundUp(n, kLanes) * RoundUp(k, kTile); }

/// Returns the index of element (n, k) in a packed matrix of `padded_k` terms per output (a multiple of kTile).
template <class T>
constexpr size_t PackedIndex(size_t n, size_t k, size_t padded_k) {
  return (n / kLanes) * kLanes * padded_k + (k / kPair<T>)*kLanes * kPair<T> + (n % kLanes) * kPair<T> + k % kPair<T>;
}

/// Rows of activations that are stored together for a matmul: the height of an AMX tile.
inline constexpr size_t kRowBlock = 16;

/// Returns the number of rows of the block that contains `row`, of `rows`.
constexpr size_t RowBlockHeight(size_t rows, size_t row) {
  return std::min(kRowBlock, rows - row / kRowBlock * kRowBlock);
}

/// Returns the number of elements of memory for `rows` prepared rows.
constexpr size_t PreparedSize(size_t rows, size_t padded_k) { return RoundUp(rows, kRowBlock) * padded_k; }

/// Returns the number of elements after the last prepared row that kernels may also read, as if the last block were
/// full; a single row is read by itself. They do not influence results, but the writer of the rows must zero them, so
/// that uninitialised memory is never read.
constexpr size_t PreparedTail(size_t rows) { return rows == 1 ? 0 : (RoundUp(rows, kRowBlock) - rows) * kTile; }

/// Returns the index of element (row, k) of `rows` prepared rows of activations. Each block of rows is stored by itself
/// as [padded_k / kTile][block rows][kTile]: a tile is one piece of memory, and a single row is contiguous.
constexpr size_t PreparedIndex(size_t rows, size_t row, size_t k, size_t padded_k) {
  return row / kRowBlock * kRowBlock * padded_k + k / kTile * kTile * RowBlockHeight(rows, row) +
         row % kRowBlock * kTile + k % kTile;
}

}  // namespace skald

#endif  // SKALD_BASE_NUMBERS_PACKED_LAYOUT_H_
