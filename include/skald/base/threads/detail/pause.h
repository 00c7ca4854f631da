// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/base/threads/pause.h.

#ifndef SKALD_BASE_THREADS_DETAIL_PAUSE_H_
#define SKALD_BASE_THREADS_DETAIL_PAUSE_H_

#include "skald/base/threads/pause.h"

#include "hwy/cache_control.h"
#include "skald/base/inline.h"

namespace skald {

SKALD_INLINE void Pause() { hwy::Pause(); }

}  // namespace skald

#endif  // SKALD_BASE_THREADS_DETAIL_PAUSE_H_
