// SPDX-License-Identifier: Apache-2.0
//
// Scratch memory by names. A layer names the pieces of memory that it computes in by a struct template of its own,
// whose members are all of type T:
//   template <class T>
//   struct Pieces {
//     T projected;  // [rows, 2 * width]
//     T mixed;      // [rows, width]
//   };
// Pieces<size_t> says how many floats each piece has, and Pieces<float*> where it lies (Scratch::As).

#ifndef SKALD_LAYERS_RUN_SCRATCH_PIECES_H_
#define SKALD_LAYERS_RUN_SCRATCH_PIECES_H_

#include <array>
#include <bit>
#include <cstddef>
#include <type_traits>

namespace skald {

/// The number of members of Pieces<size_t>.
template <class Sizes>
inline constexpr size_t kNumPieces = std::is_empty_v<Sizes> ? 0 : sizeof(Sizes) / sizeof(size_t);

/// Pieces<size_t> must be this.
template <class Sizes>
concept PieceSizes = std::is_trivially_copyable_v<Sizes> &&
    (std::is_empty_v<Sizes> || sizeof(Sizes) == kNumPieces<Sizes> * sizeof(size_t));

/// Returns the members in their order.
template <PieceSizes Sizes>
constexpr std::array<size_t, kNumPieces<Sizes>> ListPieces([[maybe_unused]] const Sizes& sizes) {
  if constexpr (std::is_empty_v<Sizes>) {
    return {};
  } else {
    return std::bit_cast<std::array<size_t, kNumPieces<Sizes>>>(sizes);
  }
}

}  // namespace skald

#endif  // SKALD_LAYERS_RUN_SCRATCH_PIECES_H_
