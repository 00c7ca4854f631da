// SPDX-License-Identifier: Apache-2.0
//
// Adapter: a change of a model's matrices by products of low rank (LoRA, Hu et al. 2021, arXiv:2106.09685), which is
// added to what the matrices give for the rows of those conversations that are for it. The weights stay as they are, so
// any number of adapters work on one model at once.

#ifndef SKALD_WEIGHTS_ADAPTERS_ADAPTER_H_
#define SKALD_WEIGHTS_ADAPTERS_ADAPTER_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "skald/base/numbers/digest.h"
#include "skald/base/numbers/numeric.h"
#include "skald/base/ranks/rank_share.h"
#include "skald/weights/types/matrix.h"

namespace skald {

/// Matrices of adapters are floats, whatever the model's are, so that no file loses a bit.
inline constexpr DType kAdapterType = DType::kF32;

/// What an adapter adds to the product by one matrix [rows, cols] of a layer: b * (a * x).
struct LowRank {
  size_t matrix;  ///< which: the number of its parameter among those of layers that are matrices (ParameterList)
  Matrix a;       ///< [rank, cols]
  Matrix b;  ///< [rows, rank], with the adapter's scale multiplied in; of a rank's share: those that the matrix has
};

/// Immutable after loading (model/load_adapter.h), safe for concurrent reads. Move-only.
struct Adapter {
  uint64_t model = 0;              ///< Fingerprint of the ModelSpec that it is for
  Sha256Digest digest = {};        ///< of all that it adds and the model; what caches, plans and snapshots know it by
  RankShare share = {};            ///< whose part of the model it adds to
  std::vector<LowRank> low_ranks;  ///< ascending by matrix

  /// Returns what it adds to a matrix, or null.
  const LowRank* Find(size_t matrix) const;
};

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/weights/adapters/detail/adapter.h"
#endif

#endif  // SKALD_WEIGHTS_ADAPTERS_ADAPTER_H_
