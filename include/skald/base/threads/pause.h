// SPDX-License-Identifier: Apache-2.0
//
// What a thread does between two looks at whether others are done: lets the other thread of its core have the pipeline.

#ifndef SKALD_BASE_THREADS_PAUSE_H_
#define SKALD_BASE_THREADS_PAUSE_H_

#include "hwy/cache_control.h"

namespace skald {

inline void Pause() { hwy::Pause(); }

}  // namespace skald

#endif  // SKALD_BASE_THREADS_PAUSE_H_
