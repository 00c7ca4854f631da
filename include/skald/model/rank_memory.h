// SPDX-License-Identifier: Apache-2.0
//
// The memory that a rank takes, before anything is loaded: its part of the weights, what every rank has, and the state
// of a conversation.

#ifndef SKALD_MODEL_RANK_MEMORY_H_
#define SKALD_MODEL_RANK_MEMORY_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <variant>
#include <vector>

#include "skald/base/no_throw.h"
#include "skald/base/numbers/numeric.h"
#include "skald/base/ranks/rank_share.h"
#include "skald/base/result.h"
#include "skald/cache/create.h"
#include "skald/cache/form/runtime_config.h"
#include "skald/cache/steps/batch.h"
#include "skald/cache/steps/step.h"
#include "skald/layers/model_spec.h"
#include "skald/layers/model_weights.h"
#include "skald/model/load.h"
#include "skald/weights/dealt_parameters.h"
#include "skald/weights/parameters.h"
#include "skald/weights/types/matrix.h"

namespace skald {

// Bytes, padding included. Activations and what is exchanged come on top, a few megabytes for each pass.
struct RankMemory {
  uint64_t dealt = 0;       // its part of the weights that are dealt
  uint64_t replicated = 0;  // weights that all ranks have
  uint64_t state = 0;       // of one conversation

  uint64_t weights() const { return dealt + replicated; }
};

namespace internal {

// Adds up the parameters of a list.
class ShareSums {
 public:
  ShareSums(const RankShare& share, std::span<const DType> types) : share_(share), types_(types) {}

  void operator()(const MatrixParameter& parameter) {
    const DealtRows here = RowsHere(parameter, share_);
    Add(Matrix::BytesOf(here.size(), parameter.cols, Next()), here.division != nullptr);
  }
  void operator()(const BlocksParameter& parameter) {
    for (const Part& part : parameter.parts) {
      for (size_t i = 0; i < parameter.count; ++i) {
        const size_t bytes = Matrix::BytesOf(part.rows, parameter.cols, Next());
        if (parameter.here.Contains(i)) Add(bytes, parameter.here.size() < parameter.count);
      }
    }
  }
  void operator()(const VectorParameter& parameter) {
    const bool is_dealt = AreDealt(parameter.sections, share_.ranks);
    Add((is_dealt ? DealtSize(parameter.sections, share_) : parameter.size()) * sizeof(float), is_dealt);
  }

  const RankMemory& sums() const { return sums_; }

 private:
  DType Next() { return types_[next_++]; }
  void Add(size_t bytes, bool is_dealt) { (is_dealt || share_.ranks == 1 ? sums_.dealt : sums_.replicated) += bytes; }

  const RankShare share_;
  const std::span<const DType> types_;
  size_t next_ = 0;
  RankMemory sums_;
};

// Returns what a pool has for one conversation of so many tokens, computed at once.
inline Result<uint64_t> StateBytes(const CacheLayout& layout, const RuntimeConfig& runtime, uint32_t tokens) {
  const auto pool = CreateLedgerPool(layout, runtime);
  if (!pool) return Failure(pool.error());
  auto cache = CreateKVCache(*pool);
  if (!cache) return Failure(cache.error());
  const std::vector<int32_t> ids(tokens);
  auto step = Step::Begin(Batch().Add(*cache, ids), /*pass_tokens=*/512);
  if (!step) return Failure(step.error());
  step->Commit();
  return (*pool)->usage().used_bytes;
}

}  // namespace internal

// Returns the types that the matrices of a model have in memory where no file says otherwise.
inline std::vector<DType> MatrixTypes(const ModelSpec& spec, DType dtype) {
  std::vector<DType> types;
  ModelWeights weights(spec);
  const ParameterList list = ParametersOf(weights);
  for (const Parameter& parameter : list.parameters()) {
    if (const auto* matrix = std::get_if<MatrixParameter>(&parameter.value)) {
      types.push_back(matrix->dtype.value_or(dtype));
    } else if (const auto* blocks = std::get_if<BlocksParameter>(&parameter.value)) {
      types.insert(types.end(), blocks->targets->size(), dtype);
    }
  }
  return types;
}

// Returns what a rank takes for its share of the model, whose matrices are of these `types`, in the order of packed
// files (MatrixTypes; TypesOfMatrices, of a checkpoint), and for a conversation of `tokens` tokens. Errors: a model
// that so many ranks cannot compute, and those of CreateBlockPool and of a step, as for more tokens than
// runtime.max_tokens.
inline Result<RankMemory> MemoryOfRank(const ModelSpec& spec, std::span<const DType> types, const RankShare& share,
                                       const RuntimeConfig& runtime, uint32_t tokens) {
  return NoThrow("MemoryOfRank", [&]() -> Result<RankMemory> {
    if (auto possible = internal::CheckSpec(spec, share); !possible) return Failure(possible.error());
    ModelWeights weights(spec, share);
    const ParameterList list = ParametersOf(weights);
    internal::ShareSums sums(share, types);
    for (const Parameter& parameter : list.parameters()) std::visit(sums, parameter.value);
    const auto state = internal::StateBytes(LayoutOf(spec, share), runtime, tokens);
    if (!state) return Failure(state.error());
    RankMemory memory = sums.sums();
    memory.state = *state;
    return memory;
  });
}

}  // namespace skald

#endif  // SKALD_MODEL_RANK_MEMORY_H_
