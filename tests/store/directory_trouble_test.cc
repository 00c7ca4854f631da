// SPDX-License-Identifier: Apache-2.0
//
// A folder of chunks in trouble: processes killed at any moment, several writers, a full disk, missing permissions,
// things in the way. Stored chunks stay, unfinished ones do not count, and errors say where and why.

#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <random>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "doctest/doctest.h"
#include "skald/store/backends/directory_store.h"
#include "skald/store/snapshots/snapshot.h"
#include "tests/store/numbered_chunks.h"
#include "tests/support/child_process.h"
#include "tests/support/small_models.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/test_data.h"

namespace skald::testing {
namespace directory_trouble_test {

// Carries keys from a child that may be killed while it reports them.
class KeyPipe {
 public:
  KeyPipe() {
    int ends[2];
    REQUIRE(::pipe(ends) == 0);
    reader_ = internal::Descriptor(ends[0]);
    writer_ = internal::Descriptor(ends[1]);
    // So that a killed child is never waiting here: what does not fit is not reported.
    ::fcntl(writer_.get(), F_SETFL, O_NONBLOCK);
  }

  // In the child. So few bytes are written all at once or not at all.
  void Report(const ChunkKey& key) const { (void)!::write(writer_.get(), key.bytes.data(), ChunkKey::kBytes); }

  // In the parent, when the child has ended.
  std::vector<ChunkKey> TakeAll() {
    writer_ = internal::Descriptor();
    std::vector<ChunkKey> keys;
    ChunkKey key;
    while (::read(reader_.get(), key.bytes.data(), ChunkKey::kBytes) == ssize_t{ChunkKey::kBytes}) keys.push_back(key);
    return keys;
  }

 private:
  internal::Descriptor reader_, writer_;
};

void Sleep(long microseconds) {
  const timespec time = {.tv_sec = microseconds / 1'000'000, .tv_nsec = microseconds % 1'000'000 * 1000};
  ::nanosleep(&time, nullptr);
}

// Runs work(report) in a child, kills it after a random time, and returns the keys that it reported.
template <class Work>
std::vector<ChunkKey> RunAndKill(std::mt19937& random, uint64_t most_microseconds, Work work) {
  KeyPipe pipe;
  ChildProcess child([&] { return work([&pipe](const ChunkKey& key) { pipe.Report(key); }); });
  Sleep(static_cast<long>(random() % most_microseconds));
  child.Kill();
  return pipe.TakeAll();
}

Result<ChunkBytes> EncodeNumber(uint64_t number) {
  const std::string content(1 + number * 997 % 5000, static_cast<char>('a' + number % 26));
  return EncodeChunk(KeyOf(number), {.codec = ChunkCodec::kNone}, std::as_bytes(std::span(content)));
}

// Puts chunks without end, numbered from `first`.
template <class Report>
bool PutForever(DirectoryStore& store, uint64_t first, Report report) {
  for (uint64_t i = first;; ++i) {
    const auto chunk = EncodeNumber(i);
    if (!chunk || !store.Put(KeyOf(i), *chunk)) return false;
    report(KeyOf(i));
  }
}

void CheckAllDecode(const DirectoryStore& store) {
  size_t damaged = 0;
  const auto keys = store.List();
  REQUIRE(keys);
  for (const ChunkKey& key : *keys) damaged += !DecodeChunk(key, store.Get(key).value());
  CHECK(damaged == 0);
}

size_t UnfinishedFiles(const std::filesystem::path& folder) {
  const auto files = std::filesystem::recursive_directory_iterator(folder);
  return static_cast<size_t>(std::ranges::count_if(
      files, [](const std::filesystem::directory_entry& file) { return file.path().extension() == ".tmp"; }));
}

TEST_CASE("500 times kill -9 of a writer: what was put is there, what is there is whole") {
  const TemporaryFolder folder;
  auto store = *DirectoryStore::Open(folder.path(), {.sync = SyncPolicy::kNone});
  std::mt19937 random(7);
  size_t reported = 0, missing = 0;
  // And more, and later ones, where a process takes longer to begin.
  for (uint64_t round = 0; round < 500 || (reported == 0 && round < 5000); ++round) {
    const auto keys = RunAndKill(random, 3000 * (1 + round / 500),
                                 [&](auto report) { return PutForever(*store, round * 1'000'000, report); });
    for (const ChunkKey& key : keys) missing += !store->Has(key).value();
    reported += keys.size();
  }
  CHECK(missing == 0);
  CHECK(reported > 0);
  CHECK(store->List()->size() >= reported);
  CheckAllDecode(*store);
  MESSAGE(reported, " chunks reported, ", UnfinishedFiles(folder.path()), " files left unfinished");

  const auto long_ago =
      std::filesystem::file_time_type::clock::now() - 2 * std::chrono::seconds(DirectoryStore::kStaleSeconds);
  for (const auto& file : std::filesystem::recursive_directory_iterator(folder.path())) {
    if (file.path().extension() == ".tmp") std::filesystem::last_write_time(file.path(), long_ago);
  }
  const size_t chunks = store->List()->size();
  store = *DirectoryStore::Open(folder.path());
  CHECK(UnfinishedFiles(folder.path()) == 0);
  CHECK(store->List()->size() == chunks);
}

TEST_CASE("kill -9 while old chunks make room leaves a whole store within its limit") {
  const TemporaryFolder folder;
  constexpr DirectoryStoreOptions kOptions = {.max_bytes = 30000, .sync = SyncPolicy::kNone};
  std::mt19937 random(8);
  for (uint64_t i = 0; i < 30; ++i) {  // full from the beginning
    REQUIRE(DirectoryStore::Open(folder.path(), kOptions).value()->Put(KeyOf(i), EncodeNumber(i).value()));
  }
  for (uint64_t round = 1; round <= 100; ++round) {
    RunAndKill(random, 3000, [&](auto report) {
      return PutForever(**DirectoryStore::Open(folder.path(), kOptions), round * 1'000'000, report);
    });
  }
  auto store = *DirectoryStore::Open(folder.path(), kOptions);
  CheckAllDecode(*store);
  const auto chunks = store->ListByUse();
  uint64_t bytes = 0;
  for (const StoredChunk& chunk : *chunks) bytes += chunk.bytes;
  CHECK(bytes <= 30000);
  CHECK(bytes > 10000);
}

TEST_CASE("kill -9 while a conversation is saved: every finished snapshot loads") {
  const TemporaryFolder folder;
  const RandomModel model(SmallModelNamed("small-mamba2"), 4);
  const RuntimeConfig runtime = {.resume_point_every = 20};
  KVCache cache = NewCache(SmallModelNamed("small-mamba2"), runtime);
  {
    Workspace workspace = *CreateWorkspace({.threads = 1});
    REQUIRE(model.Forward(cache, RandomTokens(SmallModelNamed("small-mamba2"), 8, 150), workspace));
  }
  const auto pool = NewPool(SmallModelNamed("small-mamba2"), runtime);
  auto store = *DirectoryStore::Open(folder.path(), {.sync = SyncPolicy::kNone});
  const auto identity_of = [](uint64_t number) { return Identity{.salt = std::to_string(number)}; };
  std::mt19937 random(9);
  size_t reported = 0;
  for (uint64_t round = 0; round < 100 || (reported == 0 && round < 1000); ++round) {
    const auto keys = RunAndKill(random, 20000 * (1 + round / 100), [&](auto report) {
      for (uint64_t i = round * 1000;; ++i) {
        const auto key = SaveSnapshot(cache, identity_of(i), {}, *store);
        if (!key) return false;
        report(*key);
      }
    });
    for (size_t i = 0; i < keys.size(); ++i) {
      const auto snapshot = LoadSnapshot(*store, keys[i], identity_of(round * 1000 + i), pool);
      REQUIRE(snapshot);
      REQUIRE(std::ranges::equal(snapshot->cache.tokens(), cache.tokens()));
    }
    reported += keys.size();
  }
  CHECK(reported > 0);
  MESSAGE(reported, " snapshots reported");
  CheckAllDecode(*store);
}

TEST_CASE("several processes put the same keys at once") {
  const TemporaryFolder folder;
  const auto write = [&folder](uint64_t max_bytes) {
    const auto store = DirectoryStore::Open(folder.path(), {.max_bytes = max_bytes, .sync = SyncPolicy::kNone});
    if (!store) return false;
    for (int repeat = 0; repeat < 3; ++repeat) {
      for (uint64_t i = 0; i < 200; ++i) {
        if (!(*store)->Put(KeyOf(i), EncodeNumber(i).value())) return false;
        const auto value = (*store)->Get(KeyOf(i));
        if (!value && value.error().code == ErrorCode::kNotFound && max_bytes != kUnlimited) continue;
        if (!value || !DecodeChunk(KeyOf(i), *value)) return false;
      }
    }
    return true;
  };
  for (const uint64_t max_bytes : {kUnlimited, uint64_t{100'000}}) {  // all that is put has twice as much
    std::vector<ChildProcess> children;
    for (int i = 0; i < 4; ++i) children.emplace_back([&] { return write(max_bytes); });
    for (ChildProcess& child : children) CHECK(child.Wait());
    auto store = *DirectoryStore::Open(folder.path());
    CheckAllDecode(*store);
    if (max_bytes == kUnlimited) CHECK(store->List()->size() == 200);
    CHECK(UnfinishedFiles(folder.path()) == 0);
  }
}

// Whether `result` is that error and names `path`.
template <class T>
bool Refused(const Result<T>& result, ErrorCode code, const std::filesystem::path& path) {
  return !result && result.error().code == code && result.error().message.find(path.string()) != std::string::npos;
}

TEST_CASE("a full disk is an error, and leaves the store as it was") {
  const TemporaryFolder folder;
  auto store = *DirectoryStore::Open(folder.path());
  REQUIRE(store->Put(KeyOf(1), ValueOf(1, 3000)));
  ChildProcess child([&] {
    const rlimit limit = {.rlim_cur = 5000, .rlim_max = 5000};  // of each file: like a disk that fills meanwhile
    ::signal(SIGXFSZ, SIG_IGN);
    return ::setrlimit(RLIMIT_FSIZE, &limit) == 0 &&
           Refused(store->Put(KeyOf(2), ValueOf(2, 10000)), ErrorCode::kResourceExhausted, folder.path()) &&
           store->Put(KeyOf(3), ValueOf(3, 5000)).has_value();
  });
  CHECK(child.Wait());
  CHECK(store->List()->size() == 2);
  CHECK(*store->Get(KeyOf(1)) == ValueOf(1, 3000));
  CHECK(*store->Get(KeyOf(3)) == ValueOf(3, 5000));
  CHECK(UnfinishedFiles(folder.path()) == 0);
}

TEST_CASE("things in the way are errors that name them") {
  const TemporaryFolder folder;
  WriteFile(folder.path() / "file", "mine");
  CHECK(Refused(DirectoryStore::Open(folder.path() / "file"), ErrorCode::kFailedPrecondition, folder.path() / "file"));
  CHECK(Refused(DirectoryStore::Open(folder.path() / "file" / "below"), ErrorCode::kFailedPrecondition,
                folder.path() / "file"));

  auto store = *DirectoryStore::Open(folder.path());
  const auto subfolder = folder.path() / KeyOf(1).ToHex().substr(0, 2);
  WriteFile(subfolder, "mine");
  CHECK(Refused(store->Put(KeyOf(1), ValueOf(1, 10)), ErrorCode::kFailedPrecondition, subfolder));
  CHECK(Refused(store->Get(KeyOf(1)), ErrorCode::kFailedPrecondition, subfolder));
  CHECK(store->List()->empty());
  CHECK(std::filesystem::file_size(subfolder) == 4);

  const std::string hex = KeyOf(2).ToHex();
  const auto in_the_way = folder.path() / hex.substr(0, 2) / hex;
  std::filesystem::create_directories(in_the_way);
  CHECK(Refused(store->Put(KeyOf(2), ValueOf(2, 10)), ErrorCode::kDataLoss, in_the_way));
  CHECK(Refused(store->Get(KeyOf(2)), ErrorCode::kDataLoss, in_the_way));
  std::filesystem::remove(in_the_way);
  REQUIRE(::mkfifo(in_the_way.c_str(), 0600) == 0);
  CHECK(Refused(store->Get(KeyOf(2)), ErrorCode::kDataLoss, in_the_way));
  std::filesystem::remove(in_the_way);
  WriteFile(in_the_way, "");
  std::filesystem::resize_file(in_the_way, kMaxChunkBytes + 1);
  CHECK(Refused(store->Get(KeyOf(2)), ErrorCode::kDataLoss, in_the_way));
}

TEST_CASE("a folder that vanished is made again") {
  const TemporaryFolder folder;
  auto store = *DirectoryStore::Open(folder.path() / "store");
  REQUIRE(store->Put(KeyOf(1), ValueOf(1, 10)));
  std::filesystem::remove_all(folder.path() / "store");
  CHECK(store->Get(KeyOf(1)).error().code == ErrorCode::kNotFound);
  CHECK(store->List()->empty());
  REQUIRE(store->Put(KeyOf(1), ValueOf(1, 10)));
  CHECK(*store->Get(KeyOf(1)) == ValueOf(1, 10));
}

// Runs `function` in a process that permissions apply to. Root lays its rights down for it.
template <class Function>
void CheckWithoutPrivileges(Function function) {
  constexpr uid_t kNobody = 65534;
  const bool is_root = ::geteuid() == 0;
  if (is_root && !ChildProcess([] { return ::setuid(kNobody) == 0; }).Wait()) {
    ++missing_test_data;
    MESSAGE("SKIPPED: permissions do not apply to root, and it cannot become someone else here");
    return;
  }
  CHECK(ChildProcess([&] { return (!is_root || ::setuid(kNobody) == 0) && function(); }).Wait());
}

TEST_CASE("a folder that may only be read can be read, and says so when written to") {
  const TemporaryFolder folder;
  const auto path = folder.path() / "store";
  REQUIRE(DirectoryStore::Open(path).value()->Put(KeyOf(1), ValueOf(1, 10)));
  const std::string hex = KeyOf(1).ToHex();
  const auto subfolder = path / hex.substr(0, 2);
  for (const auto& each : {path, subfolder}) ::chmod(each.c_str(), 0555);
  ::chmod((subfolder / hex).c_str(), 0444);
  CheckWithoutPrivileges([&] {
    auto store = DirectoryStore::Open(path, {.max_bytes = 15});
    return store && *(*store)->Get(KeyOf(1)) == ValueOf(1, 10) && (*store)->List()->size() == 1 &&
           (*store)->Put(KeyOf(1), ValueOf(1, 10)) &&  // is there
           Refused((*store)->Put(KeyOf(2), ValueOf(2, 1)), ErrorCode::kFailedPrecondition, path) &&
           Refused((*store)->Put(KeyOf(2), ValueOf(2, 10)), ErrorCode::kFailedPrecondition, path / "lock") &&
           Refused((*store)->Drop(KeyOf(1)), ErrorCode::kFailedPrecondition, subfolder) &&
           Refused(DirectoryStore::Open(path / "new"), ErrorCode::kFailedPrecondition, path / "new");
  });
  for (const auto& each : {path, subfolder}) ::chmod(each.c_str(), 0755);
  CHECK(*DirectoryStore::Open(path).value()->Get(KeyOf(1)) == ValueOf(1, 10));
}

TEST_CASE("a folder that may not be read is refused") {
  const TemporaryFolder folder;
  auto owners = *DirectoryStore::Open(folder.path() / "store");
  REQUIRE(owners->Put(KeyOf(1), ValueOf(1, 10)));
  const std::string hex = KeyOf(1).ToHex();
  const auto subfolder = folder.path() / "store" / hex.substr(0, 2);
  ::chmod((folder.path() / "store").c_str(), 0755);
  ::chmod(subfolder.c_str(), 0);
  CheckWithoutPrivileges([&] {
    return Refused(DirectoryStore::Open(folder.path() / "store"), ErrorCode::kFailedPrecondition, subfolder) &&
           Refused(owners->Get(KeyOf(1)), ErrorCode::kFailedPrecondition, subfolder) &&
           Refused(owners->Put(KeyOf(1), ValueOf(1, 10)), ErrorCode::kFailedPrecondition, subfolder) &&
           Refused(owners->List(), ErrorCode::kFailedPrecondition, subfolder);
  });
  ::chmod(subfolder.c_str(), 0755);
}

TEST_CASE("what a store makes is its owner's alone, whatever umask says") {
  const TemporaryFolder folder;
  const mode_t mask = ::umask(0);
  auto store = *DirectoryStore::Open(folder.path() / "made" / "store", {.max_bytes = 15});
  REQUIRE(store->Put(KeyOf(1), ValueOf(1, 10)));
  REQUIRE(store->Put(KeyOf(2), ValueOf(2, 10)));  // key 1 must go, under the lock
  ::umask(mask);
  size_t files = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder.path())) {
    struct stat status;
    REQUIRE(::stat(entry.path().c_str(), &status) == 0);
    CHECK((status.st_mode & 0777) == (entry.is_directory() ? 0700 : 0600));
    files += !entry.is_directory();
  }
  CHECK(files == 2);  // a chunk and the lock
  const auto lock = folder.path() / "made" / "store" / "lock";
  REQUIRE(::chmod(lock.c_str(), 0644) == 0);  // as releases before made it: any process that may read it could hold it
  REQUIRE(store->Prune(0));
  struct stat status;
  REQUIRE(::stat(lock.c_str(), &status) == 0);
  CHECK((status.st_mode & 0777) == 0600);
}

// Of a signal that only interrupts.
void IgnoreSignal(int) {}

TEST_CASE("a lock that is held for a while is waited for, whatever signals come") {
  const TemporaryFolder folder;
  auto store = *DirectoryStore::Open(folder.path());
  REQUIRE(store->Put(KeyOf(1), ValueOf(1, 10)));
  REQUIRE(store->Prune(kUnlimited));  // makes the lock
  const internal::Descriptor lock = internal::OpenToRead(folder.path() / "lock");
  REQUIRE(::flock(lock.get(), LOCK_EX | LOCK_NB) == 0);
  struct sigaction action = {}, before;
  action.sa_handler = IgnoreSignal;  // without SA_RESTART
  REQUIRE(::sigaction(SIGALRM, &action, &before) == 0);
  const itimerval often = {.it_interval = {.tv_sec = 0, .tv_usec = 500}, .it_value = {.tv_sec = 0, .tv_usec = 500}};
  REQUIRE(::setitimer(ITIMER_REAL, &often, nullptr) == 0);
  std::thread holder([&] {
    Sleep(20'000);
    ::flock(lock.get(), LOCK_UN);
  });
  const auto pruned = store->Prune(0);
  holder.join();
  const itimerval never = {};
  REQUIRE(::setitimer(ITIMER_REAL, &never, nullptr) == 0);
  REQUIRE(::sigaction(SIGALRM, &before, nullptr) == 0);
  REQUIRE(pruned);
  CHECK(pruned->chunks == 1);
}

TEST_CASE("a lock that is never let go is an error that names it") {
  const TemporaryFolder folder;
  auto store = *DirectoryStore::Open(folder.path(), {.lock_timeout = std::chrono::milliseconds(20)});
  REQUIRE(store->Put(KeyOf(1), ValueOf(1, 10)));
  REQUIRE(store->Prune(kUnlimited));
  const internal::Descriptor lock = internal::OpenToRead(folder.path() / "lock");
  REQUIRE(::flock(lock.get(), LOCK_EX | LOCK_NB) == 0);
  const auto pruned = store->Prune(0);
  CHECK(Refused(pruned, ErrorCode::kFailedPrecondition, folder.path() / "lock"));
  CHECK(pruned.error().message.find("held this lock for 20 ms") != std::string::npos);
  CHECK(*store->Get(KeyOf(1)) == ValueOf(1, 10));  // reading needs no lock
  std::filesystem::remove(folder.path() / "lock");
  std::filesystem::create_symlink(folder.path() / "elsewhere", folder.path() / "lock");
  CHECK(Refused(store->Prune(0), ErrorCode::kFailedPrecondition, folder.path() / "lock"));
  CHECK_FALSE(std::filesystem::exists(folder.path() / "elsewhere"));
}

}  // namespace directory_trouble_test
}  // namespace skald::testing
