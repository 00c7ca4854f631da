// SPDX-License-Identifier: Apache-2.0
//
// Finds files that tests read. Nearly all are part of the repository. Data that its licence excludes (the tokenizer of
// Llama 2) are in an optional folder outside of it, named by the environment variable SKALD_TEST_DATA or, without it,
// when the build is configured. A test without its data says so and returns, and then the whole executable is reported
// as skipped instead of passed (tests/main.cc):
//
//   const auto path = TestDataPath("models/tokenizers/llama2.model");
//   if (!path) return;

#ifndef SKALD_TESTS_SUPPORT_TEST_DATA_H_
#define SKALD_TESTS_SUPPORT_TEST_DATA_H_

#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>

#include "doctest/doctest.h"

namespace skald {

// How many look-ups of this process found nothing.
inline int missing_test_data = 0;

// Returns the path of a file or folder inside the optional folder, or nothing if it is not there.
inline std::optional<std::filesystem::path> TestDataPath(const std::string& name) {
  const char* folder = std::getenv("SKALD_TEST_DATA");
  const auto path = std::filesystem::path(folder ? folder : SKALD_TEST_DATA) / name;
  if (std::filesystem::exists(path)) return path;
  ++missing_test_data;
  MESSAGE("SKIPPED for want of ", path.string());
  return std::nullopt;
}

// Returns the path of a file that is part of the repository.
inline std::filesystem::path RepositoryPath(const std::string& name) {
  return std::filesystem::path(SKALD_REPOSITORY) / name;
}

// Returns the path of a reference checkpoint, or of a file of one, as in "llama/golden.safetensors".
inline std::filesystem::path GoldenPath(const std::string& name) { return RepositoryPath("tests/golden/data/" + name); }

}  // namespace skald

#endif  // SKALD_TESTS_SUPPORT_TEST_DATA_H_
