// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/engine/running/sequence_view.h.

#ifndef SKALD_ENGINE_RUNNING_DETAIL_SEQUENCE_VIEW_H_
#define SKALD_ENGINE_RUNNING_DETAIL_SEQUENCE_VIEW_H_

#include "skald/engine/running/sequence_view.h"

#include <algorithm>
#include <string>

#include "skald/base/inline.h"
#include "skald/cache/kv_cache.h"
#include "skald/engine/requests/request.h"

namespace skald {

namespace internal {

// Logits are much larger than what else is computed of a row: where a prompt's are read, a step has so many at most.
inline constexpr uint32_t kReadRows = 64;

SKALD_INLINE SequenceView ViewOf(const Sequence& sequence, const Tenants& tenants, const PolicyOptions& policy) {
  const std::string& tenant = sequence.request().tenant;
  Standing standing = sequence.standing();
  standing.served = tenants.served(tenant);
  SequenceView view = {UrgencyOf(standing, policy)};
  const bool draws = !sequence.is_running() || sequence.pending() <= 1;
  view.may_run = !sequence.is_paused() && !sequence.is_waiting() && sequence.leader() == nullptr &&
                 !(draws && sequence.awaits_filter());
  view.tenant = tenants.number(tenant);
  view.is_running = sequence.is_running();
  view.cached = sequence.computed();
  view.shared = sequence.is_running() ? 0 : sequence.shared();
  view.pending = std::max(1u, sequence.pending());
  view.drafts = static_cast<uint32_t>(sequence.drafts().size());
  view.step_end = sequence.step_end();
  if (sequence.reads_logits()) view.step_end = std::min(kReadRows, view.step_end > 0 ? view.step_end : kReadRows);
  return view;
}

SKALD_INLINE void GiveTurns(SequenceList& sequences, Tenants& tenants, uint64_t round) noexcept {
  for (const bool runs : {true, false}) {
    for (Sequence& sequence : sequences) {
      if (sequence.is_finished() || sequence.is_running() != runs) continue;
      sequence.TakeTurn(tenants.NextTurn(sequence.request().tenant, round));
    }
  }
}

}  // namespace internal
}  // namespace skald

#endif  // SKALD_ENGINE_RUNNING_DETAIL_SEQUENCE_VIEW_H_
