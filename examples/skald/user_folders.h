// SPDX-License-Identifier: Apache-2.0
//
// Where the user's files lie that programs may lose.

#ifndef SKALD_EXAMPLES_SKALD_USER_FOLDERS_H_
#define SKALD_EXAMPLES_SKALD_USER_FOLDERS_H_

#include <cstdlib>
#include <filesystem>

namespace skald::program {

// Returns the folder of caches (https://specifications.freedesktop.org/basedir-spec/latest), which need not be there;
// empty where the user has no home.
inline std::filesystem::path UserCacheFolder() {
  if (const char* const cache = std::getenv("XDG_CACHE_HOME"); cache != nullptr && *cache == '/') return cache;
  const char* const home = std::getenv("HOME");
  return home == nullptr || *home != '/' ? std::filesystem::path() : std::filesystem::path(home) / ".cache";
}

}  // namespace skald::program

#endif  // SKALD_EXAMPLES_SKALD_USER_FOLDERS_H_
