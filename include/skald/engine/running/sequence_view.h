// SPDX-License-Identifier: Apache-2.0
//
// The facts of a sequence that a schedule is made from.

#ifndef SKALD_ENGINE_RUNNING_SEQUENCE_VIEW_H_
#define SKALD_ENGINE_RUNNING_SEQUENCE_VIEW_H_

#include <cstdint>

#include "skald/engine/plan/policy.h"
#include "skald/engine/plan/scheduler.h"
#include "skald/engine/plan/tenants.h"
#include "skald/engine/running/sequence.h"
#include "skald/engine/running/sequence_list.h"

namespace skald::internal {

/// One that waits for anything but memory (its caller, another sequence, its filter, a store) may not run: it has no
/// part in the order in which room is made.
SequenceView ViewOf(const Sequence& sequence, const Tenants& tenants, const PolicyOptions& policy);

/// Numbers the sequences of each tenant in line, those that run first. `round` is another in each call.
void GiveTurns(SequenceList& sequences, Tenants& tenants, uint64_t round) noexcept;

}  // namespace skald::internal

#ifndef SKALD_COMPILED
#include "skald/engine/running/detail/sequence_view.h"
#endif

#endif  // SKALD_ENGINE_RUNNING_SEQUENCE_VIEW_H_
