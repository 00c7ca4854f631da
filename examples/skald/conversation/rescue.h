// SPDX-License-Identifier: Apache-2.0
//
// Another place for a conversation whose own file cannot be written.

#ifndef SKALD_EXAMPLES_SKALD_CONVERSATION_RESCUE_H_
#define SKALD_EXAMPLES_SKALD_CONVERSATION_RESCUE_H_

#include <filesystem>
#include <functional>

#include "skald/base/result.h"

namespace skald::program {

// Calls save(path) with paths named as `file` until one succeeds, and returns that path: beside the file, in the user's
// cache folder, and where temporary files go; each in a new folder that only the user can open, so that no other user
// can have prepared what lies there. Error: what the last place said.
Result<std::filesystem::path> SaveElsewhere(const std::filesystem::path& file,
                                            const std::function<Result<void>(const std::filesystem::path&)>& save);

}  // namespace skald::program

#endif  // SKALD_EXAMPLES_SKALD_CONVERSATION_RESCUE_H_
