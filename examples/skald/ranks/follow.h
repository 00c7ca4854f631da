// SPDX-License-Identifier: Apache-2.0
//
// The ranks of a job other than rank 0: they compute their part, and print nothing.

#ifndef SKALD_EXAMPLES_SKALD_RANKS_FOLLOW_H_
#define SKALD_EXAMPLES_SKALD_RANKS_FOLLOW_H_

#include "command_line/options.h"
#include "skald/base/result.h"

namespace skald::program {

// Returns the exit code once rank 0 is done.
Result<int> FollowRankZero(const Options& options);

}  // namespace skald::program

#endif  // SKALD_EXAMPLES_SKALD_RANKS_FOLLOW_H_
