// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/engine/running/memory_holders.h.

#ifndef SKALD_ENGINE_RUNNING_DETAIL_MEMORY_HOLDERS_H_
#define SKALD_ENGINE_RUNNING_DETAIL_MEMORY_HOLDERS_H_

#include "skald/engine/running/memory_holders.h"

#include "skald/base/inline.h"
#include "skald/cache/spare_bytes.h"

namespace skald {

namespace internal {

SKALD_INLINE uint64_t SpareBytesOf(const BlockPool& pool, const SequenceList& sequences, PromptEnds& prompt_ends) {
  SpareBytes spare(pool);
  prompt_ends.CountIn(spare);
  for (const Sequence& sequence : sequences) {
    if (sequence.is_running()) spare.AddResumePoints(sequence.cache());
  }
  return spare.Count();
}

}  // namespace internal
}  // namespace skald

#endif  // SKALD_ENGINE_RUNNING_DETAIL_MEMORY_HOLDERS_H_
