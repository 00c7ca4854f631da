// SPDX-License-Identifier: Apache-2.0
//
// The definitions in model/, for the one source of a program that compiles them (skald/compiled.h).

#ifndef SKALD_COMPILED_MODEL_H_
#define SKALD_COMPILED_MODEL_H_

#include "skald/model/detail/any_model.h"
#include "skald/model/detail/any_model_checks.h"
#include "skald/model/detail/control_vector.h"
#include "skald/model/detail/hooks.h"
#include "skald/model/detail/load.h"
#include "skald/model/detail/load_any.h"
#include "skald/model/detail/rank_memory.h"
#include "skald/model/detail/rotation.h"
#include "skald/model/detail/workspace.h"
#include "skald/model/heads/detail/assistant_head.h"
#include "skald/model/heads/detail/draft_head.h"
#include "skald/model/heads/detail/eagle_head.h"
#include "skald/model/heads/detail/published_head.h"

#endif  // SKALD_COMPILED_MODEL_H_
