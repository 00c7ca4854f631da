// SPDX-License-Identifier: Apache-2.0
//
// Adapter: a change of a model's matrices by products of low rank (LoRA, Hu et al. 2021, arXiv:2106.09685). It is added
// to the matrices' outputs, for the rows of conversations that use it. The weights stay unchanged, so any number of
// adapters can be used with one model at once.

#ifndef SKALD_WEIGHTS_ADAPTERS_ADAPTER_H_
#define SKALD_WEIGHTS_ADAPTERS_ADAPTER_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "skald/base/numbers/digest.h"
#include "skald/base/numbers/numeric.h"
#include "skald/base/ranks/rank_share.h"
#include "skald/weights/types/matrix.h"

namespace skald {

/// Matrices of adapters are always floats, so that no file loses precision.
inline constexpr DType kAdapterType = DType::kF32;

/// The product that an adapter adds to that of one matrix [rows, cols] of a layer: b * (a * x).
struct LowRank {
  size_t matrix;  ///< the index of its parameter among the layers' matrices (ParameterList)
  Matrix a;       ///< [rank, cols]
  Matrix b;       ///< [rows, rank], with the adapter's scale multiplied in; with ranks: the matrix's own rows
};

/// The addend of an adapter for row t of an embedding: b * a[t].
struct LowRankEmbedding {
  Matrix a;  ///< [entries, rank]
  Matrix b;  ///< [model_dim, rank], with the adapter's scale multiplied in
};

/// Immutable after loading (model/load_adapter.h), safe for concurrent reads. Move-only.
struct Adapter {
  uint64_t model = 0;              ///< Fingerprint of the ModelSpec that it is for
  Sha256Digest digest = {};        ///< of the model and all it adds; its name in caches, plans and snapshots
  RankShare share = {};            ///< the rank whose part of the model it changes
  std::vector<LowRank> low_ranks;  ///< ascending by matrix
  std::optional<LowRankEmbedding> tokens = {}, types = {};  ///< of the embeddings of tokens and of their types

  /// Returns the product for a matrix, or null. The pointer is valid as long as the adapter.
  const LowRank* Find(size_t matrix) const;
};

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/weights/adapters/detail/adapter.h"
#endif

#endif  // SKALD_WEIGHTS_ADAPTERS_ADAPTER_H_
