// SPDX-License-Identifier: Apache-2.0

#include "skald/base/files/small_file.h"

#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "doctest/doctest.h"
#include "tests/support/check_error.h"
#include "tests/support/temporary_folder.h"

namespace skald {
namespace small_file_test {

TEST_CASE("a file is read whole, up to the limit") {
  const testing::TemporaryFolder folder;
  const auto path = folder.path() / "settings";
  std::ofstream(path) << "four";
  CHECK(ReadSmallFile(path, 4).value() == "four");
  testing::CheckError(ReadSmallFile(path, 3), ErrorCode::kOutOfRange,
                      "settings: the file has 4 bytes, expected at most 3");
  std::ofstream(folder.path() / "empty").flush();
  CHECK(ReadSmallFile(folder.path() / "empty", 0).value().empty());
}

TEST_CASE("what is no regular file is refused at once") {
  const testing::TemporaryFolder folder;
  testing::CheckError(ReadSmallFile(folder.path(), 100), ErrorCode::kInvalidArgument, "this is a folder");
  testing::CheckError(ReadSmallFile("/dev/zero", 100), ErrorCode::kInvalidArgument,
                      "/dev/zero: expected a regular file");
  const auto pipe = folder.path() / "pipe";
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  testing::CheckError(ReadSmallFile(pipe, 100), ErrorCode::kInvalidArgument, "pipe: expected a regular file");
  testing::CheckError(ReadSmallFile(folder.path() / "absent", 100), ErrorCode::kNotFound, "absent");
}

TEST_CASE("a sparse file of 20 GB takes no memory") {
  const testing::TemporaryFolder folder;
  const auto path = folder.path() / "sparse";
  std::ofstream(path).flush();
  std::filesystem::resize_file(path, uint64_t{20} << 30);
  testing::CheckError(ReadSmallFile(path, 1 << 20), ErrorCode::kOutOfRange, "21474836480");
}

TEST_CASE("a file that claims to be empty and is not, as in /proc, is read as empty") {
  CHECK(ReadSmallFile("/proc/self/limits", 100).value().empty());
}

TEST_CASE("a file is told by its first bytes, and what is no file is not waited for") {
  const testing::TemporaryFolder folder;
  std::ofstream(folder.path() / "file") << "magic and more";
  std::ofstream(folder.path() / "short") << "mag";
  REQUIRE(::mkfifo((folder.path() / "pipe").c_str(), 0600) == 0);
  CHECK(FileBeginsWith(folder.path() / "file", "magic"));
  CHECK_FALSE(FileBeginsWith(folder.path() / "file", "Magic"));
  for (const char* name : {"short", "pipe", "absent", "."}) CHECK_FALSE(FileBeginsWith(folder.path() / name, "magic"));
}

}  // namespace small_file_test
}  // namespace skald
