// SPDX-License-Identifier: Apache-2.0
//
// Where the user's files lie that programs make by themselves
// (https://specifications.freedesktop.org/basedir-spec/latest).

#ifndef SKALD_EXAMPLES_SKALD_USER_FOLDERS_H_
#define SKALD_EXAMPLES_SKALD_USER_FOLDERS_H_

#include <cstdlib>
#include <filesystem>

namespace skald::program {

// Returns the folder that `variable` names, else `below` in the user's home; it need not be there. Empty where the user
// has no home.
inline std::filesystem::path UserFolder(const char* variable, const char* below) {
  if (const char* const folder = std::getenv(variable); folder != nullptr && *folder == '/') return folder;
  const char* const home = std::getenv("HOME");
  return home == nullptr || *home != '/' ? std::filesystem::path() : std::filesystem::path(home) / below;
}

// Of what programs can make again.
inline std::filesystem::path UserCacheFolder() { return UserFolder("XDG_CACHE_HOME", ".cache"); }

// Of what they remember between runs.
inline std::filesystem::path UserStateFolder() { return UserFolder("XDG_STATE_HOME", ".local/state"); }

}  // namespace skald::program

#endif  // SKALD_EXAMPLES_SKALD_USER_FOLDERS_H_
