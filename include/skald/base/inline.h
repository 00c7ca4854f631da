// SPDX-License-Identifier: Apache-2.0
//
// How the library is compiled: as headers alone, or once for a program of many sources (skald/compiled.h).

#ifndef SKALD_BASE_INLINE_H_
#define SKALD_BASE_INLINE_H_

// Stands before every definition in a detail/ folder that one source of a program may hold for all.
#ifdef SKALD_COMPILED
#define SKALD_INLINE
#else
#define SKALD_INLINE inline
#endif

#endif  // SKALD_BASE_INLINE_H_
