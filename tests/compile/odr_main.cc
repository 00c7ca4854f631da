// SPDX-License-Identifier: Apache-2.0
//
// One of two source files that include the whole library and are linked into one program.

#include "skald/skald.h"

int MinorVersionInOtherFile();

int main() { return MinorVersionInOtherFile() == SKALD_VERSION_MINOR ? 0 : 1; }
