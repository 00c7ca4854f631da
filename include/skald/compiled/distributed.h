// SPDX-License-Identifier: Apache-2.0
//
// The definitions in distributed/, for the one source of a program that compiles them (skald/compiled.h).

#ifndef SKALD_COMPILED_DISTRIBUTED_H_
#define SKALD_COMPILED_DISTRIBUTED_H_

#include "skald/distributed/communicators/detail/measured_ranks.h"
#include "skald/distributed/communicators/detail/missing_ranks.h"
#include "skald/distributed/communicators/detail/thread_ranks.h"
#include "skald/distributed/detail/follow_ranks.h"
#include "skald/distributed/detail/machine_share.h"
#include "skald/distributed/detail/partitioned_state.h"
#include "skald/distributed/detail/rank_lead.h"
#include "skald/distributed/detail/rank_messages.h"
#include "skald/distributed/detail/rank_pool.h"
#include "skald/distributed/detail/ranked_model.h"

#endif  // SKALD_COMPILED_DISTRIBUTED_H_
