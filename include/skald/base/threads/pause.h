// SPDX-License-Identifier: Apache-2.0
//
// A pause between two polls of a shared variable: it lets the other hardware thread of the core use the pipeline.

#ifndef SKALD_BASE_THREADS_PAUSE_H_
#define SKALD_BASE_THREADS_PAUSE_H_

#include "hwy/cache_control.h"

namespace skald {

inline void Pause() { hwy::Pause(); }

}  // namespace skald

#endif  // SKALD_BASE_THREADS_PAUSE_H_
