// SPDX-License-Identifier: Apache-2.0
//
// The memory that a rank takes, before anything is loaded: its part of the weights, what every rank has, and the state
// of a conversation.

#ifndef SKALD_MODEL_RANK_MEMORY_H_
#define SKALD_MODEL_RANK_MEMORY_H_

#include <cstdint>
#include <span>
#include <vector>

#include "skald/base/numbers/numeric.h"
#include "skald/base/ranks/rank_share.h"
#include "skald/base/result.h"
#include "skald/cache/layout/runtime_config.h"
#include "skald/layers/model_spec.h"
#include "skald/weights/types/planned_matrix.h"

namespace skald {

/// Bytes, padding included. Activations and what is exchanged come on top, a few megabytes for each pass.
struct RankMemory {
  uint64_t partitioned = 0;  ///< its part of the weights that are partitioned
  uint64_t replicated = 0;   ///< weights that all ranks have
  uint64_t state = 0;        ///< of one conversation

  /// Bytes of the weights on this rank.
  uint64_t weights() const { return partitioned + replicated; }
};

/// Returns how the matrices of a model are kept in memory where no file says otherwise.
std::vector<PlannedMatrix> MatricesOf(const ModelSpec& spec, DType dtype);

/// Returns what a rank takes for its share of the model, whose `matrices` are in the order of packed files (MatricesOf,
/// of a spec or of a checkpoint), and for a conversation of `tokens` tokens. Errors: a model
/// that so many ranks cannot compute, and those of CreateBlockPool and of a step, as for more tokens than
/// runtime.max_tokens.
Result<RankMemory> MemoryOfRank(const ModelSpec& spec, std::span<const PlannedMatrix> matrices, const RankShare& share,
                                const RuntimeConfig& runtime, uint32_t tokens);

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/model/detail/rank_memory.h"
#endif

#endif  // SKALD_MODEL_RANK_MEMORY_H_
