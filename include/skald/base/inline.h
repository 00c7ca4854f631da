// SPDX-License-Identifier: Apache-2.0
//
// How the library is compiled: as headers alone, or once for a program of many sources (skald/compiled.h). A program is
// compiled in one way with one version: sources that differ do not link.

#ifndef SKALD_BASE_INLINE_H_
#define SKALD_BASE_INLINE_H_

#include "skald/base/version.h"

// Begins every definition in a detail/ folder that one source of a program may compile for all.
#ifdef SKALD_COMPILED
#define SKALD_INLINE
#else
#define SKALD_INLINE inline
#endif

#if defined(__GNUC__)
#define SKALD_JOIN_VERSION(a, b, c) compiled_version_##a##_##b##_##c
#define SKALD_VERSION_NAME(a, b, c) SKALD_JOIN_VERSION(a, b, c)
#define SKALD_COMPILED_VERSION SKALD_VERSION_NAME(SKALD_VERSION_MAJOR, SKALD_VERSION_MINOR, SKALD_VERSION_PATCH)

namespace skald::internal {

// Linkers refuse a name that is thread-local in one source and global in another.
#ifdef SKALD_COMPILED
[[gnu::used]] inline char way_of_compiling = 0;

/// Only the compiled library of this version defines it.
extern const char SKALD_COMPILED_VERSION;
[[gnu::used]] inline const char* const needed_version = &SKALD_COMPILED_VERSION;
#else
[[gnu::used]] inline thread_local char way_of_compiling = 0;
#endif

}  // namespace skald::internal
#endif

#ifndef SKALD_COMPILED
#include "skald/base/detail/inline.h"
#endif

#endif  // SKALD_BASE_INLINE_H_
