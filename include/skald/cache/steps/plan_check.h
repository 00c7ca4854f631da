// SPDX-License-Identifier: Apache-2.0
//
// Checks that a step plan can be carried out in a pool: computing it reads and writes only blocks of that pool. For
// plans that come from elsewhere; Step makes only valid ones. The check cannot tell whether a plan is the intended one.

#ifndef SKALD_CACHE_STEPS_PLAN_CHECK_H_
#define SKALD_CACHE_STEPS_PLAN_CHECK_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "skald/base/no_throw.h"
#include "skald/base/result.h"
#include "skald/cache/blocks/block_pool.h"
#include "skald/cache/steps/step_plan.h"

namespace skald {

namespace internal {

class PlanCheck {
 public:
  PlanCheck(const StepPlan& plan, const BlockPool& pool)
      : plan_(plan), pool_(pool), block_tokens_(pool.runtime().block_tokens) {}

  Result<void> Run() const {
    if (plan_.model != pool_.layout().model()) return Refuse("is for caches of another model than the pool's");
    if (plan_.block_tokens != block_tokens_) {
      return Refuse("has blocks of " + std::to_string(plan_.block_tokens) + " tokens, the pool's are of " +
                    std::to_string(block_tokens_));
    }
    if (plan_.sequences.empty()) return Refuse("has no sequences");
    for (size_t i = 0; i < plan_.sequences.size(); ++i) {
      if (const char* const wrong = WhatIsWrong(plan_.sequences[i])) {
        return Fail(ErrorCode::kDataLoss, "sequence " + std::to_string(i) + " of the step plan " + wrong,
                    {.sequence = i});
      }
    }
    if (!HasAllPasses()) return Refuse("does not compute each token once, in order");
    return {};
  }

 private:
  static Failure Refuse(const std::string& what) { return Fail(ErrorCode::kDataLoss, "the step plan " + what); }

  size_t num_groups() const { return pool_.layout().groups().size(); }
  const CacheGroup& group(size_t g) const { return pool_.layout().groups()[g]; }
  bool IsBlock(size_t g, BlockId id) const { return id < pool_.max_blocks(g); }
  bool IsAttention(uint32_t g) const { return g < num_groups() && group(g).is_attention(); }

  /// Returns null if nothing is wrong.
  const char* WhatIsWrong(const SequencePlan& sequence) const {
    const uint32_t max_tokens = pool_.runtime().max_tokens;
    if (sequence.pool != 0) return "is of a second pool; a plan sent elsewhere is for one";
    if (sequence.num_tokens == 0) return "has no tokens";
    if (sequence.num_tokens > max_tokens || sequence.first_position > max_tokens - sequence.num_tokens) {
      return "goes beyond the pool's token limit (RuntimeConfig::max_tokens)";
    }
    if (sequence.wants.size() != sequence.num_tokens) return "does not have one Want for each token";
    for (const Want want : sequence.wants) {
      if (want > Want::kHidden) return "has a Want that does not exist";
    }
    if (sequence.groups.size() != num_groups()) return "has another number of groups than the pool's layout";
    for (size_t g = 0; g < num_groups(); ++g) {
      if (const char* const wrong = WrongList(sequence, static_cast<uint32_t>(g))) return wrong;
    }
    return WrongWork(sequence);
  }

  const char* WrongList(const SequencePlan& sequence, uint32_t g) const {
    if (group(g).is_inputs()) return WrongInputs(sequence, g);
    if (group(g).is_replayed()) return WrongReplay(sequence, g);
    return group(g).is_recurrent() ? WrongStates(sequence, g) : WrongBlocks(sequence, g);
  }

  /// Every block that the step's tokens see or fill must be listed.
  const char* WrongBlocks(const SequencePlan& sequence, size_t g) const {
    const GroupTable& list = sequence.groups[g];
    if (list.first_token > group(g).FirstVisible(sequence.first_position)) return "lacks tokens that it sees";
    const uint32_t end = sequence.first_position + sequence.num_tokens;
    if (list.blocks.size() != (end + block_tokens_ - 1) / block_tokens_ - list.first_token / block_tokens_) {
      return "lists another number of blocks than its tokens take";
    }
    return AreBlocks(g, list.blocks) ? nullptr : kNoSuchBlock;
  }

  const char* WrongStates(const SequencePlan& sequence, size_t g) const {
    const std::vector<BlockId>& present = sequence.groups[g].blocks;
    if (present.size() != (sequence.first_position > 0 ? 1 : 0)) return kNoBeginning;
    return AreBlocks(g, present) ? WrongSaves(sequence, g, sequence.first_position) : kNoSuchBlock;
  }

  /// Checks the state that the step begins with, or the one that it replays from and all inputs for that.
  const char* WrongReplay(const SequencePlan& sequence, uint32_t g) const {
    const GroupTable& states = sequence.groups[g];
    const GroupTable& inputs = sequence.groups[pool_.layout().InputsOf(g)];
    const uint32_t start = sequence.first_position;
    const size_t bases = states.first_token > 0 ? 1 : 0;
    if (states.first_token > start || states.blocks.size() < bases) return kNoBeginning;
    if (states.blocks.size() > bases + (states.first_token < start ? 1 : 0)) return kNoBeginning;
    if (!AreBlocks(g, states.blocks)) return kNoSuchBlock;
    uint32_t replayed = 0;  // up to here
    for (const StateSave& save : sequence.saves) {
      if (save.group == g && save.tokens <= start) replayed = save.tokens;
    }
    if (!HasPresentState(states, start) && replayed != start) return kNoBeginning;
    if (replayed > 0 &&
        (inputs.first_token != states.first_token || inputs.blocks.size() < replayed - inputs.first_token)) {
      return "lacks inputs that it replays";
    }
    return WrongSaves(sequence, g, states.first_token);
  }

  const char* WrongInputs(const SequencePlan& sequence, size_t g) const {
    if (!AreBlocks(g, sequence.groups[g].blocks)) return kNoSuchBlock;
    for (const StateSave& save : sequence.saves) {
      if (save.group != g) continue;
      if (save.tokens <= sequence.first_position || save.tokens > sequence.first_position + sequence.num_tokens) {
        return "keeps inputs of tokens that it does not compute";
      }
      if (!IsBlock(g, save.block)) return kNoSuchBlock;
    }
    return nullptr;
  }

  /// States after more than `last` tokens, to the end.
  const char* WrongSaves(const SequencePlan& sequence, size_t g, uint32_t last) const {
    for (const StateSave& save : sequence.saves) {
      if (save.group != g) continue;
      if (save.tokens <= last) return "saves states out of order";
      if (!IsBlock(g, save.block)) return kNoSuchBlock;
      last = save.tokens;
    }
    return last == sequence.first_position + sequence.num_tokens ? nullptr
                                                                 : "does not save the state that it ends with";
  }

  bool AreBlocks(size_t g, const std::vector<BlockId>& blocks) const {
    for (const BlockId id : blocks) {
      if (!IsBlock(g, id)) return false;
    }
    return true;
  }

  const char* WrongWork(const SequencePlan& sequence) const {
    for (const StateSave& save : sequence.saves) {
      if (save.group >= num_groups() || IsAttention(save.group)) return "saves a state of a group that keeps none";
    }
    for (const BlockCopy& copy : sequence.copies) {
      if (!IsAttention(copy.group)) return "copies something other than a block of tokens";
      if (!IsBlock(copy.group, copy.source) || !IsBlock(copy.group, copy.target)) return kNoSuchBlock;
      if (copy.source == copy.target) return "copies a block onto itself";
    }
    for (const BlockClear& clear : sequence.clears) {
      if (!IsAttention(clear.group)) return "clears something other than a block of tokens";
      if (!IsBlock(clear.group, clear.block)) return kNoSuchBlock;
    }
    for (const TokenMove& move : sequence.moves) {
      if (!IsAttention(move.group)) return "moves something other than tokens";
      if (!IsBlock(move.group, move.source) || !IsBlock(move.group, move.target)) return kNoSuchBlock;
      if (move.source == move.target) return "moves tokens within a block";
      if (!HasSlots(move.source_slot, move.count) || !HasSlots(move.target_slot, move.count)) {
        return "moves tokens beyond the end of a block";
      }
    }
    return nullptr;
  }

  bool HasSlots(uint32_t first, uint32_t count) const {
    return first < block_tokens_ && count <= block_tokens_ - first;
  }

  bool HasAllPasses() const {
    size_t sequence = 0;
    uint32_t next = 0;  // of its tokens
    for (const Pass& pass : plan_.passes) {
      if (pass.empty()) return false;
      for (size_t i = 0; i < pass.size(); ++i) {
        const PassSlice& slice = pass[i];
        if (i > 0 && next > 0) return false;  // a second slice of one sequence
        if (sequence == plan_.sequences.size() || slice.sequence != sequence || slice.begin != next) return false;
        if (slice.end <= slice.begin || slice.end > plan_.sequences[sequence].num_tokens) return false;
        next = slice.end;
        if (next < plan_.sequences[sequence].num_tokens) continue;
        ++sequence;
        next = 0;
      }
    }
    return sequence == plan_.sequences.size();
  }

  static constexpr const char* kNoBeginning = "does not name the state that it begins with";
  static constexpr const char* kNoSuchBlock = "names a block that the pool cannot have";

  const StepPlan& plan_;
  const BlockPool& pool_;
  const uint32_t block_tokens_;
};

}  // namespace internal

/// Returns an error if `plan` cannot be carried out in `pool`: kDataLoss, naming the sequence.
inline Result<void> CheckStepPlan(const StepPlan& plan, const BlockPool& pool) {
  return NoThrow("CheckStepPlan", [&] { return internal::PlanCheck(plan, pool).Run(); });
}

}  // namespace skald

#endif  // SKALD_CACHE_STEPS_PLAN_CHECK_H_
