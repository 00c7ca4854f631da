// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/model/rank_memory.h.

#ifndef SKALD_MODEL_DETAIL_RANK_MEMORY_H_
#define SKALD_MODEL_DETAIL_RANK_MEMORY_H_

#include "skald/model/rank_memory.h"

#include <cstddef>
#include <variant>

#include "skald/base/inline.h"
#include "skald/base/no_throw.h"
#include "skald/cache/blocks/block_pool.h"
#include "skald/cache/create.h"
#include "skald/cache/layout/layout.h"
#include "skald/cache/steps/batch.h"
#include "skald/cache/steps/step.h"
#include "skald/layers/model_weights.h"
#include "skald/model/load.h"
#include "skald/weights/parameters.h"
#include "skald/weights/partitioned_parameters.h"
#include "skald/weights/types/matrix.h"

namespace skald {

namespace internal {

// Adds up the parameters of a list.
class ShareSums {
 public:
  ShareSums(const RankShare& share, std::span<const PlannedMatrix> matrices) : share_(share), matrices_(matrices) {}

  void operator()(const MatrixParameter& parameter) {
    const PartitionedRows here = RowsHere(parameter, share_);
    const PlannedMatrix& matrix = Next();
    const size_t of_inputs = Matrix::InputBytes(parameter.cols, matrix.has_order, matrix.has_factors);
    Add(Matrix::BytesOf(here.size(), parameter.cols, matrix.dtype) + of_inputs, here.division != nullptr);
  }
  void operator()(const BlocksParameter& parameter) {
    for (const Part& part : parameter.parts) {
      for (size_t i = 0; i < parameter.count; ++i) {
        const size_t bytes = Matrix::BytesOf(part.rows, parameter.cols, Next().dtype);
        if (parameter.here.Contains(i)) Add(bytes, parameter.here.size() < parameter.count);
      }
    }
  }
  void operator()(const VectorParameter& parameter) {
    const bool is_partitioned = ArePartitioned(parameter.axes, share_.ranks);
    Add((is_partitioned ? PartitionedSize(parameter.axes, share_) : parameter.size()) * sizeof(float), is_partitioned);
  }

  const RankMemory& sums() const { return sums_; }

 private:
  const PlannedMatrix& Next() { return matrices_[next_++]; }
  void Add(size_t bytes, bool is_partitioned) {
    (is_partitioned || share_.ranks == 1 ? sums_.partitioned : sums_.replicated) += bytes;
  }

  const RankShare share_;
  const std::span<const PlannedMatrix> matrices_;
  size_t next_ = 0;
  RankMemory sums_;
};

// Returns what a pool has for one conversation of so many tokens, computed at once.
inline Result<uint64_t> StateBytes(const CacheLayout& layout, const RuntimeConfig& runtime, uint32_t tokens) {
  SKALD_ASSIGN(const auto pool, CreateLedgerPool(layout, runtime));
  SKALD_ASSIGN(auto cache, CreateKVCache(pool));
  const std::vector<int32_t> ids(tokens);
  SKALD_ASSIGN(auto step, Step::Begin(Batch().Add(cache, ids), /*pass_tokens=*/512));
  step.Commit();
  return pool->usage().used_bytes;
}

}  // namespace internal

SKALD_INLINE std::vector<PlannedMatrix> MatricesOf(const ModelSpec& spec, DType dtype) {
  std::vector<PlannedMatrix> matrices;
  ModelWeights weights(spec);
  const ParameterList list = ParametersOf(weights);
  for (const Parameter& parameter : list.parameters()) {
    if (const auto* matrix = std::get_if<MatrixParameter>(&parameter.value)) {
      matrices.push_back({matrix->dtype.value_or(dtype)});
    } else if (const auto* blocks = std::get_if<BlocksParameter>(&parameter.value)) {
      matrices.insert(matrices.end(), blocks->targets->size(), {dtype});
    }
  }
  return matrices;
}

SKALD_INLINE Result<RankMemory> MemoryOfRank(const ModelSpec& spec, std::span<const PlannedMatrix> matrices,
                                             const RankShare& share, const RuntimeConfig& runtime, uint32_t tokens) {
  return NoThrow("MemoryOfRank", [&]() -> Result<RankMemory> {
    SKALD_TRY(internal::CheckSpec(spec, share));
    ModelWeights weights(spec, share);
    const ParameterList list = ParametersOf(weights);
    internal::ShareSums sums(share, matrices);
    for (const Parameter& parameter : list.parameters()) std::visit(sums, parameter.value);
    SKALD_ASSIGN(const auto state, internal::StateBytes(LayoutOf(spec, share), runtime, tokens));
    RankMemory memory = sums.sums();
    memory.state = state;
    return memory;
  });
}

}  // namespace skald

#endif  // SKALD_MODEL_DETAIL_RANK_MEMORY_H_
