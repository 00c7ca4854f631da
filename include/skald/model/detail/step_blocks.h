// SPDX-License-Identifier: Apache-2.0
//
// StepBlocks: the memory of a step's plan for attention, and the work on blocks that comes before arithmetic: copies on
// write, pending edits, clearing. It needs only a plan and a pool, so a plan made elsewhere runs here too.
//
// Every block that the step adds for attention is copied whole, or cleared here before anything is written to it, so it
// does not matter what was in it.

#ifndef SKALD_MODEL_DETAIL_STEP_BLOCKS_H_
#define SKALD_MODEL_DETAIL_STEP_BLOCKS_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "skald/base/threads/parallel.h"
#include "skald/cache/blocks/block_pool.h"
#include "skald/cache/layout/layout.h"
#include "skald/cache/steps/step_plan.h"
#include "skald/kernels/args.h"
#include "skald/kernels/kernels.h"
#include "skald/layers/run/operations.h"
#include "skald/model/rotation.h"

namespace skald {

// Where layer `layer` of a group keeps its keys and values in a block.
inline KVGeometry LayerGeometry(const BlockGeometry& block, size_t layer) {
  return {.kv_heads = block.kv_heads,
          .head_dim = block.head_dim,
          .block_tokens = block.block_tokens,
          .key_offset = block.KeyOffset(layer),
          .value_offset = block.ValueOffset(layer),
          .latent_dim = block.latent_dim};
}

class StepBlocks {
 public:
  // `pools[s]` holds the blocks of sequence s; `plan` and the pools must outlive this. The plan's blocks need not be
  // there yet; memory for all that is said of them is.
  StepBlocks(const StepPlan& plan, const std::vector<BlockPool*>& pools) : plan_(plan), pools_(pools) {
    const size_t num_groups = plan.sequences.front().groups.size();
    bytes_.resize(num_groups);
    tables_.resize(num_groups);
    for (size_t g = 0; g < num_groups; ++g) {
      for (const SequencePlan& sequence : plan.sequences) bytes_[g].emplace_back(sequence.groups[g].blocks.size());
      tables_[g].resize(plan.sequences.size());
    }
  }

  // [sequences], as the attention kernel reads them.
  const KVBlocks* tables(size_t group) const { return tables_[group].data(); }

  // Finds the blocks and carries out copies, clears and moves; once, before the first pass. `rotations[g]` turns the
  // keys of group g.
  void Prepare(std::span<const Rotation> rotations, const ExecutorRef& executor) {
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

  // Clears the blocks whose first token `pass` writes: positions not yet written are zero.
  void BeginPass(const Pass& pass) {
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

 private:
  size_t block_tokens(size_t sequence) const { return pools_[sequence]->runtime().block_tokens; }
  size_t BlockBytes(size_t sequence, size_t group) const { return pools_[sequence]->geometry(group).block_bytes(); }
  std::byte* Block(size_t sequence, size_t group, BlockId id) { return pools_[sequence]->ResolveOne(group, id); }

  void FindBlocks() {
    for (size_t g = 0; g < tables_.size(); ++g) {
      for (size_t s = 0; s < plan_.sequences.size(); ++s) {
        const GroupTable& group = plan_.sequences[s].groups[g];
        pools_[s]->Resolve(g, group.blocks, bytes_[g][s]);
        tables_[g][s] = {bytes_[g][s].data(), group.first_token / block_tokens(s)};
      }
    }
  }

  void MoveTokens(size_t s, std::span<const Rotation> rotations, const ExecutorRef& executor) {
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

  const StepPlan& plan_;
  const std::vector<BlockPool*>& pools_;
  std::vector<std::vector<std::vector<std::byte*>>> bytes_;  // [group][sequence][block]
  std::vector<std::vector<KVBlocks>> tables_;                // [group][sequence]
};

}  // namespace skald

#endif  // SKALD_MODEL_DETAIL_STEP_BLOCKS_H_
