// SPDX-License-Identifier: Apache-2.0
//
// Files and sockets as sinks and sources: files appear whole or not at all, and what goes wrong is said.

#include "skald/base/files/fd_io.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "doctest/doctest.h"
#include "skald/store/snapshots/byte_io.h"
#include "skald/store/snapshots/snapshot.h"
#include "tests/support/check_error.h"
#include "tests/support/child_process.h"
#include "tests/support/safetensors_writer.h"
#include "tests/support/tiny_cache.h"

namespace skald::testing {
namespace fd_io_test {

static_assert(ByteSink<FileSink> && ByteSource<FileSource> && ByteSink<FdStream> && ByteSource<FdStream>);

std::vector<std::byte> Bytes(size_t count) {
  std::vector<std::byte> bytes(count);
  for (size_t i = 0; i < count; ++i) bytes[i] = static_cast<std::byte>(i * 31 + i / 256);
  return bytes;
}

std::vector<std::byte> ReadAll(const std::filesystem::path& path) {
  std::vector<std::byte> bytes(std::filesystem::file_size(path));
  auto source = FileSource::Open(path);
  REQUIRE(source);
  REQUIRE(source->Read(bytes));
  return bytes;
}

size_t FilesIn(const std::filesystem::path& folder) {
  return static_cast<size_t>(std::distance(std::filesystem::directory_iterator(folder), {}));
}

mode_t ModeOf(const std::filesystem::path& path) {
  struct stat status;
  REQUIRE(::stat(path.c_str(), &status) == 0);
  return status.st_mode & 0777;
}

TEST_CASE("a file appears when it is committed, whole, its owner's alone, and nothing beside it") {
  const TemporaryFolder folder;
  const std::filesystem::path path = folder.path() / "state";
  const std::vector<std::byte> bytes = Bytes(300'000);
  {
    auto sink = FileSink::Create(path);
    REQUIRE(sink);
    REQUIRE(sink->Write(std::span(bytes).first(7)));
    REQUIRE(sink->Write({}));
    REQUIRE(sink->Write(std::span(bytes).subspan(7)));
    CHECK_FALSE(std::filesystem::exists(path));
    REQUIRE(sink->Commit());
    CHECK(ReadAll(path) == bytes);
  }
  CHECK(ReadAll(path) == bytes);
  CHECK(FilesIn(folder.path()) == 1);
  CHECK(ModeOf(path) == 0600);
}

TEST_CASE("a new file has the mode that was asked for, less umask; one that is replaced hands on its own") {
  const TemporaryFolder folder;
  const mode_t mask = ::umask(022);
  const auto write = [](Result<FileSink> sink) {
    REQUIRE(sink);
    REQUIRE(sink->Write(Bytes(9)));
    REQUIRE(sink->Commit());
  };
  const std::filesystem::path path = folder.path() / "file";
  write(FileSink::Create(path, 0666));
  CHECK(ModeOf(path) == 0644);
  for (const mode_t mode : {0600, 0640, 0664, 0400}) {
    REQUIRE(::chmod(path.c_str(), mode) == 0);
    write(FileSink::Create(path, 0666));
    CHECK(ModeOf(path) == mode);
  }
  write(FileSink::CreateAnew(path, 0666));
  CHECK(ModeOf(path) == 0644);
  ::umask(mask);
  if (::geteuid() != 0) return;  // only root can give files away
  REQUIRE(::chown(path.c_str(), 65534, 65533) == 0);
  write(FileSink::Create(path));
  struct stat status;
  REQUIRE(::stat(path.c_str(), &status) == 0);
  CHECK(status.st_uid == 65534);
  CHECK(status.st_gid == 65533);
  write(FileSink::CreateAnew(path, 0600));
  REQUIRE(::stat(path.c_str(), &status) == 0);
  CHECK(status.st_uid == 0);
}

TEST_CASE("a link is followed: the file that it names is replaced, or made, and the link stays") {
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder.path() / "elsewhere");
  const auto target = folder.path() / "elsewhere" / "state", link = folder.path() / "link";
  std::filesystem::create_symlink("elsewhere/second", link);
  std::filesystem::create_symlink("state", folder.path() / "elsewhere" / "second");
  for (int i = 0; i < 2; ++i) {
    auto sink = FileSink::Create(link);
    REQUIRE(sink);
    REQUIRE(sink->Write(Bytes(9)));
    REQUIRE(sink->Commit());
    CHECK(std::filesystem::is_symlink(link));
    CHECK(std::filesystem::is_symlink(folder.path() / "elsewhere" / "second"));
    CHECK(std::filesystem::is_regular_file(std::filesystem::symlink_status(target)));
    CHECK(ReadAll(target) == Bytes(9));
    WriteFile(target, "before");
  }
  CHECK(FilesIn(folder.path() / "elsewhere") == 2);
  {
    auto sink = FileSink::CreateAnew(link, 0600);  // in a program's own folder a link is in the way
    REQUIRE(sink);
    REQUIRE(sink->Write(Bytes(5)));
    REQUIRE(sink->Commit());
  }
  CHECK_FALSE(std::filesystem::is_symlink(link));
  CHECK(ReadAll(link) == Bytes(5));
  CHECK(std::filesystem::file_size(target) == 6);

  std::filesystem::create_symlink("loop", folder.path() / "loop");
  CheckError(FileSink::Create(folder.path() / "loop"), ErrorCode::kFailedPrecondition, "loop: Too many levels");
}

TEST_CASE("a link that somebody else put where everybody may put things is not followed") {
  if (::geteuid() != 0) return;  // only root can give links away
  const TemporaryFolder folder;
  WriteFile(folder.path() / "ours", "before");
  const auto everybodys = folder.path() / "everybodys", link = everybodys / "state";
  std::filesystem::create_directory(everybodys);
  REQUIRE(::chmod(everybodys.c_str(), 01777) == 0);
  std::filesystem::create_symlink(folder.path() / "ours", link);
  CHECK(FileSink::Create(link));
  REQUIRE(::lchown(link.c_str(), 65534, 65534) == 0);
  CheckError(FileSink::Create(link), ErrorCode::kFailedPrecondition, "state: Permission denied");
}

TEST_CASE("a device, a pipe or a folder is not replaced") {
  const TemporaryFolder folder;
  const auto pipe = folder.path() / "pipe", link = folder.path() / "link";
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  std::filesystem::create_symlink("/dev/null", link);
  for (const std::filesystem::path& path : {pipe, link, std::filesystem::path("/dev/null")}) {
    CheckError(FileSink::Create(path), ErrorCode::kInvalidArgument, ": expected a regular file");
  }
  CheckError(FileSink::CreateAnew(pipe, 0600), ErrorCode::kInvalidArgument, "pipe: expected a regular file");
  CheckError(FileSink::Create(folder.path()), ErrorCode::kInvalidArgument, ": this is a folder, expected a file");
  CheckError(FileSink::CreateAnew(folder.path(), 0600), ErrorCode::kInvalidArgument, ": this is a folder");
  CHECK(FilesIn(folder.path()) == 2);
}

TEST_CASE("a killed writer leaves nothing, or what RemoveUnfinishedFiles removes when it is old") {
  const TemporaryFolder folder;
  const std::filesystem::path path = folder.path() / "weights";
  WriteFile(path, "before");
  const auto write_and_hang = [&path] {
    auto sink = FileSink::Create(path);
    return sink && sink->Write(Bytes(100'000)) && ::raise(SIGKILL) == 0;
  };
  CHECK_FALSE(ChildProcess(write_and_hang).Wait());
  const auto files_here = FilesIn(folder.path());
  CHECK((files_here == 1 || files_here == 2));  // according to the file system

  const auto old = folder.path() / "weights.17-1700000000-5.tmp", young = folder.path() / "weights.17-1700000000-6.tmp";
  const auto others = folder.path() / "notes.17-1700000000-5.tmp", no_number = folder.path() / "weights.x-1-5.tmp";
  for (const auto& file : {old, young, others, no_number}) WriteFile(file, "half");
  for (const auto& file : std::filesystem::directory_iterator(folder.path())) {
    if (file.path() == young) continue;
    const auto now = std::filesystem::file_time_type::clock::now();
    std::filesystem::last_write_time(file, now - std::chrono::seconds(kStaleSeconds + 60));
  }
  REQUIRE(RemoveUnfinishedFiles(folder.path(), [](std::string_view name) { return name == "weights"; }));
  CHECK_FALSE(std::filesystem::exists(old));
  for (const auto& file : {path, young, others, no_number}) CHECK(std::filesystem::exists(file));
  CHECK(FilesIn(folder.path()) == 4);
  CHECK(RemoveUnfinishedFiles(folder.path() / "none", [](std::string_view) { return true; }));
}

TEST_CASE(
    "folders are made with all that are missing above them, their owner's alone; one that is there keeps its mode") {
  const TemporaryFolder folder;
  const mode_t mask = ::umask(022);
  REQUIRE(MakeFolder(folder.path() / "a" / "b" / "c"));
  for (const char* const made : {"a", "a/b", "a/b/c"}) CHECK(ModeOf(folder.path() / made) == 0700);
  REQUIRE(MakeFolder(folder.path() / "d" / "", 0777, SyncPolicy::kNone));
  CHECK(ModeOf(folder.path() / "d") == 0755);
  REQUIRE(MakeFolder(folder.path() / "d"));
  CHECK(ModeOf(folder.path() / "d") == 0755);
  ::umask(mask);
  WriteFile(folder.path() / "file", "x");
  std::filesystem::create_symlink("nowhere", folder.path() / "link");
  CheckError(MakeFolder(folder.path() / "file"), ErrorCode::kFailedPrecondition, "file: Not a directory");
  CheckError(MakeFolder(folder.path() / "file" / "below"), ErrorCode::kFailedPrecondition,
             "file/below: Not a directory");
  CheckError(MakeFolder(folder.path() / "link"), ErrorCode::kFailedPrecondition, "link: Not a directory");
}

TEST_CASE("what is not committed leaves nothing behind, and the file that was there stays") {
  const TemporaryFolder folder;
  const std::filesystem::path path = folder.path() / "state";
  WriteFile(path, "before");
  {
    auto sink = FileSink::Create(path);
    REQUIRE(sink);
    REQUIRE(sink->Write(Bytes(100)));
    FileSink moved = std::move(*sink);
    REQUIRE(moved.Write(Bytes(100)));
    CHECK(FilesIn(folder.path()) <= 2);
  }
  CHECK(FilesIn(folder.path()) == 1);
  CHECK(std::filesystem::file_size(path) == 6);
  {
    auto sink = FileSink::Create(path);
    REQUIRE(sink);
    REQUIRE(sink->Write(Bytes(9)));
    REQUIRE(sink->Commit());
  }
  CHECK(ReadAll(path) == Bytes(9));
}

TEST_CASE("a file that cannot be written is an error that names it") {
  const TemporaryFolder folder;
  CheckError(FileSink::Create(folder.path() / "missing" / "state"), ErrorCode::kNotFound,
             "missing/state: No such file");
  WriteFile(folder.path() / "file", "x");
  CheckError(FileSink::Create(folder.path() / "file" / "state"), ErrorCode::kFailedPrecondition, "Not a directory");

  std::filesystem::create_directory(folder.path() / "folder");
  CheckError(FileSource::Open(folder.path() / "folder"), ErrorCode::kInvalidArgument, "folder: this is a folder");
  REQUIRE(::mkfifo((folder.path() / "pipe").c_str(), 0600) == 0);  // does not block
  CheckError(FileSource::Open(folder.path() / "pipe"), ErrorCode::kInvalidArgument, "pipe: expected a regular file");
}

// Takes root's powers away for a while: root is denied nothing.
class AsNobody {
 public:
  AsNobody() { REQUIRE((!is_root_ || ::seteuid(65534) == 0)); }
  ~AsNobody() {
    if (is_root_) CHECK(::seteuid(0) == 0);
  }

 private:
  const bool is_root_ = ::geteuid() == 0;
};

TEST_CASE("where permission is denied, nothing happens") {
  const TemporaryFolder folder;
  WriteFile(folder.path() / "secret", "x");
  REQUIRE(::chmod((folder.path() / "secret").c_str(), 0) == 0);
  REQUIRE(::chmod(folder.path().c_str(), 0555) == 0);
  {
    const AsNobody nobody;
    CheckError(FileSink::Create(folder.path() / "state"), ErrorCode::kFailedPrecondition, "state: Permission denied");
    CheckError(FileSource::Open(folder.path() / "secret"), ErrorCode::kFailedPrecondition, "secret: Permission denied");
    CHECK(FilesIn(folder.path()) == 1);
  }
  REQUIRE(::chmod(folder.path().c_str(), 0755) == 0);
}

TEST_CASE("a full disk is said to be full") {
  const int full = ::open("/dev/full", O_WRONLY | O_CLOEXEC);
  if (full < 0) return;
  CheckError(FdStream(full, "the disk").Write(Bytes(9)), ErrorCode::kResourceExhausted, "the disk: No space left");
  ::close(full);
}

TEST_CASE("a file that ends early is lost data, a missing one is not found") {
  const TemporaryFolder folder;
  WriteFile(folder.path() / "short", "12345");
  auto source = FileSource::Open(folder.path() / "short");
  REQUIRE(source);
  std::vector<std::byte> room(8);
  CheckError(source->Read(room), ErrorCode::kDataLoss, "short: it ends, but 3 more bytes are expected");
  CheckError(FileSource::Open(folder.path() / "none"), ErrorCode::kNotFound, "none: No such file");
}

// Two connected sockets, closed at the end.
struct SocketPair {
  SocketPair() { REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0); }
  ~SocketPair() {
    Close(0);
    Close(1);
  }
  void Close(int end) {
    if (ends[end] >= 0) ::close(std::exchange(ends[end], -1));
  }
  int ends[2];
};

TEST_CASE("a conversation goes through a socket from one thread to another, and the next one behind it") {
  const RuntimeConfig runtime = {.block_tokens = 64, .resume_point_every = 20};
  KVCache cache = *CreateKVCache(TinyLayout(true), runtime);
  REQUIRE(GrowTiny(cache, 1, 3000));
  SocketPair sockets;
  std::thread sender([&] {
    FdStream stream(sockets.ends[0], "the socket");
    CHECK(SaveSnapshot(cache, {}, {}, ByteSinkRef(stream), {ChunkCodec::kNone}));
    CHECK(SaveSnapshot(cache, {}, {}, ByteSinkRef(stream)));
  });
  FdStream stream(sockets.ends[1], "the socket");
  for (int i = 0; i < 2; ++i) {
    const auto snapshot = LoadSnapshot(ByteSourceRef(stream), {}, *CreateBlockPool(TinyLayout(true), runtime));
    REQUIRE(snapshot);
    CHECK(std::ranges::equal(snapshot->cache.tokens(), cache.tokens()));
    CHECK(*snapshot->cache.ResumePoints() == *cache.ResumePoints());
  }
  sender.join();
}

TEST_CASE("a peer that goes away is an error on either side, not a signal") {
  KVCache cache = *CreateKVCache(TinyLayout(true));
  REQUIRE(GrowTiny(cache, 1, 3000));
  SUBCASE("while it should read") {
    SocketPair sockets;
    std::thread reader([&] {
      std::vector<std::byte> some(1000);
      CHECK(FdStream(sockets.ends[1], "peer").Read(some));
      sockets.Close(1);
    });
    FdStream stream(sockets.ends[0], "the socket");
    CheckError(SaveSnapshot(cache, {}, {}, ByteSinkRef(stream), {ChunkCodec::kNone}), ErrorCode::kFailedPrecondition,
               "the socket: ");
    reader.join();
  }
  SUBCASE("while it should write") {
    SocketPair sockets;
    std::vector<std::byte> bytes(*SnapshotBytes(cache, {}, {}));
    REQUIRE(SaveSnapshot(cache, {}, {}, std::span(bytes)));
    std::thread writer([&] {
      CHECK(FdStream(sockets.ends[0], "peer").Write(std::span(bytes).first(bytes.size() / 2)));
      sockets.Close(0);
    });
    FdStream stream(sockets.ends[1], "the socket");
    auto pool = *CreateBlockPool(TinyLayout(true));
    CheckError(LoadSnapshot(ByteSourceRef(stream), {}, pool), ErrorCode::kDataLoss, "the socket: it ends, but");
    CHECK(pool->usage().used_bytes == 0);
    writer.join();
  }
}

}  // namespace fd_io_test
}  // namespace skald::testing
