// SPDX-License-Identifier: Apache-2.0
//
// The definitions of engine/ that conversations without an engine use too, for the one source of a program that
// compiles them (skald/compiled.h).

#ifndef SKALD_COMPILED_SPECULATION_H_
#define SKALD_COMPILED_SPECULATION_H_

#include "skald/engine/plan/detail/cost_model.h"
#include "skald/engine/requests/detail/model_ref.h"
#include "skald/engine/speculation/detail/cache_head_drafter.h"
#include "skald/engine/speculation/detail/draft_length.h"
#include "skald/engine/speculation/detail/draft_model.h"
#include "skald/engine/speculation/detail/head_drafter.h"
#include "skald/engine/speculation/detail/new_head_drafter.h"
#include "skald/engine/speculation/detail/prompt_lookup.h"
#include "skald/engine/speculation/detail/watched_rows.h"

#endif  // SKALD_COMPILED_SPECULATION_H_
