// SPDX-License-Identifier: Apache-2.0
//
// skald convert and skald quantize: write a model as a GGUF file, with the types that it has or with fewer bits.

#ifndef SKALD_EXAMPLES_SKALD_COMMANDS_FILES_WRITE_GGUF_H_
#define SKALD_EXAMPLES_SKALD_COMMANDS_FILES_WRITE_GGUF_H_

#include "command_line/options.h"
#include "skald/base/result.h"

namespace skald::program {

// Returns the exit code.
Result<int> RunWriteGguf(const Options& options);

}  // namespace skald::program

#endif  // SKALD_EXAMPLES_SKALD_COMMANDS_FILES_WRITE_GGUF_H_
