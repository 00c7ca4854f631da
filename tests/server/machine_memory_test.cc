// SPDX-License-Identifier: Apache-2.0

#include "server/service/models/machine_memory.h"

#include <filesystem>
#include <fstream>
#include <string>

#include "doctest/doctest.h"
#include "skald/cache/layout/runtime_config.h"
#include "tests/support/temporary_folder.h"

namespace skald::serve {
namespace machine_memory_test {

namespace fs = std::filesystem;

void Write(const fs::path& path, const std::string& text) {
  fs::create_directories(path.parent_path());
  std::ofstream(path) << text;
}

TEST_CASE("groups of version 2 limit memory, those around a process's own too") {
  const testing::TemporaryFolder folder;
  const fs::path& mount = folder.path();
  CHECK(MemoryOfGroups("0::/a/b\n", mount) == kUnlimited);
  Write(mount / "a" / "memory.max", "3000000\n");
  Write(mount / "a" / "b" / "memory.max", "max\n");
  CHECK(MemoryOfGroups("0::/a/b\n", mount) == 3000000);
  CHECK(MemoryOfGroups("0::/\n", mount) == kUnlimited);
  Write(mount / "a" / "b" / "memory.max", "2000000\n");
  CHECK(MemoryOfGroups("0::/a/b\n", mount) == 2000000);
  Write(mount / "memory.max", "1000000\n");  // the mount is the group of a container
  CHECK(MemoryOfGroups("0::/of/the/host\n", mount) == 1000000);
}

TEST_CASE("groups of version 1 limit memory") {
  const testing::TemporaryFolder folder;
  const fs::path& mount = folder.path();
  const std::string groups = "5:cpu,cpuacct:/x\n4:hugetlb,memory:/m/n\n1:name=systemd:/\n0::/\nnothing\n";
  CHECK(MemoryOfGroups(groups, mount) == kUnlimited);
  Write(mount / "memory" / "memory.limit_in_bytes", "9223372036854771712\n");
  Write(mount / "memory" / "m" / "memory.limit_in_bytes", "5000000\n");
  Write(mount / "cpu,cpuacct" / "x" / "memory.limit_in_bytes", "1\n");
  CHECK(MemoryOfGroups(groups, mount) == 5000000);
}

TEST_CASE("the machine has memory") {
  CHECK(MemoryOfMachine() > 0);
  CHECK(MemoryOfMachine() < kUnlimited);
}

}  // namespace machine_memory_test
}  // namespace skald::serve
