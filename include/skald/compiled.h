// SPDX-License-Identifier: Apache-2.0
//
// Compiles Skald into the source that includes this. Every source of the program is compiled with SKALD_COMPILED, and
// exactly one of them includes this header; the others pay for declarations alone.
//
// This is all that needs no library but Highway. Programs that use more include in the same source what they use:
// skald/compiled/tokenizers.h, templates.h, constraints.h, answers.h and open.h (conversations), store.h (saved state,
// adapters), saved_conversations.h, engine.h (many requests; needs answers.h), serving.h (many clients), redis.h
// (chunks in Redis). With CMake, the target skald::compiled does all of it.

#ifndef SKALD_COMPILED_H_
#define SKALD_COMPILED_H_

#ifndef SKALD_COMPILED
#error "Compile all sources of the program with -DSKALD_COMPILED, this one included."
#endif

#include "skald/compiled/kernels.h"

#include "skald/compiled/base.h"
#include "skald/compiled/cache.h"
#include "skald/compiled/distributed.h"
#include "skald/compiled/families.h"
#include "skald/compiled/layers.h"
#include "skald/compiled/model.h"
#include "skald/compiled/sampling.h"
#include "skald/compiled/speculation.h"
#include "skald/compiled/weights.h"

#endif  // SKALD_COMPILED_H_
