// SPDX-License-Identifier: Apache-2.0
//
// The order in which an engine's memory is given up: memory that only saves time before caches, and the less urgent
// sequence before the more urgent. `is_more_urgent(a, b)` orders sequences.

#ifndef SKALD_ENGINE_RUNNING_MEMORY_HOLDERS_H_
#define SKALD_ENGINE_RUNNING_MEMORY_HOLDERS_H_

#include <cstdint>

#include "skald/cache/blocks/block_pool.h"
#include "skald/cache/kv_cache.h"
#include "skald/engine/running/prompt_ends.h"
#include "skald/engine/running/sequence.h"
#include "skald/engine/running/sequence_list.h"

namespace skald::internal {

/// Bytes of the pool that YieldSpare could free, all in all.
uint64_t SpareBytesOf(const BlockPool& pool, const SequenceList& sequences, PromptEnds& prompt_ends);

/// Returns the least urgent sequence that `holds`, or null.
template <class Holds, class IsMoreUrgent>
Sequence* LeastUrgent(SequenceList& sequences, Holds holds, IsMoreUrgent is_more_urgent) {
  Sequence* least = nullptr;
  for (Sequence& sequence : sequences) {
    if (!holds(sequence)) continue;
    if (least == nullptr || !is_more_urgent(sequence, *least)) least = &sequence;
  }
  return least;
}

/// Has what only saves time make room: the resume points of the least urgent sequence that has some, or else a prompt's
/// end that is kept for samples. False if there is none.
template <class IsMoreUrgent>
bool YieldSpare(SequenceList& sequences, PromptEnds& prompt_ends, IsMoreUrgent is_more_urgent) {
  const auto has_points = [](const Sequence& one) { return one.is_running() && one.cache().has_resume_points(); };
  Sequence* const least = LeastUrgent(sequences, has_points, is_more_urgent);
  if (least == nullptr) return prompt_ends.Yield();
  least->DropResumePoints();
  return true;
}

}  // namespace skald::internal

#ifndef SKALD_COMPILED
#include "skald/engine/running/detail/memory_holders.h"
#endif

#endif  // SKALD_ENGINE_RUNNING_MEMORY_HOLDERS_H_
