// SPDX-License-Identifier: Apache-2.0
//
// The order of the rows of a query or key projection. RoPE rotates them in pairs, which in Skald, as in Hugging Face,
// are half a head apart: i and i + head_dim / 2. In GGUF files of the Llama lineage they are neighbours, as in Meta's
// original code: 2 * i and 2 * i + 1. So are they in all files of some models; of these RoPE may turn the first rows of
// each head alone.

#ifndef SKALD_WEIGHTS_PACKING_DETAIL_ROPE_ROWS_H_
#define SKALD_WEIGHTS_PACKING_DETAIL_ROPE_ROWS_H_

#include <cstddef>
#include <cstring>
#include <span>
#include <vector>

namespace skald::internal {

// Returns a copy of `bytes`, `rows` rows with adjacent pairs, with the pairs among the first `turned` of each head of
// `head_dim` rows moved apart. `head_dim` divides `rows`; `turned` is even and at most `head_dim`.
inline std::vector<std::byte> WithRopePairsApart(std::span<const std::byte> bytes, size_t rows, size_t head_dim,
                                                 size_t turned) {
  std::vector<std::byte> moved(bytes.begin(), bytes.end());
  const size_t row_bytes = bytes.size() / rows, half = turned / 2;
  for (size_t row = 0; row < rows; ++row) {
    const size_t in_head = row % head_dim;
    if (in_head >= turned) continue;
    const size_t source = row - in_head + (in_head < half ? 2 * in_head : 2 * (in_head - half) + 1);
    std::memcpy(moved.data() + row * row_bytes, bytes.data() + source * row_bytes, row_bytes);
  }
  return moved;
}

}  // namespace skald::internal

#endif  // SKALD_WEIGHTS_PACKING_DETAIL_ROPE_ROWS_H_
