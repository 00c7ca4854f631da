// SPDX-License-Identifier: Apache-2.0
//
// The same calls on every system: these tests know none of it.

#include "skald/base/files/file_calls.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "doctest/doctest.h"
#include "skald/base/files/fd_io.h"
#include "skald/base/files/file_memory.h"
#include "skald/base/files/folders.h"
#include "skald/base/files/path_text.h"
#include "skald/base/files/small_file.h"
#include "tests/support/awkward_folders.h"
#include "tests/support/check_error.h"
#include "tests/support/temporary_folder.h"

namespace skald::testing {
namespace file_calls_test {

std::span<const std::byte> Bytes(const std::string& text) { return std::as_bytes(std::span(text)); }

Result<void> Put(const std::filesystem::path& path, const std::string& text,
                 FileSink::Unfinished unfinished = FileSink::Unfinished::kNameless) {
  SKALD_ASSIGN(auto sink, FileSink::CreateAnew(path, 0644, unfinished));
  SKALD_TRY(sink.Write(Bytes(text)));
  return sink.Commit();
}

// A read of whichever file has the name.
std::string TextOf(const std::filesystem::path& path) { return ReadSmallFile(path, 1000).value_or("?"); }

std::vector<std::string> NamesIn(const std::filesystem::path& folder) {
  std::vector<std::string> names;
  REQUIRE(internal::ForEachEntry(folder, [&](const auto& entry) { names.emplace_back(entry.name); }));
  std::sort(names.begin(), names.end());
  return names;
}

TEST_CASE("files are written, replaced, found and removed below paths with spaces, wide characters and great length") {
  const TemporaryFolder temporary;
  for (const auto& folder : AwkwardFolders(temporary.path())) {
    CAPTURE(PathText(folder));
    REQUIRE(MakeFolder(folder));
    REQUIRE(MakeFolder(folder));  // it is there
    CHECK(internal::IsFolder(folder));
    const auto file = folder / PathOfText("\xD0\xB6 file");
    for (const auto unfinished : {FileSink::Unfinished::kNameless, FileSink::Unfinished::kNamed}) {
      REQUIRE(Put(file, "first", unfinished));
      CHECK(TextOf(file) == "first");
      REQUIRE(Put(file, "the second", unfinished));
      CHECK(TextOf(file) == "the second");
    }
    CHECK(NamesIn(folder) == std::vector<std::string>{"\xD0\xB6 file"});
    CheckError(ReadSmallFile(file, 3), ErrorCode::kOutOfRange, "\xD0\xB6 file: the file has 10 bytes");
    CheckError(ReadSmallFile(folder / "none", 3), ErrorCode::kNotFound, "none: No such file");
    CheckError(ReadSmallFile(folder, 3), ErrorCode::kInvalidArgument, "this is a folder, expected a file");
    CheckError(Put(folder, "x"), ErrorCode::kInvalidArgument, "this is a folder");
    REQUIRE(internal::RemoveName(file));
    CHECK_FALSE(internal::Exists(file));
    CHECK_FALSE(internal::RemoveName(file));
    CHECK(errno == ENOENT);
  }
}

TEST_CASE("a file is replaced and removed while it is read and mapped") {
  const TemporaryFolder folder;
  const auto file = folder.path() / "file";
  REQUIRE(Put(file, "before"));
  {
    const internal::Descriptor reader = internal::OpenToRead(file);
    REQUIRE(reader.get() >= 0);
    void* const mapped = internal::MapFile(reader.get(), 6);
    REQUIRE(mapped != nullptr);
    const auto replaced = Put(file, "afterwards");
#ifdef _WIN32
    if (!replaced) MESSAGE("this Windows has no renames like those of POSIX: a file that is open cannot be replaced");
#else
    CHECK(replaced);
#endif
    CHECK(TextOf(file) == (replaced ? "afterwards" : "before"));
    CHECK(std::string(static_cast<const char*>(mapped), 6) == "before");
    std::array<std::byte, 100> bytes;
    CHECK(internal::ReadSome(reader.get(), bytes) == 6);
    CHECK(internal::ReadSome(reader.get(), bytes) == 0);
    internal::UnmapFile(mapped, 6);
    const internal::Descriptor again = internal::OpenToRead(file);
    REQUIRE(internal::RemoveName(file));
  }
  CHECK_FALSE(internal::Exists(file));
}

TEST_CASE("facts tell files from folders, one file from another, and when something was done") {
  const TemporaryFolder folder;
  const auto file = folder.path() / "file", other = folder.path() / "other";
  const FileTime before = FileTime::Now();
  REQUIRE(Put(file, "12345"));
  REQUIRE(Put(other, "12345"));
  const auto facts = internal::FactsOf(file);
  REQUIRE(facts);
  CHECK(facts->kind == FileKind::kRegular);
  CHECK(facts->bytes == 5);
  CHECK(facts->modified.seconds - before.seconds < 100);
  CHECK(before.seconds - facts->modified.seconds < 3);  // some clocks of file systems are coarse
  CHECK(internal::FactsOf(folder.path())->kind == FileKind::kFolder);
  CHECK(internal::FactsOf(internal::OpenToRead(file).get())->IsSameContent(*facts));
  CHECK_FALSE(internal::FactsOf(other)->IsSameContent(*facts));
  CHECK_FALSE(internal::FactsOf(folder.path() / "none"));
  CHECK(errno == ENOENT);
  CHECK_FALSE(internal::FactsOf(-1));
}

TEST_CASE("times of use are set, by name and by descriptor, and leave the times of writing") {
  const TemporaryFolder folder;
  const auto file = folder.path() / "file";
  REQUIRE(Put(file, "12345"));
  const FileTime written = internal::FactsOf(file)->modified;
  const FileTime then = {1'000'000'000, 123'456'700}, later = {1'100'000'000, 0};
  REQUIRE(internal::SetAccessTime(file, then));
  CHECK(internal::FactsOf(file)->accessed == then);
  REQUIRE(internal::SetAccessTime(internal::OpenToRead(file).get(), later));
  CHECK(internal::FactsOf(file)->accessed == later);
  CHECK(internal::FactsOf(file)->modified == written);
  REQUIRE(internal::Touch(file));
  CHECK(internal::FactsOf(file)->accessed >= written);
  CHECK_FALSE(internal::SetAccessTime(folder.path() / "none", then));
}

TEST_CASE("one descriptor has a lock at a time, and the file can be read meanwhile") {
  const TemporaryFolder folder;
  const auto file = folder.path() / "lock";
  {
    const internal::Descriptor first = internal::OpenOrMake(file, kPrivateFile);
    const internal::Descriptor second = internal::OpenOrMake(file, kPrivateFile);
    REQUIRE(internal::WriteSome(first.get(), Bytes("holder")) == 6);
    CHECK(internal::TryLock(first.get()));
    CHECK_FALSE(internal::TryLock(second.get()));
    CHECK(errno == EWOULDBLOCK);
    CHECK(TextOf(file) == "holder");
  }
  CHECK(internal::TryLock(internal::OpenOrMake(file, kPrivateFile).get()));
}

TEST_CASE("an own file is trusted, a folder is not") {
  const TemporaryFolder folder;
  const auto file = folder.path() / "file";
  REQUIRE(Put(file, "x"));
  CHECK(internal::IsTrustedFile(internal::OpenToRead(file).get()));
  CHECK(internal::BelongsToUser(file, *internal::FactsOf(file)));
  CHECK_FALSE(internal::IsTrustedFile(internal::OpenToRead(folder.path()).get()));
  CHECK_FALSE(internal::IsTrustedFile(-1));
}

TEST_CASE("names are taken once") {
  const TemporaryFolder folder;
  const auto file = folder.path() / "file";
  CHECK(internal::MakeNew(file, kPrivateFile).get() >= 0);
  CHECK(internal::MakeNew(file, kPrivateFile).get() == -1);
  CHECK(errno == EEXIST);
  CHECK_FALSE(internal::MakeOneFolder(file, kPrivateFolder));
  CHECK(errno == EEXIST);
  CheckError(MakeFolder(file / "below"), ErrorCode::kFailedPrecondition, "file");
}

TEST_CASE("what killed writers left is removed when it is old, and nothing else") {
  const TemporaryFolder folder;
  const auto ours = [](std::string_view name) { return name == "a"; };
  for (const char* name : {"a.12-34-56.tmp", "a", "b.12-34-56.tmp", "a.12-34.tmp"}) {
    REQUIRE(Put(folder.path() / name, "x"));
    std::filesystem::last_write_time(folder.path() / name,
                                     std::filesystem::file_time_type::clock::now() - std::chrono::hours(1));
  }
  REQUIRE(Put(folder.path() / "a.12-34-57.tmp", "new"));
  REQUIRE(RemoveUnfinishedFiles(folder.path(), ours));
  CHECK(NamesIn(folder.path()) == std::vector<std::string>{"a", "a.12-34-57.tmp", "a.12-34.tmp", "b.12-34-56.tmp"});
  CHECK(NamesIn(folder.path() / "none").empty());
}

TEST_CASE("a name in a folder says what it stands for") {
  const TemporaryFolder folder;
  REQUIRE(Put(folder.path() / "file", "x"));
  REQUIRE(MakeFolder(folder.path() / "folder"));
  REQUIRE(internal::ForEachEntry(folder.path(), [](const internal::FolderEntry& entry) {
    if (entry.kind == FileKind::kUnknown) return;
    CHECK(entry.kind == (entry.name == "file" ? FileKind::kRegular : FileKind::kFolder));
  }));
}

TEST_CASE("pages are zeros and may be given back") {
  constexpr size_t kBytes = 100'000;
  auto* const pages = static_cast<char*>(internal::TakePages(kBytes));
  REQUIRE(pages != nullptr);
  CHECK(std::all_of(pages, pages + kBytes, [](char byte) { return byte == 0; }));
  std::fill_n(pages, kBytes, 'x');
  internal::HintWillRead(pages + 5000, 100);
  CHECK(pages[kBytes - 1] == 'x');
  internal::ReturnPages(pages, kBytes);
  CHECK(internal::MapFile(-1, 10) == nullptr);
}

TEST_CASE("wide characters become UTF-8, and halves of pairs U+FFFD") {
  using internal::TextOfNative;
  const std::wstring pair = {wchar_t(0xD83D), wchar_t(0xDE00)};
  CHECK(TextOfNative(L"plain" + pair) == "plain\xF0\x9F\x98\x80");
  CHECK(TextOfNative(std::wstring{wchar_t(0xE9), wchar_t(0x20AC), wchar_t(0xFFFF)}) ==
        "\xC3\xA9\xE2\x82\xAC\xEF\xBF\xBF");
  CHECK(TextOfNative(pair.substr(0, 1) + L"x") == "\xEF\xBF\xBDx");
  CHECK(TextOfNative(pair.substr(1) + pair.substr(0, 1)) == "\xEF\xBF\xBD\xEF\xBF\xBD");
  CHECK(TextOfNative(std::wstring()).empty());
  const std::string text = "a/\xC3\xA9/\xF0\x9F\x98\x80";
  CHECK(PathText(PathOfText(text)) == text);
}

}  // namespace file_calls_test
}  // namespace skald::testing
