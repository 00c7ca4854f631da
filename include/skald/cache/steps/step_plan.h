// SPDX-License-Identifier: Apache-2.0
//
// StepPlan: everything that one step does, decided before anything is computed: the use of every block, which tokens
// are computed together, and which outputs are wanted. Plain data without pointers: it can be recorded, or sent
// (step_plan_bytes.h) to another process and carried out there, on a pool of the same layout. It does not contain the
// tokens themselves.

#ifndef SKALD_CACHE_STEPS_STEP_PLAN_H_
#define SKALD_CACHE_STEPS_STEP_PLAN_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "skald/base/numbers/digest.h"
#include "skald/cache/blocks/block_table.h"

namespace skald {

/// The wanted output of a token's row.
enum class Want : uint8_t {
  kNothing,  ///< only its effect on the cache
  kLogits,   ///< [vocab_size], for the token that follows it
  kHidden,   ///< [model_dim], the final norm's output, from which the logits are computed
};

/// Copy-on-write: the whole block `source` is copied to `target` before the first pass.
struct BlockCopy {
  uint32_t group;  ///< of CacheLayout::groups
  /// Blocks of the group.
  BlockId source, target;
};

/// A block that is cleared before the first pass, for moves to fill.
struct BlockClear {
  uint32_t group;  ///< of CacheLayout::groups
  BlockId block;   ///< of the group
};

/// `count` tokens of block `source` from slot `source_slot` on are copied to block `target`, and their keys rotated by
/// `shift` positions. Carries out pending edits, before the first pass and after the clears.
struct TokenMove {
  uint32_t group;  ///< of CacheLayout::groups
  /// Blocks of the group.
  BlockId source, target;
  /// Slots in the blocks; tokens.
  uint32_t source_slot, target_slot, count;
  int32_t shift;  ///< new position less old position
};

/// Writes the state of a recurrent group after the sequence's first `tokens` tokens to `block`; for a replayed group
/// before the first pass, if those tokens exist already. For a group of inputs: the inputs of the last of these tokens.
struct StateSave {
  uint32_t group;   ///< of CacheLayout::groups
  uint32_t tokens;  ///< counted from the sequence's beginning
  BlockId block;    ///< of the group
};

/// One sequence's part of a step: the tokens at [first_position, first_position + num_tokens) are computed.
struct SequencePlan {
  uint32_t pool = 0;             ///< which of the step's pools has its blocks (Step::pools)
  uint32_t first_position = 0;   ///< of the first computed token
  uint32_t num_tokens = 0;       ///< that are computed
  Sha256Digest adapter = {};     ///< KVCache::adapter
  std::vector<Want> wants = {};  ///< [num_tokens]
  /// For each attention group, the blocks from the first one the step reads to the last one it writes. A window group
  /// may list one block at two places: it is written again after its tokens left the window. For each recurrent group,
  /// the state that the step begins with; none at position 0. For a replayed group that saves states of existing
  /// tokens, its part of the sequence's table, and for its inputs those up to the last of these states.
  std::vector<GroupTable> groups = {};
  /// For each recurrent group, ascending by tokens; the last is the state that the step ends with. Its block also
  /// carries the state between passes, and from a replay to the first pass, unless that state is saved elsewhere.
  std::vector<StateSave> saves = {};
  std::vector<BlockCopy> copies = {};   ///< in any order
  std::vector<BlockClear> clears = {};  ///< in any order
  std::vector<TokenMove> moves = {};    ///< in any order
};

/// Tokens [begin, end), counted within the step's tokens of sequence `sequence`, that are computed in one pass.
struct PassSlice {
  uint32_t sequence;  ///< index in StepPlan::sequences
  uint32_t begin, end;
};

/// A pass computes its slices together; no sequence has two slices in a pass. A pass that writes the first token of
/// a block clears the block before.
using Pass = std::vector<PassSlice>;

struct StepPlan {
  uint64_t model = 0;                   ///< the model of its caches (CacheLayout::model)
  uint32_t block_tokens = 0;            ///< RuntimeConfig::block_tokens of the pools
  std::vector<SequencePlan> sequences;  ///< in the order of the batch
  /// In order: the first sequence from its first token to its last, then the next one.
  std::vector<Pass> passes;
};

/// Returns the number of tokens in the largest pass.
size_t LargestPass(const StepPlan& plan);

/// Returns passes of at most `pass_tokens` tokens over sequences of these lengths, in order.
std::vector<Pass> SplitIntoPasses(const std::vector<SequencePlan>& sequences, uint32_t pass_tokens);

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/cache/steps/detail/step_plan.h"
#endif

#endif  // SKALD_CACHE_STEPS_STEP_PLAN_H_
