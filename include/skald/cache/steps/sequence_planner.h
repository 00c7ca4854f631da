// SPDX-License-Identifier: Apache-2.0
//
// Plans one sequence's part of a step: which blocks it reads, which new ones it needs, what must be copied or moved
// first, and its table after the commit. Changes neither the cache nor the pool: new blocks have provisional numbers,
// NewBlock(0), NewBlock(1), ... in each group, until they are taken.
//
// The present state of a recurrent group is never overwritten: a new one is written. So an abandoned step costs
// nothing, and forks, resume points and rewinding share existing states. A replayed group keeps its base, the state
// before every position that a rewind may go to, and the inputs since.

#ifndef SKALD_CACHE_STEPS_SEQUENCE_PLANNER_H_
#define SKALD_CACHE_STEPS_SEQUENCE_PLANNER_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "skald/cache/blocks/block_pool.h"
#include "skald/cache/blocks/block_table.h"
#include "skald/cache/blocks/table_lease.h"
#include "skald/cache/steps/step_plan.h"

namespace skald {

/// The provisional number of a group's i-th new block.
inline constexpr BlockId kFirstNewBlock = kMaxBlocks;
constexpr BlockId NewBlock(uint32_t i) { return kFirstNewBlock + i; }
constexpr bool IsNewBlock(BlockId id) { return id >= kFirstNewBlock; }

/// Inputs kept, at most, for each token that must be within reach. With more of them the base moves less often when
/// tokens come one by one; each move costs as many rows of the recurrence as there are tokens within reach.
inline constexpr uint64_t kMostInputs = 4;

/// Plans one sequence's part of a step. Nothing changes until the plan is committed.
class SequencePlanner {
 public:
  /// Plans for `table`, a cache's in `pool`, to grow by `num_tokens`. Blocks in `given_up` are treated as unused.
  SequencePlanner(const BlockPool& pool, const BlockTable& table, uint32_t num_tokens,
                  std::span<TableLease* const> given_up)
      : pool_(pool),
        table_(table),
        order_(table.Order()),
        given_up_(given_up),
        block_tokens_(pool.runtime().block_tokens),
        end_(table.tokens + num_tokens),
        rewind_to_(end_ - std::min(end_, pool.runtime().rewind_tokens)),
        num_new_(table.groups.size(), 0) {
    plan_.groups.resize(table.groups.size());
  }

  /// `slice_begins` are the positions at which the sequence's passes begin.
  void Plan(std::span<const uint32_t> slice_begins, std::vector<uint32_t> resume_points) {
    resume_points_ = std::move(resume_points);
    for (uint32_t g = 0; g < plan_.groups.size(); ++g) {
      if (group(g).is_replayed()) {
        PlanReplay(g);
      } else if (group(g).is_recurrent()) {
        PlanStates(g);
      } else if (group(g).is_attention()) {
        KeepBlocks(g);
        AddBlocks(g, slice_begins);
      }
    }
  }

  /// Moves the plan to `plan`, which has pool, tokens and wants.
  void TakePlan(SequencePlan& plan) {
    plan.groups = std::move(plan_.groups);
    plan.saves = std::move(plan_.saves);
    plan.copies = std::move(plan_.copies);
    plan.clears = std::move(plan_.clears);
    plan.moves = std::move(plan_.moves);
  }

  /// How many new blocks of each group the plan needs.
  const std::vector<uint32_t>& num_new() const { return num_new_; }

  /// The sequence's table at the end of the step, with everything that rewinding may need.
  BlockTable FinalTable() const { return TableAt(end_, rewind_to_); }

  /// A resume point: the state needed to continue from `tokens` tokens.
  BlockTable ResumePointAt(uint32_t tokens) const { return TableAt(tokens, tokens); }

 private:
  // The table of the first `tokens` tokens, able to go back to `rewind_to`; state that is then out of every window is
  // left out.
  BlockTable TableAt(uint32_t tokens, uint32_t rewind_to) const {
    BlockTable table;
    table.tokens = tokens;
    table.groups.resize(plan_.groups.size());
    for (uint32_t g = 0; g < layout().layer_groups().size(); ++g) {
      if (group(g).is_replayed()) {
        const uint32_t base = rewind_to < tokens ? NextBase(g) : tokens;
        table.groups[g] = BaseAndPresent(g, base, tokens);
        table.groups[layout().InputsOf(g)] = InputsIn(layout().InputsOf(g), base, tokens);
        continue;
      }
      if (group(g).is_recurrent()) {
        table.groups[g] = StatesIn(g, rewind_to, tokens);
        continue;
      }
      const GroupTable& all = plan_.groups[g];
      const uint32_t begin = std::max(FirstBlock(g, rewind_to), BlockOf(all.first_token));
      const uint32_t end = BlocksFor(tokens);
      const auto at = [&](uint32_t block) { return all.blocks.begin() + (block - BlockOf(all.first_token)); };
      table.groups[g] = {std::max(all.first_token, begin * block_tokens_), {at(begin), at(end)}};
    }
    return table;
  }

  /// The unbroken run of states of group `g` that ends after `last` tokens and begins no earlier than `first`.
  GroupTable StatesIn(uint32_t g, uint32_t first, uint32_t last) const {
    GroupTable states{last + 1, {}};
    while (states.first_token > std::max(first, 1u)) {
      const auto state = FindState(g, states.first_token - 1);
      if (!state) break;
      states.blocks.insert(states.blocks.begin(), *state);
      --states.first_token;
    }
    return states;
  }

  /// The block that holds, or will hold, the state of group `g` after `tokens` tokens.
  std::optional<BlockId> FindState(uint32_t g, uint32_t tokens) const {
    const GroupTable& stored = table_.groups[g];
    if (tokens <= table_.tokens) {
      if (tokens < stored.first_token || stored.blocks.empty()) return std::nullopt;
      return stored.blocks[tokens - stored.first_token];
    }
    return FindSave(g, tokens);
  }

  std::optional<BlockId> FindSave(uint32_t g, uint32_t tokens) const {
    for (const StateSave& save : plan_.saves) {
      if (save.group == g && save.tokens == tokens) return save.block;
    }
    return std::nullopt;
  }

  /// Plans new states of group `g`: at every resume point and at every position that a rewind may go to.
  void PlanStates(uint32_t g) {
    if (table_.tokens > 0) plan_.groups[g] = {table_.tokens, {table_.groups[g].blocks.back()}};
    std::vector<uint32_t> positions = resume_points_;
    const uint32_t first = std::min(end_, std::max(rewind_to_, table_.tokens + 1));
    for (uint32_t tokens = first; tokens <= end_; ++tokens) positions.push_back(tokens);
    std::sort(positions.begin(), positions.end());
    positions.erase(std::unique(positions.begin(), positions.end()), positions.end());
    for (const uint32_t tokens : positions) plan_.saves.push_back({g, tokens, TakeBlock(g)});
  }

  /// The position from which replays of group `g` will begin after the step. The base stays while there are not too
  /// many inputs. Otherwise it moves to the beginning of the step or, if necessary, to the earliest position within
  /// reach.
  uint32_t NextBase(uint32_t g) const {
    if (rewind_to_ == end_) return end_;
    const uint32_t base = rewind_to_ < table_.tokens ? table_.groups[g].first_token : table_.tokens;
    return end_ - base <= kMostInputs * pool_.runtime().rewind_tokens ? base : rewind_to_;
  }

  /// The state of replayed group `g` after `tokens` tokens, if it exists before the step.
  std::optional<BlockId> FindStored(uint32_t g, uint32_t tokens) const {
    const GroupTable& stored = table_.groups[g];
    if (tokens == 0) return std::nullopt;
    if (tokens == stored.first_token) return stored.blocks.front();
    if (tokens == table_.tokens && HasPresentState(stored, tokens)) return stored.blocks.back();
    return std::nullopt;
  }

  GroupTable BaseAndPresent(uint32_t g, uint32_t base, uint32_t tokens) const {
    GroupTable states{base, {}};
    for (const uint32_t position : {base, tokens}) {
      if (position == 0 || (position == base && !states.blocks.empty())) continue;
      const auto stored = FindStored(g, position);
      states.blocks.push_back(stored ? *stored : *FindSave(g, position));
    }
    return states;
  }

  /// The inputs of group `g`, of the tokens at [first, last).
  GroupTable InputsIn(uint32_t g, uint32_t first, uint32_t last) const {
    const GroupTable& stored = table_.groups[g];
    GroupTable inputs{first, {}};
    for (uint32_t at = first; at < last; ++at) {
      inputs.blocks.push_back(at < table_.tokens ? stored.blocks[at - stored.first_token] : *FindSave(g, at + 1));
    }
    return inputs;
  }

  /// Plans new states of replayed group `g`: at every resume point, at the next base and at the end; and the inputs
  /// after the base. After a rewind the first state is replayed into the block of the last one, unless it is the base.
  void PlanReplay(uint32_t g) {
    const uint32_t inputs = layout().InputsOf(g), start = table_.tokens, base = NextBase(g);
    std::vector<uint32_t> positions = resume_points_;
    positions.push_back(end_);
    if (base > 0 && !FindStored(g, base)) positions.push_back(base);
    std::sort(positions.begin(), positions.end());
    positions.erase(std::unique(positions.begin(), positions.end()), positions.end());
    const BlockId at_end = TakeBlock(g);
    bool must_replay = start > 0 && !FindStored(g, start);
    for (const uint32_t tokens : positions) {
      if (must_replay && tokens > start) plan_.saves.push_back({g, start, at_end});
      must_replay = must_replay && tokens < start;
      plan_.saves.push_back({g, tokens, tokens == end_ ? at_end : TakeBlock(g)});
    }
    for (uint32_t at = std::max(base, start); at < end_; ++at)
      plan_.saves.push_back({inputs, at + 1, TakeBlock(inputs)});
    if (start > 0) ListBeginning(g, inputs);
  }

  /// Lists the state that a step of replayed group `g` begins with, and everything that it replays.
  void ListBeginning(uint32_t g, uint32_t inputs) {
    uint32_t replayed = 0;  // up to here
    for (const StateSave& save : plan_.saves) {
      if (save.group == g && save.tokens <= table_.tokens) replayed = save.tokens;
    }
    if (replayed == 0) {
      plan_.groups[g] = {table_.tokens, {table_.groups[g].blocks.back()}};
      plan_.groups[inputs] = {table_.tokens, {}};
    } else {
      plan_.groups[g] = table_.groups[g];
      plan_.groups[inputs] = InputsIn(inputs, table_.groups[g].first_token, replayed);
    }
  }

  const CacheLayout& layout() const { return pool_.layout(); }
  const CacheGroup& group(uint32_t g) const { return layout().groups()[g]; }
  uint32_t BlockOf(uint32_t position) const { return position / block_tokens_; }
  uint32_t BlocksFor(uint32_t tokens) const { return (tokens + block_tokens_ - 1) / block_tokens_; }

  /// First block that a token at `position` reads.
  uint32_t FirstBlock(uint32_t g, uint32_t position) const { return BlockOf(group(g).FirstVisible(position)); }

  BlockId StoredBlock(uint32_t g, uint32_t position) const {
    const GroupTable& stored = table_.groups[g];
    return stored.blocks[BlockOf(position) - BlockOf(stored.first_token)];
  }

  BlockId TakeBlock(uint32_t g) { return NewBlock(num_new_[g]++); }

  /// Lists the blocks of existing tokens, as far as the new ones see them.
  void KeepBlocks(uint32_t g) {
    GroupTable& list = plan_.groups[g];
    const uint32_t retained = FirstRetained(table_, table_.groups[g].first_token);
    const uint32_t begin = std::max(FirstBlock(g, std::min(table_.tokens, rewind_to_)), BlockOf(retained));
    list.first_token = std::max(retained, begin * block_tokens_);
    for (uint32_t block = begin; block < BlocksFor(table_.tokens); ++block) {
      const uint32_t first = std::max(block * block_tokens_, list.first_token);
      const uint32_t last = std::min((block + 1) * block_tokens_, table_.tokens);
      const bool is_stored_so = table_.edits.empty() && first < last;
      list.blocks.push_back(is_stored_so ? KeepBlock(g, block) : GatherBlock(g, first, last));
    }
  }

  /// A block that the step continues to fill must belong to this sequence alone: others may see it through a fork.
  BlockId KeepBlock(uint32_t g, uint32_t block) {
    const BlockId stored = StoredBlock(g, block * block_tokens_);
    const bool is_filled = (block + 1) * block_tokens_ <= table_.tokens;
    if (is_filled || IsAlone(g, stored)) return stored;
    const BlockId id = TakeBlock(g);
    plan_.copies.push_back({g, stored, id});
    return id;
  }

  bool IsAlone(uint32_t g, BlockId stored) const {
    auto references = static_cast<ptrdiff_t>(pool_.references(g, stored));
    for (const TableLease* const lease : given_up_) {
      const std::vector<BlockId>& blocks = lease->table().groups[g].blocks;
      references -= std::count(blocks.begin(), blocks.end(), stored);
    }
    return references == 1;
  }

  /// Tokens [first, last) of one block, gathered from where they are stored. A full block without edits stays.
  /// Everything else gets a new block: the old ones must survive if the step is abandoned.
  BlockId GatherBlock(uint32_t g, uint32_t first, uint32_t last) {
    const Segments runs = Slice(order_, first, last);
    const bool is_filled = first % block_tokens_ == 0 && last % block_tokens_ == 0;
    if (is_filled && runs.size() == 1 && runs[0].source == first) return StoredBlock(g, first);
    const BlockId id = TakeBlock(g);
    plan_.clears.push_back({g, id});
    uint32_t target = first;
    for (const Segment& run : runs) {
      for (uint32_t source = run.source; source < run.source + run.length;) {
        const uint32_t source_slot = source % block_tokens_;
        const uint32_t count = std::min(block_tokens_ - source_slot, run.source + run.length - source);
        plan_.moves.push_back({g, StoredBlock(g, source), id, source_slot, target % block_tokens_, count,
                               static_cast<int32_t>(target) - static_cast<int32_t>(source)});
        source += count;
        target += count;
      }
    }
    return id;
  }

  /// Appends blocks for the new tokens, pass by pass. In a window group, a block that this step took and that has left
  /// the window is written again, so that a long prompt needs no more blocks than a short one.
  void AddBlocks(uint32_t g, std::span<const uint32_t> slice_begins) {
    GroupTable& list = plan_.groups[g];
    const uint32_t first_block = BlockOf(list.first_token);
    std::vector<BlockId> reusable;
    uint32_t next_candidate = first_block;
    for (size_t s = 0; s < slice_begins.size(); ++s) {
      const uint32_t out_of_window = FirstBlock(g, std::min(slice_begins[s], rewind_to_));
      for (; next_candidate < out_of_window; ++next_candidate) {
        const BlockId id = list.blocks[next_candidate - first_block];
        if (IsNewBlock(id) && !IsInResumePoint(g, next_candidate)) reusable.push_back(id);
      }
      const uint32_t end = s + 1 < slice_begins.size() ? slice_begins[s + 1] : end_;
      while (first_block + list.blocks.size() < BlocksFor(end)) {
        if (!reusable.empty()) {
          list.blocks.push_back(reusable.back());
          reusable.pop_back();
          continue;
        }
        list.blocks.push_back(TakeBlock(g));
      }
    }
  }

  bool IsInResumePoint(uint32_t g, uint32_t block) const {
    return std::any_of(resume_points_.begin(), resume_points_.end(),
                       [&](uint32_t tokens) { return block >= FirstBlock(g, tokens) && block < BlocksFor(tokens); });
  }

  const BlockPool& pool_;
  const BlockTable& table_;
  const Segments order_;
  const std::span<TableLease* const> given_up_;
  const uint32_t block_tokens_;
  const uint32_t end_;        ///< tokens when the step is done
  const uint32_t rewind_to_;  ///< the earliest position that must stay within reach then
  std::vector<uint32_t> resume_points_;
  SequencePlan plan_;
  std::vector<uint32_t> num_new_;  ///< [groups]
};

}  // namespace skald

#endif  // SKALD_CACHE_STEPS_SEQUENCE_PLANNER_H_
