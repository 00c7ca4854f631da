// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/model/step_blocks.h.

#ifndef SKALD_MODEL_DETAIL_STEP_BLOCKS_H_
#define SKALD_MODEL_DETAIL_STEP_BLOCKS_H_

#include "skald/model/step_blocks.h"

#include <array>
#include <cstring>

#include "skald/base/inline.h"
#include "skald/base/numbers/packed_layout.h"
#include "skald/base/threads/parallel.h"
#include "skald/cache/layout/runtime_config.h"
#include "skald/kernels/kernels.h"
#include "skald/layers/run/operations.h"

namespace skald {

SKALD_INLINE KVGeometry LayerGeometry(const BlockGeometry& block, size_t layer) {
  return {.kv_heads = block.kv_heads,
          .head_dim = block.head_dim,
          .block_tokens = block.block_tokens,
          .key_offset = block.KeyOffset(layer),
          .value_offset = block.ValueOffset(layer),
          .latent_dim = block.latent_dim};
}

SKALD_INLINE StepBlocks::StepBlocks(const StepPlan& plan, const std::vector<BlockPool*>& pools)
    : plan_(plan), pools_(pools) {
  const size_t num_groups = plan.sequences.front().groups.size();
  bytes_.resize(num_groups);
  tables_.resize(num_groups);
  for (size_t g = 0; g < num_groups; ++g) {
    for (const SequencePlan& sequence : plan.sequences) bytes_[g].emplace_back(sequence.groups[g].blocks.size());
    tables_[g].resize(plan.sequences.size());
  }
}

SKALD_INLINE void StepBlocks::Prepare(std::span<const Rotation> rotations, const ExecutorRef& executor) {
  FindBlocks();
  for (size_t s = 0; s < plan_.sequences.size(); ++s) {
    for (const BlockCopy& copy : plan_.sequences[s].copies) {
      std::memcpy(Block(s, copy.group, copy.target), Block(s, copy.group, copy.source), BlockBytes(s, copy.group));
    }
    for (const BlockClear& clear : plan_.sequences[s].clears) {
      std::memset(Block(s, clear.group, clear.block), 0, BlockBytes(s, clear.group));
    }
    MoveTokens(s, rotations, executor);
  }
}

SKALD_INLINE void StepBlocks::BeginPass(const Pass& pass) {
  for (const PassSlice& slice : pass) {
    const SequencePlan& sequence = plan_.sequences[slice.sequence];
    const size_t step = block_tokens(slice.sequence);
    const size_t begin = RoundUp(sequence.first_position + slice.begin, step);
    for (size_t first = begin; first < sequence.first_position + slice.end; first += step) {
      for (size_t g = 0; g < tables_.size(); ++g) {
        if (!pools_[slice.sequence]->layout().groups()[g].is_attention()) continue;
        const KVBlocks& table = tables_[g][slice.sequence];
        std::memset(table.blocks[first / step - table.first_block], 0, BlockBytes(slice.sequence, g));
      }
    }
  }
}

SKALD_INLINE size_t StepBlocks::block_tokens(size_t sequence) const { return pools_[sequence]->runtime().block_tokens; }

SKALD_INLINE void StepBlocks::FindBlocks() {
  for (size_t g = 0; g < tables_.size(); ++g) {
    for (size_t s = 0; s < plan_.sequences.size(); ++s) {
      const GroupTable& group = plan_.sequences[s].groups[g];
      pools_[s]->Resolve(g, group.blocks, bytes_[g][s]);
      tables_[g][s] = {bytes_[g][s].data(), group.first_token / block_tokens(s)};
    }
  }
}

SKALD_INLINE void StepBlocks::MoveTokens(size_t s, std::span<const Rotation> rotations, const ExecutorRef& executor) {
  for (const TokenMove& move : plan_.sequences[s].moves) {
    const Rotation& rotation = rotations[move.group];
    std::array<float, kMaxPairs> cos, sin;
    rotation.Turn(move.shift, cos.data(), sin.data());
    const BlockGeometry& geometry = pools_[s]->geometry(move.group);
    const std::byte* const source = Block(s, move.group, move.source);
    std::byte* const target = Block(s, move.group, move.target);
    VisitCacheType(pools_[s]->runtime().kv_type, [&]<class T>() {
      ParallelFor(executor, geometry.layers, geometry.block_bytes() / geometry.layers, [&](size_t begin, size_t end) {
        for (size_t layer = begin; layer < end; ++layer) {
          Kernels<>::template MoveKV<T>({.source = source,
                                         .target = target,
                                         .source_slot = move.source_slot,
                                         .target_slot = move.target_slot,
                                         .count = move.count,
                                         .cos = cos.data(),
                                         .sin = sin.data(),
                                         .rotary_dim = 2 * rotation.pairs(),
                                         .geometry = LayerGeometry(geometry, layer)});
        }
      });
    });
  }
}

}  // namespace skald

#endif  // SKALD_MODEL_DETAIL_STEP_BLOCKS_H_
