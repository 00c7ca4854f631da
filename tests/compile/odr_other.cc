// SPDX-License-Identifier: Apache-2.0
//
// The other file of odr_main.cc.

#include "every_header.h"

int MinorVersionInOtherFile() { return SKALD_VERSION_MINOR; }
