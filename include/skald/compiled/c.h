// SPDX-License-Identifier: Apache-2.0
//
// The definitions in c/, for the shared library of the C interface.

#ifndef SKALD_COMPILED_C_H_
#define SKALD_COMPILED_C_H_

#include "skald/c/detail/functions.h"

#endif  // SKALD_COMPILED_C_H_
