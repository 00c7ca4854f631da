// SPDX-License-Identifier: Apache-2.0
//
// Whether this process may use the matrix unit of x86 processors (AMX): the processor must have it, the system must
// save its registers, and on Linux the process must request permission once.

#ifndef SKALD_KERNELS_SIMD_AMX_SUPPORT_H_
#define SKALD_KERNELS_SIMD_AMX_SUPPORT_H_

#if defined(__x86_64__) && defined(__linux__)
#define SKALD_HAS_AMX 1
#else
#define SKALD_HAS_AMX 0
#endif

namespace skald {

#if SKALD_HAS_AMX
/// The permission is per process and its availability per machine, so one request is enough. Thread-safe.
bool HaveAmx();
#endif

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/kernels/simd/detail/amx_support.h"
#endif

#endif  // SKALD_KERNELS_SIMD_AMX_SUPPORT_H_
