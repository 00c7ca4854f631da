// SPDX-License-Identifier: Apache-2.0
//
// Beginnings that answers have in common are computed once: while one sequence computes what two begin with, the other
// waits for it, and goes on from a fork of its cache.

#ifndef SKALD_ENGINE_RUNNING_DETAIL_SHARED_BEGINNINGS_H_
#define SKALD_ENGINE_RUNNING_DETAIL_SHARED_BEGINNINGS_H_

#include <algorithm>
#include <cstdint>

#include "skald/cache/kv_cache.h"
#include "skald/engine/running/sequence.h"
#include "skald/engine/running/sequence_list.h"
#include "skald/store/prompts/stored_prompts.h"

namespace skald::internal {

// The sequence whose cache has, or will have, the first `at` tokens.
struct Leader {
  Sequence* sequence = nullptr;  // null: none
  uint32_t at = 0;
};

// Whether one may go on from the other's state.
inline bool MayShare(const Request& a, const Request& b) {
  return a.tenant == b.tenant && a.salt == b.salt && a.adapter == b.adapter;
}

// Returns the sequence that has, or will have, the longest beginning in common with `sequence`, of which `known` tokens
// are known without it. Less than a block is not worth a fork: null then.
inline Leader FindLeader(SequenceList& sequences, const Sequence& sequence, uint32_t known, uint32_t block_tokens) {
  Leader best = {nullptr, known + block_tokens - 1};
  for (Sequence& other : sequences) {
    if (!other.is_running() || &other == &sequence || other.is_finished() || other.is_paused()) continue;
    if (!MayShare(other.request(), sequence.request())) continue;
    const uint32_t common = std::min(CommonPrefix(other.tokens(), sequence.tokens()), sequence.size() - 1);
    const uint32_t at = common < other.cache().size() ? other.cache().NearestResumePoint(common) : common;
    if (at > best.at) best = {&other, at};
  }
  return best.sequence == nullptr ? Leader{} : best;
}

}  // namespace skald::internal

#endif  // SKALD_ENGINE_RUNNING_DETAIL_SHARED_BEGINNINGS_H_
