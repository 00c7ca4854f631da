// SPDX-License-Identifier: Apache-2.0

#include "server/service/models/machine_memory.h"

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>

#include "skald/cache/layout/runtime_config.h"

namespace skald::serve {
namespace {

namespace fs = std::filesystem;

// The number in a file of one; kUnlimited if there is none, as for "max".
uint64_t NumberIn(const fs::path& path) {
  std::ifstream file(path);
  uint64_t number = 0;
  return file >> number ? number : kUnlimited;
}

// The least of the file `name` in the folder of a group and in those around it, up to `mount`. In a container a group's
// path may be one that only its host sees; then the mount is the group.
uint64_t LeastIn(const fs::path& mount, std::string_view group, const char* name) {
  uint64_t least = NumberIn(mount / name);
  fs::path folder = mount;
  for (const fs::path& part : fs::path(group).relative_path()) {
    folder /= part;
    least = std::min(least, NumberIn(folder / name));
  }
  return least;
}

}  // namespace

uint64_t MemoryOfGroups(std::string_view groups, const fs::path& mount) {
  uint64_t least = kUnlimited;
  std::istringstream lines{std::string(groups)};
  // NUMBER:CONTROLLERS:PATH, of version 2 "0::PATH".
  for (std::string line; std::getline(lines, line);) {
    const size_t first = line.find(':');
    const size_t second = first == line.npos ? line.npos : line.find(':', first + 1);
    if (second == line.npos) continue;
    const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    const std::string path = line.substr(second + 1);
    if (controllers == ",,") least = std::min(least, LeastIn(mount, path, "memory.max"));
    if (controllers.find(",memory,") != controllers.npos) {
      least = std::min(least, LeastIn(mount / "memory", path, "memory.limit_in_bytes"));
    }
  }
  return least;
}

uint64_t MemoryOfMachine() {
  const long pages = sysconf(_SC_PHYS_PAGES), page_bytes = sysconf(_SC_PAGE_SIZE);
  uint64_t bytes = uint64_t{16} << 30;
  if (pages > 0 && page_bytes > 0) bytes = static_cast<uint64_t>(pages) * static_cast<uint64_t>(page_bytes);
  std::ifstream file("/proc/self/cgroup");
  const std::string groups{std::istreambuf_iterator<char>(file), {}};
  return std::min(bytes, MemoryOfGroups(groups, "/sys/fs/cgroup"));
}

}  // namespace skald::serve
