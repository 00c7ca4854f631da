// SPDX-License-Identifier: Apache-2.0
//
// Folders of every family and every encoder that are damaged at one tensor: it is removed, doubled, of another type or
// shape. Loading gives an error, or the very same weights.

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "doctest/doctest.h"
#include "tests/golden/damaged_folder.h"
#include "tests/support/golden_folders.h"
#include "tests/support/long_tests.h"
#include "tests/support/test_data.h"

namespace skald::testing {
namespace damaged_test {

std::vector<std::string> AllFolders() {
  std::vector<std::string> folders = GoldenFolders();
  for (const char* const room : {"encoders", "rankers"}) {
    for (const auto& entry : std::filesystem::directory_iterator(GoldenPath(room))) {
      if (!std::filesystem::exists(entry.path() / "model.safetensors")) continue;
      folders.push_back(std::string(room) + "/" + entry.path().filename().string());
    }
  }
  return folders;
}

// A tensor's name without the numbers of its layer and expert.
std::string SortOf(std::string name) {
  std::ranges::replace_if(
      name, [](unsigned char c) { return std::isdigit(c) != 0; }, '#');
  return name;
}

TEST_CASE("a folder of any family that is damaged at one tensor gives an error or the same weights") {
  std::set<std::string> headless;
  size_t folders = 0, refused = 0, equal = 0;
  for (const std::string& name : AllFolders()) {
    CAPTURE(name);
    ChangedFolder folder(GoldenPath(name));
    const auto original = folder.Load(folder.tensors);
    if (!original) headless.insert(name);
    if (!original) continue;
    std::set<std::pair<std::string, Damage>> done;  // once for each sort of tensor
    for (size_t i = 0; i < folder.tensors.size(); ++i) {
      for (const Damage damage : kDamages) {
        // The second is another name, which tests of names have in all families.
        const bool is_turn = damage == Damage::kRemoved || i % 4 + 1 == static_cast<size_t>(damage);
        if (!LongTests() && !is_turn) continue;
        if (!done.emplace(SortOf(folder.tensors[i].name), damage).second) continue;
        CAPTURE(folder.tensors[i].name);
        CAPTURE(static_cast<int>(damage));
        const auto loaded = folder.Load(WithDamage(folder.tensors, i, damage));
        if (loaded) CHECK(SameWeights(*loaded, *original));
        ++(loaded ? equal : refused);
      }
    }
    ++folders;
  }
  CHECK(folders >= 95);
  CHECK(headless == std::set<std::string>{"encoders/qwen3"});  // encoders alone load without a head
  CHECK(refused > 2 * equal);
}

}  // namespace damaged_test
}  // namespace skald::testing
