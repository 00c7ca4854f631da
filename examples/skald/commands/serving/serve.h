// SPDX-License-Identifier: Apache-2.0

#ifndef SKALD_EXAMPLES_SKALD_COMMANDS_SERVING_SERVE_H_
#define SKALD_EXAMPLES_SKALD_COMMANDS_SERVING_SERVE_H_

#include "command_line/options.h"
#include "skald/base/result.h"

namespace skald::program {

// Serves a model until a signal ends the program. Returns the exit code. Errors: what cannot be listened at, loaded or
// read.
Result<int> RunServe(const Options& options);

}  // namespace skald::program

#endif  // SKALD_EXAMPLES_SKALD_COMMANDS_SERVING_SERVE_H_
