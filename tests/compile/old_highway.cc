// SPDX-License-Identifier: Apache-2.0
//
// expect: Skald needs Highway 1.2 or newer

#if defined(SKALD_EXPECT_FAILURE)
#include "hwy/base.h"
#undef HWY_MINOR
#define HWY_MINOR 0
#endif

#include "skald/base/numbers/bf16.h"

int main() {}
