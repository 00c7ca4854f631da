// SPDX-License-Identifier: Apache-2.0

#include "bench/machine/memory_use.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <string_view>

#if defined(__unix__) || defined(__APPLE__)
#include <sys/resource.h>
#endif

namespace skald::program {
namespace {

// The number after `name` in "name:   123 kB", in bytes; 0 for another line.
uint64_t BytesAfter(std::string_view name, const std::string& line) {
  if (!line.starts_with(name) || line.size() <= name.size() || line[name.size()] != ':') return 0;
  return std::strtoull(line.c_str() + name.size() + 1, nullptr, 10) * 1024;
}

// "7f0000000000-7f0000200000 rw-p ...": where a mapping begins and ends.
bool ReadMapping(const std::string& line, uintptr_t& begin, uintptr_t& end) {
  unsigned long long from = 0, to = 0;
  if (std::sscanf(line.c_str(), "%llx-%llx ", &from, &to) != 2) return false;
  begin = static_cast<uintptr_t>(from);
  end = static_cast<uintptr_t>(to);
  return true;
}

uintptr_t AddressOf(const std::span<const std::byte>& array) { return reinterpret_cast<uintptr_t>(array.data()); }

// Bytes of the arrays, which ascend, between two addresses.
uint64_t BytesBetween(const std::vector<std::span<const std::byte>>& arrays, uintptr_t begin, uintptr_t end) {
  uint64_t bytes = 0;
  auto array = std::ranges::upper_bound(arrays, begin, {}, AddressOf);
  if (array != arrays.begin()) --array;
  for (; array != arrays.end() && AddressOf(*array) < end; ++array) {
    const uintptr_t from = std::max(AddressOf(*array), begin), to = std::min(AddressOf(*array) + array->size(), end);
    if (to > from) bytes += to - from;
  }
  return bytes;
}

constexpr std::array<std::string_view, 5> kHugePages = {"AnonHugePages", "FilePmdMapped", "ShmemPmdMapped",
                                                        "Shared_Hugetlb", "Private_Hugetlb"};

}  // namespace

void ForgetPeakMemory() { std::ofstream("/proc/self/clear_refs") << "5\n"; }

uint64_t PeakMemory() {
  std::ifstream file("/proc/self/status");
  for (std::string line; std::getline(file, line);) {
    if (const uint64_t bytes = BytesAfter("VmHWM", line)) return bytes;
  }
#if defined(__APPLE__)
  rusage usage = {};
  if (::getrusage(RUSAGE_SELF, &usage) == 0) return static_cast<uint64_t>(usage.ru_maxrss);
#elif defined(__unix__)
  rusage usage = {};
  if (::getrusage(RUSAGE_SELF, &usage) == 0) return static_cast<uint64_t>(usage.ru_maxrss) * 1024;
#endif
  return 0;
}

uint64_t BytesInHugePages(std::vector<std::span<const std::byte>> arrays, const std::filesystem::path& smaps) {
  std::ranges::sort(arrays, {}, AddressOf);
  std::ifstream file(smaps);
  uint64_t in_huge_pages = 0, in_mapping = 0, huge = 0;
  for (std::string line; std::getline(file, line);) {
    uintptr_t begin = 0, end = 0;
    if (ReadMapping(line, begin, end)) {
      in_huge_pages += std::min(huge, in_mapping);
      in_mapping = BytesBetween(arrays, begin, end);
      huge = 0;
    } else if (in_mapping > 0) {
      for (const std::string_view name : kHugePages) huge += BytesAfter(name, line);
    }
  }
  return in_huge_pages + std::min(huge, in_mapping);
}

}  // namespace skald::program
