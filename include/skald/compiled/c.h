// SPDX-License-Identifier: Apache-2.0
//
// The definitions in c/, for the one source of the library skald_c. They need all other parts but redis.h.

#ifndef SKALD_COMPILED_C_H_
#define SKALD_COMPILED_C_H_

#include "skald/c/detail/caches.h"
#include "skald/c/detail/conversations.h"
#include "skald/c/detail/models.h"
#include "skald/c/detail/steps.h"

#endif  // SKALD_COMPILED_C_H_
