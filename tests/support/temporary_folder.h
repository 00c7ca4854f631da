// SPDX-License-Identifier: Apache-2.0
//
// Files for tests, in a folder that disappears with the test.

#ifndef SKALD_TESTS_SUPPORT_TEMPORARY_FOLDER_H_
#define SKALD_TESTS_SUPPORT_TEMPORARY_FOLDER_H_

#include <filesystem>
#include <fstream>
#include <ios>
#include <random>
#include <string>
#include <string_view>
#include <system_error>

namespace skald::testing {

inline void WriteFile(const std::filesystem::path& path, std::string_view bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

// A fresh empty folder that disappears, with what is in it, at the end of the scope.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::random_device random;
    do {
      path_ = std::filesystem::temp_directory_path() / ("skald-test-" + std::to_string(random()));
    } while (!std::filesystem::create_directory(path_));
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace skald::testing

#endif  // SKALD_TESTS_SUPPORT_TEMPORARY_FOLDER_H_
