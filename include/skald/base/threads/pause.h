// SPDX-License-Identifier: Apache-2.0
//
// A pause between two polls of a shared variable: it lets the other hardware thread of the core use the pipeline.

#ifndef SKALD_BASE_THREADS_PAUSE_H_
#define SKALD_BASE_THREADS_PAUSE_H_

namespace skald {

void Pause();

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/base/threads/detail/pause.h"
#endif

#endif  // SKALD_BASE_THREADS_PAUSE_H_
