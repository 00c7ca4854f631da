// SPDX-License-Identifier: Apache-2.0
//
// The SIMD targets by Highway's names, and running on another than the best.

#ifndef SKALD_EXAMPLES_SKALD_SIMD_H_
#define SKALD_EXAMPLES_SKALD_SIMD_H_

#include <string>
#include <vector>

#include "skald/base/result.h"

namespace skald::program {

// The names of all targets that this build and this CPU have, the best one first.
std::vector<std::string> SimdTargets();

// The name of the target that kernels run on.
std::string SimdTarget();

// Makes kernels run on the target of this name from now on; not while any does. Error: this CPU or this build lacks it;
// the message lists those that there are.
Result<void> UseSimdTarget(const std::string& name);

}  // namespace skald::program

#endif  // SKALD_EXAMPLES_SKALD_SIMD_H_
