// SPDX-License-Identifier: Apache-2.0
//
// The part of Highway that is ordinary C++ (assertions, numeric types), of a version that Skald compiles with. All
// headers include it by this one, so that an older version ends a compilation at once, with a sentence.

#ifndef SKALD_BASE_HIGHWAY_H_
#define SKALD_BASE_HIGHWAY_H_

#include "hwy/base.h"

#if !defined(HWY_MAJOR) || HWY_MAJOR * 100 + HWY_MINOR < 102
#error "Skald needs Highway 1.2 or newer, and hwy/base.h is of an older one. CMake builds a newer one (README.md)."
#include "Highway 1.2 or newer"  // is no header: compilers end here, not after hundreds of errors
#endif

#endif  // SKALD_BASE_HIGHWAY_H_
