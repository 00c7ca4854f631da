// SPDX-License-Identifier: Apache-2.0
//
// Files and sockets as sinks and sources: files appear whole or not at all, and what goes wrong is said.

#include "skald/base/fd_io.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "doctest/doctest.h"
#include "skald/store/byte_io.h"
#include "skald/store/snapshot.h"
#include "tests/support/check_error.h"
#include "tests/support/safetensors_writer.h"
#include "tests/support/tiny_cache.h"

namespace skald::testing {
namespace {

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

TEST_CASE("a file appears when it is committed, whole, with the permissions of a new file, and nothing beside it") {
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
  const mode_t mask = ::umask(0);
  ::umask(mask);
  struct stat status;
  REQUIRE(::stat(path.c_str(), &status) == 0);
  CHECK((status.st_mode & 0777) == (0666 & ~mask));
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
    CHECK(FilesIn(folder.path()) == 2);
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

  // A path that is a folder shows when the file is put in its place.
  std::filesystem::create_directory(folder.path() / "folder");
  {
    auto sink = FileSink::Create(folder.path() / "folder");
    REQUIRE(sink);
    REQUIRE(sink->Write(Bytes(9)));
    CheckError(sink->Commit(), ErrorCode::kFailedPrecondition, "folder: Is a directory");
  }
  CHECK(std::filesystem::is_directory(folder.path() / "folder"));
  CHECK(FilesIn(folder.path()) == 2);
  auto opened = FileSource::Open(folder.path() / "folder");
  REQUIRE(opened);
  std::vector<std::byte> room(1);
  CheckError(opened->Read(room), ErrorCode::kFailedPrecondition, "folder: Is a directory");
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
  CheckError(source->Read(room), ErrorCode::kDataLoss, "short: it ends where 3 more bytes are expected");
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
  const RuntimeConfig runtime = {.block_tokens = 64, .checkpoint_every = 20};
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
    CheckError(LoadSnapshot(ByteSourceRef(stream), {}, pool), ErrorCode::kDataLoss, "the socket: it ends where");
    CHECK(pool->usage().used_bytes == 0);
    writer.join();
  }
}

}  // namespace
}  // namespace skald::testing
