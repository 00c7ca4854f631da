// SPDX-License-Identifier: Apache-2.0
//
// The reference models, as tests of all of them go through: a new folder in tests/golden/data is tested without being
// named anywhere.

#ifndef SKALD_TESTS_SUPPORT_GOLDEN_FOLDERS_H_
#define SKALD_TESTS_SUPPORT_GOLDEN_FOLDERS_H_

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "tests/support/test_data.h"

namespace skald::testing {

// Returns the names of the folders of tests/golden/data that are models with recorded answers, in order.
inline std::vector<std::string> GoldenFolders() {
  std::vector<std::string> folders;
  for (const auto& entry : std::filesystem::directory_iterator(GoldenPath(""))) {
    const auto has = [&](const char* file) { return std::filesystem::exists(entry.path() / file); };
    if (has("config.json") && has("model.safetensors") && has("golden.safetensors")) {
      folders.push_back(entry.path().filename().string());
    }
  }
  std::ranges::sort(folders);
  return folders;
}

}  // namespace skald::testing

#endif  // SKALD_TESTS_SUPPORT_GOLDEN_FOLDERS_H_
