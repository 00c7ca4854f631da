// SPDX-License-Identifier: Apache-2.0
//
// One of two source files that include every header of the library and are linked into one program.

#include "every_header.h"

int MinorVersionInOtherFile();

int main() { return MinorVersionInOtherFile() == SKALD_VERSION_MINOR ? 0 : 1; }
