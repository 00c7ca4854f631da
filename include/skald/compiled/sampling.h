// SPDX-License-Identifier: Apache-2.0
//
// The definitions in sampling/, for the one source of a program that compiles them (skald/compiled.h).

#ifndef SKALD_COMPILED_SAMPLING_H_
#define SKALD_COMPILED_SAMPLING_H_

#include "skald/sampling/detail/candidates.h"
#include "skald/sampling/detail/logprobs.h"
#include "skald/sampling/detail/penalties.h"
#include "skald/sampling/detail/sampler.h"
#include "skald/sampling/detail/settings.h"
#include "skald/sampling/detail/token_sampler.h"

#endif  // SKALD_COMPILED_SAMPLING_H_
