// SPDX-License-Identifier: Apache-2.0

#include "skald/weights/files/mapped_file.h"

#include <sys/stat.h>

#include <span>
#include <string>
#include <utility>

#include "doctest/doctest.h"
#include "skald/base/files/fd_io.h"
#include "skald/base/files/folders.h"
#include "tests/support/awkward_folders.h"
#include "tests/support/safetensors_writer.h"

namespace skald {
namespace mapped_file_test {

using testing::TemporaryFolder;
using testing::WriteFile;

std::string TextOf(const MappedFile& file) {
  return std::string(reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size());
}

TEST_CASE("A mapped file shows the bytes of the file, also after it moved") {
  const TemporaryFolder folder;
  WriteFile(folder.path() / "a", std::string("zero\0inside", 11));
  WriteFile(folder.path() / "b", "other");
  Result<MappedFile> a = MappedFile::Open(folder.path() / "a");
  Result<MappedFile> b = MappedFile::Open(folder.path() / "b");
  REQUIRE(a);
  REQUIRE(b);
  CHECK(TextOf(*a) == std::string("zero\0inside", 11));
  MappedFile moved = std::move(*a);
  CHECK(moved.bytes().size() == 11);
  CHECK(a->bytes().empty());
  moved = std::move(*b);
  CHECK(TextOf(moved) == "other");
}

TEST_CASE("A file that was read keeps its bytes when the file changes") {
  const TemporaryFolder folder;
  WriteFile(folder.path() / "file", "before");
  const Result<MappedFile> copy = MappedFile::Open(folder.path() / "file", MappedFile::Use::kCopy);
  REQUIRE(copy);
  WriteFile(folder.path() / "file", "x");
  CHECK(TextOf(*copy) == "before");
  CHECK(copy->facts().bytes == 6);
}

TEST_CASE("Files are mapped below paths with spaces, wide characters and great length") {
  const TemporaryFolder temporary;
  for (const auto& folder : testing::AwkwardFolders(temporary.path())) {
    REQUIRE(MakeFolder(folder));
    auto sink = FileSink::CreateAnew(folder / "file", kPrivateFile);
    REQUIRE(sink);
    REQUIRE(sink->Write(std::as_bytes(std::span("text", 4))));
    REQUIRE(sink->Commit());
    for (const auto use : {MappedFile::Use::kKeep, MappedFile::Use::kCopy}) {
      const Result<MappedFile> file = MappedFile::Open(folder / "file", use);
      REQUIRE(file);
      CHECK(TextOf(*file) == "text");
      CHECK(file->is_trusted());
    }
  }
}

TEST_CASE("What is said about pages changes no byte, mapped or read") {
  const TemporaryFolder folder;
  const std::string text(20'000, 'x');
  WriteFile(folder.path() / "file", text);
  for (const auto use : {MappedFile::Use::kReadOnce, MappedFile::Use::kParts, MappedFile::Use::kCopy}) {
    const Result<MappedFile> file = MappedFile::Open(folder.path() / "file", use);
    REQUIRE(file);
    file->WillRead(file->bytes().subspan(5000, 100));
    CHECK(TextOf(*file) == text);
    file->LetGo();
    CHECK(TextOf(*file) == text);
  }
}

TEST_CASE("A pipe is refused without waiting for its writer") {
  const TemporaryFolder folder;
  const auto path = folder.path() / "pipe";
  REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
  const Result<MappedFile> file = MappedFile::Open(path);
  REQUIRE(!file);
  CHECK(file.error().message == path.string() + ": expected a regular file");
}

TEST_CASE("An empty file has no bytes") {
  const TemporaryFolder folder;
  WriteFile(folder.path() / "empty", "");
  const Result<MappedFile> file = MappedFile::Open(folder.path() / "empty");
  REQUIRE(file);
  CHECK(file->bytes().empty());
}

TEST_CASE("A file that is absent is an error with its path and the system's reason") {
  const TemporaryFolder folder;
  const auto path = folder.path() / "absent";
  const Result<MappedFile> file = MappedFile::Open(path);
  REQUIRE(!file);
  CHECK(file.error().code == ErrorCode::kNotFound);
  CHECK(file.error().message == path.string() + ": cannot open: No such file or directory");
}

TEST_CASE("A folder is not a file") {
  const TemporaryFolder folder;
  const Result<MappedFile> file = MappedFile::Open(folder.path());
  REQUIRE(!file);
  CHECK(file.error().message == folder.path().string() + ": expected a regular file");
}

}  // namespace mapped_file_test
}  // namespace skald
