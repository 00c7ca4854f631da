// SPDX-License-Identifier: Apache-2.0
//
// Paths that programs get wrong.

#ifndef SKALD_TESTS_SUPPORT_AWKWARD_FOLDERS_H_
#define SKALD_TESTS_SUPPORT_AWKWARD_FOLDERS_H_

#include <filesystem>
#include <string>
#include <vector>

#include "skald/base/files/path_text.h"

namespace skald::testing {

// Folders in `folder`, which are not made: with spaces, with characters of several alphabets and one beyond 16 bits,
// and of more than 300 characters.
inline std::vector<std::filesystem::path> AwkwardFolders(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> folders = {
      folder / "with two spaces",
      folder / PathOfText("\xC3\xA9t\xC3\xA9 \xD0\xB7\xD0\xB8\xD0\xBC\xD0\xB0 \xE5\x86\xAC \xF0\x9F\x98\x80"),
  };
  std::filesystem::path deep = folder;
  for (char letter = 'a'; letter < 'd'; ++letter) deep /= std::string(100, letter);
  folders.push_back(deep);
  return folders;
}

}  // namespace skald::testing

#endif  // SKALD_TESTS_SUPPORT_AWKWARD_FOLDERS_H_
