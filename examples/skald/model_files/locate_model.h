// SPDX-License-Identifier: Apache-2.0
//
// From the model that the user names to a path: the one place where this is decided for all commands.

#ifndef SKALD_EXAMPLES_SKALD_MODEL_FILES_LOCATE_MODEL_H_
#define SKALD_EXAMPLES_SKALD_MODEL_FILES_LOCATE_MODEL_H_

#include <filesystem>

#include "command_line/options.h"
#include "skald/base/result.h"

namespace skald::program {

// Returns the path that the user gave or, of a name on the hub, that of the model in the hub's cache, after it was
// downloaded. Errors: those of FetchModel; kNotFound, with the command that downloads it, for a name of a model where a
// path was expected.
Result<std::filesystem::path> LocateModel(const Options& options);

}  // namespace skald::program

#endif  // SKALD_EXAMPLES_SKALD_MODEL_FILES_LOCATE_MODEL_H_
