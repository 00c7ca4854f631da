// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/base/threads/priority.h.

#ifndef SKALD_BASE_THREADS_DETAIL_PRIORITY_H_
#define SKALD_BASE_THREADS_DETAIL_PRIORITY_H_

#include "skald/base/threads/priority.h"

#include "skald/base/inline.h"
#include "skald/base/threads/detail/system.h"

namespace skald {

SKALD_INLINE void LowerThreadPriority() noexcept { internal::LowerPriorityOfThisThread(); }

}  // namespace skald

#endif  // SKALD_BASE_THREADS_DETAIL_PRIORITY_H_
