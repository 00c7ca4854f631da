// SPDX-License-Identifier: Apache-2.0
//
// The other file of odr_main.cc.

#include "skald/skald.h"

int MinorVersionInOtherFile() { return SKALD_VERSION_MINOR; }
