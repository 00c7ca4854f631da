// SPDX-License-Identifier: Apache-2.0
//
// The version that a program's sources must agree with.

#ifndef SKALD_BASE_DETAIL_INLINE_H_
#define SKALD_BASE_DETAIL_INLINE_H_

#include "skald/base/inline.h"

#ifdef SKALD_COMPILED
#ifdef SKALD_COMPILED_VERSION
const char skald::internal::SKALD_COMPILED_VERSION = 0;
#endif
#endif

#endif  // SKALD_BASE_DETAIL_INLINE_H_
