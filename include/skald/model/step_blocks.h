// SPDX-License-Identifier: Apache-2.0
//
// StepBlocks: the memory behind a step's plan for attention, and the work on blocks that comes before arithmetic:
// copies on write, pending edits, clearing. A plan and a pool are all it takes, so a plan made elsewhere runs here too.
//
// Every block that the step adds for attention is copied whole, or cleared here before anything is written to it, so it
// does not matter what was in it.

#ifndef SKALD_MODEL_STEP_BLOCKS_H_
#define SKALD_MODEL_STEP_BLOCKS_H_

#include <cstddef>
#include <span>
#include <vector>

#include "skald/base/threads/executor.h"
#include "skald/cache/blocks/block_pool.h"
#include "skald/cache/blocks/block_table.h"
#include "skald/cache/layout/layout.h"
#include "skald/cache/steps/step_plan.h"
#include "skald/kernels/args.h"
#include "skald/model/rotation.h"

namespace skald {

// Where layer `layer` of a group keeps its keys and values in a block.
KVGeometry LayerGeometry(const BlockGeometry& block, size_t layer);

class StepBlocks {
 public:
  // `pools[s]` holds the blocks of sequence s; `plan` and the pools must outlive this. The plan's blocks need not be
  // there yet; memory for all that is said of them is.
  StepBlocks(const StepPlan& plan, const std::vector<BlockPool*>& pools);

  // [sequences], as the attention kernel reads them.
  const KVBlocks* tables(size_t group) const { return tables_[group].data(); }

  // Finds the blocks and carries out copies, clears and moves; once, before the first pass. `rotations[g]` turns the
  // keys of group g.
  void Prepare(std::span<const Rotation> rotations, const ExecutorRef& executor);

  // Clears the blocks whose first token `pass` writes: positions not yet written are zero.
  void BeginPass(const Pass& pass);

 private:
  size_t block_tokens(size_t sequence) const;
  size_t BlockBytes(size_t sequence, size_t group) const { return pools_[sequence]->geometry(group).block_bytes(); }
  std::byte* Block(size_t sequence, size_t group, BlockId id) { return pools_[sequence]->ResolveOne(group, id); }

  void FindBlocks();

  void MoveTokens(size_t s, std::span<const Rotation> rotations, const ExecutorRef& executor);

  const StepPlan& plan_;
  const std::vector<BlockPool*>& pools_;
  std::vector<std::vector<std::vector<std::byte*>>> bytes_;  // [group][sequence][block]
  std::vector<std::vector<KVBlocks>> tables_;                // [group][sequence]
};

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/model/detail/step_blocks.h"
#endif

#endif  // SKALD_MODEL_STEP_BLOCKS_H_
