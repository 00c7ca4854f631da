// SPDX-License-Identifier: Apache-2.0
//
// The version of Skald, defined only here: CMake reads these lines too. Macros, so that a program can choose between
// versions with #if.

#ifndef SKALD_BASE_VERSION_H_
#define SKALD_BASE_VERSION_H_

#define SKALD_VERSION_MAJOR 0
#define SKALD_VERSION_MINOR 1
#define SKALD_VERSION_PATCH 0

// The version of the arithmetic (kernels/ARITHMETIC.md). Saved state of another one would go on with other bits.
#define SKALD_ARITHMETIC_VERSION 3

#endif  // SKALD_BASE_VERSION_H_
