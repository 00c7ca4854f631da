// SPDX-License-Identifier: Apache-2.0
//
// The definitions in engine/, for the one source of a program that compiles them (skald/compiled.h).
// They need what skald/compiled/store.h does, and skald/compiled/answers.h.

#ifndef SKALD_COMPILED_ENGINE_H_
#define SKALD_COMPILED_ENGINE_H_

#include "skald/engine/detail/engine.h"
#include "skald/engine/detail/engine_loop.h"
#include "skald/engine/plan/detail/fair_steps.h"
#include "skald/engine/plan/detail/memory_model.h"
#include "skald/engine/plan/detail/policy.h"
#include "skald/engine/plan/detail/scheduler.h"
#include "skald/engine/plan/detail/tenants.h"
#include "skald/engine/requests/detail/engine_options.h"
#include "skald/engine/requests/detail/filter_workers.h"
#include "skald/engine/running/detail/admission.h"
#include "skald/engine/running/detail/drawing.h"
#include "skald/engine/running/detail/memory_holders.h"
#include "skald/engine/running/detail/prompt_ends.h"
#include "skald/engine/running/detail/sequence.h"
#include "skald/engine/running/detail/sequence_list.h"
#include "skald/engine/running/detail/sequence_view.h"
#include "skald/engine/running/detail/sequences.h"
#include "skald/engine/running/detail/swapping.h"
#include "skald/engine/suspension/detail/suspended.h"
#include "skald/engine/suspension/detail/swap_space.h"
#include "skald/engine/suspension/detail/swap_ticket.h"

#endif  // SKALD_COMPILED_ENGINE_H_
