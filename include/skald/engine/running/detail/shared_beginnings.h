// SPDX-License-Identifier: Apache-2.0
//
// Beginnings that answers have in common are computed once: who comes while another computes what both begin with waits
// for it, and goes on from a fork of its cache.

#ifndef SKALD_ENGINE_RUNNING_DETAIL_SHARED_BEGINNINGS_H_
#define SKALD_ENGINE_RUNNING_DETAIL_SHARED_BEGINNINGS_H_

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>

#include "skald/cache/kv_cache.h"
#include "skald/engine/running/sequence.h"
#include "skald/engine/running/sequence_list.h"
#include "skald/store/prompts/stored_prompts.h"

namespace skald::internal {

// Whose cache has, or will have, the first `at` tokens.
struct Leader {
  Sequence* sequence = nullptr;  // or null
  uint32_t at = 0;
};

// Whether one may go on from the other's state.
inline bool MayShare(const Request& a, const Request& b) {
  return a.tenant == b.tenant && a.salt == b.salt && a.adapter == b.adapter;
}

// Returns who has, or will have, the longest beginning in common with `sequence`, of which `known` tokens are known
// without; null for what is not worth a fork, less than a block.
inline Leader FindLeader(SequenceList& sequences, const Sequence& sequence, uint32_t known, uint32_t block_tokens) {
  Leader best = {nullptr, known + block_tokens - 1};
  for (Sequence& other : sequences) {
    if (!other.is_running() || &other == &sequence || other.is_finished() || other.is_paused) continue;
    if (!MayShare(*other.request, *sequence.request)) continue;
    const uint32_t common =
        std::min(CommonPrefix(other.answer.tokens(), sequence.answer.tokens()), sequence.answer.size() - 1);
    const uint32_t at = common < other.cache->size() ? other.cache->NearestResumePoint(common) : common;
    if (at > best.at) best = {&other, at};
  }
  return best.sequence == nullptr ? Leader{} : best;
}

// Gives `sequence` the first `tokens` tokens of the other's cache. False, and nothing has changed, where that cannot
// be.
inline bool ShareWith(Sequence& sequence, const Sequence& other, uint32_t tokens) {
  auto fork = other.cache->Fork();
  if (!fork || (fork->size() > tokens && !fork->Truncate(tokens))) return false;
  sequence.GoOnFrom(std::move(*fork));
  return true;
}

// Rewinds the cache to what the answer says and what of the prompt was read, or lets it go where it cannot; at least
// one of the answer's tokens stays to be computed, unless it is at its end.
inline void ForgetWrong(Sequence& sequence) {
  uint32_t right = CommonPrefix(sequence.answer.tokens(), sequence.cache->tokens());
  if (!sequence.is_finished()) right = std::min({right, sequence.answer.size() - 1, sequence.reading.next()});
  if (sequence.cache->size() > right && !sequence.cache->Truncate(right)) sequence.cache.reset();
}

}  // namespace skald::internal

#endif  // SKALD_ENGINE_RUNNING_DETAIL_SHARED_BEGINNINGS_H_
