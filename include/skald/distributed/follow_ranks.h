// SPDX-License-Identifier: Apache-2.0
//
// The loop of every rank but 0: it carries out rank 0's messages on its own part of the weights and of the state.

#ifndef SKALD_DISTRIBUTED_FOLLOW_RANKS_H_
#define SKALD_DISTRIBUTED_FOLLOW_RANKS_H_

#include <vector>

#include "skald/base/ranks/communicator.h"
#include "skald/base/result.h"
#include "skald/model/any_model.h"
#include "skald/model/workspace.h"
#include "skald/weights/adapters/adapter.h"

namespace skald {

/// Meets rank 0, which makes a RankedModel, and computes this rank's part of its steps until that is gone. `model` has
/// the weights of this rank (LoadOptions::share), and `adapters` are those that any of its steps may need, loaded for
/// it (LoadAdapter). Errors: those of RankedModel::Create, and a rank that is gone or does not answer.
Result<void> FollowRanks(const AnyModel& model, const CommunicatorRef& ranks, Workspace& workspace,
                         std::vector<const Adapter*> adapters = {});

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/distributed/detail/follow_ranks.h"
#endif

#endif  // SKALD_DISTRIBUTED_FOLLOW_RANKS_H_
