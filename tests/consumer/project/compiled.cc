// SPDX-License-Identifier: Apache-2.0
//
// The one source that compiles Skald in a program that lists its own.

#include "skald/compiled.h"
