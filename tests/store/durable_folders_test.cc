// SPDX-License-Identifier: Apache-2.0
//
// Which folders are synced when: what a power cut leaves cannot be tried, so the calls are watched.

#include <sys/syscall.h>
#include <unistd.h>

#include <filesystem>
#include <set>
#include <string>

#include "doctest/doctest.h"
#include "skald/base/files/fd_io.h"
#include "skald/store/backends/directory_store.h"
#include "tests/store/numbered_chunks.h"
#include "tests/support/temporary_folder.h"

namespace skald::testing::durable_folders_test {
std::set<std::filesystem::path>* synced = nullptr;  // collects what is synced
}  // namespace skald::testing::durable_folders_test

// Replaces the C library's function.
extern "C" int fsync(int fd) {
  std::error_code error;
  if (auto* const synced = skald::testing::durable_folders_test::synced) {
    synced->insert(std::filesystem::read_symlink("/proc/self/fd/" + std::to_string(fd), error));
  }
  return static_cast<int>(::syscall(SYS_fsync, fd));
}

namespace skald::testing {
namespace durable_folders_test {

// Calls function() and returns what it synced.
template <class Function>
std::set<std::filesystem::path> SyncedBy(Function function) {
  std::set<std::filesystem::path> paths;
  synced = &paths;
  function();
  synced = nullptr;
  return paths;
}

TEST_CASE("the parent of every folder that a store makes is synced where it was asked to be") {
  const TemporaryFolder folder;
  const auto store_path = folder.path() / "a" / "b";
  std::unique_ptr<DirectoryStore> store;
  const auto open = [&] { store = *DirectoryStore::Open(store_path, {.sync = SyncPolicy::kDataAndFolder}); };
  CHECK(SyncedBy(open) == std::set{folder.path(), folder.path() / "a"});
  const auto subfolder = store_path / KeyOf(1).ToHex().substr(0, 2);
  const auto by_put = SyncedBy([&] { REQUIRE(store->Put(KeyOf(1), ValueOf(1, 10))); });
  CHECK(by_put.contains(store_path));
  CHECK(by_put.contains(subfolder));
  std::filesystem::remove_all(folder.path() / "a");
  const auto made_again = SyncedBy([&] { REQUIRE(store->Put(KeyOf(1), ValueOf(1, 10))); });
  for (const auto& path : {folder.path(), folder.path() / "a", store_path, subfolder}) {
    CHECK(made_again.contains(path));
  }
}

TEST_CASE("a store that need not survive a power cut syncs no folder") {
  const TemporaryFolder folder;
  const auto paths = SyncedBy([&] {
    REQUIRE(DirectoryStore::Open(folder.path() / "a", {.sync = SyncPolicy::kNone}).value()->Put(KeyOf(1), {}));
  });
  CHECK(paths.empty());
}

TEST_CASE("a file that is committed is synced, and its folder") {
  const TemporaryFolder folder;
  auto sink = FileSink::Create(folder.path() / "state");
  REQUIRE(sink);
  const auto paths = SyncedBy([&] { REQUIRE(sink->Commit()); });
  CHECK(paths.size() == 2);  // the file has another name until it is whole, or none
  CHECK(paths.contains(folder.path()));
}

}  // namespace durable_folders_test
}  // namespace skald::testing
