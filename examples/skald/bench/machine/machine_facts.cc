// SPDX-License-Identifier: Apache-2.0

#include "bench/machine/machine_facts.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <thread>
#include <vector>

#if defined(__APPLE__)
#include <sys/sysctl.h>
#endif

#include "bench/machine/cpus.h"

namespace skald::program {
namespace {

constexpr const char* kUnknown = "unknown";

// The first line of a small file; empty if there is none.
std::string LineOf(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

std::string Trimmed(std::string_view text) {
  const size_t begin = std::min(text.find_first_not_of(" \t"), text.size());
  text.remove_prefix(begin);
  return std::string(text.substr(0, text.find_last_not_of(" \t") + 1));
}

// "NAME : VALUE" of the first CPU in proc/cpuinfo.
std::map<std::string, std::string> FieldsOfCpuInfo(const std::filesystem::path& path) {
  std::map<std::string, std::string> fields;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    const size_t colon = line.find(':');
    if (colon != line.npos) fields.try_emplace(Trimmed(line.substr(0, colon)), Trimmed(line.substr(colon + 1)));
  }
  return fields;
}

// Arm's processors tell numbers alone. These are the parts of servers and of boards that run models.
struct ArmPart {
  unsigned implementer, part;
  const char* name;
};
constexpr std::array kArmParts = {
    ArmPart{0x41, 0xd03, "Arm Cortex-A53"},   ArmPart{0x41, 0xd05, "Arm Cortex-A55"},
    ArmPart{0x41, 0xd08, "Arm Cortex-A72"},   ArmPart{0x41, 0xd0b, "Arm Cortex-A76"},
    ArmPart{0x41, 0xd0c, "Arm Neoverse N1"},  ArmPart{0x41, 0xd40, "Arm Neoverse V1"},
    ArmPart{0x41, 0xd49, "Arm Neoverse N2"},  ArmPart{0x41, 0xd4f, "Arm Neoverse V2"},
    ArmPart{0xc0, 0xac3, "Ampere AmpereOne"}, ArmPart{0x46, 0x001, "Fujitsu A64FX"},
};

const char* ArmName(const std::string& implementer, const std::string& part) {
  const auto number = [](const std::string& text) { return std::strtoul(text.c_str(), nullptr, 0); };
  const auto found = std::ranges::find_if(kArmParts, [&](const ArmPart& known) {
    return known.implementer == number(implementer) && known.part == number(part);
  });
  return found == kArmParts.end() ? nullptr : found->name;
}

#if defined(__APPLE__)
std::string SystemValue(const char* name) {
  std::array<char, 256> text{};
  size_t size = text.size() - 1;
  return sysctlbyname(name, text.data(), &size, nullptr, 0) == 0 ? std::string(text.data()) : std::string();
}

uint64_t SystemNumber(const char* name) {
  uint64_t number = 0;  // little-endian: a shorter one fills its first bytes
  size_t size = sizeof(number);
  return sysctlbyname(name, &number, &size, nullptr, 0) == 0 ? number : 0;
}
#endif

void NameCpu(const std::filesystem::path& root, MachineFacts& facts) {
  auto fields = FieldsOfCpuInfo(root / "proc/cpuinfo");
  const std::string implementer = fields["CPU implementer"], part = fields["CPU part"];
  if (!implementer.empty()) {
    const char* const name = ArmName(implementer, part);
    facts.cpu = name != nullptr ? name : "";
    facts.cpu_family = implementer + "/" + part + "/" + fields["CPU variant"];
  } else if (!fields["vendor_id"].empty()) {
    facts.cpu_family =
        fields["vendor_id"] + " " + fields["cpu family"] + "/" + fields["model"] + "/" + fields["stepping"];
  }
  // Names of kernels for RISC-V, Power and older Arm.
  for (const char* const field : {"model name", "uarch", "cpu", "Processor"}) {
    if (facts.cpu.empty()) facts.cpu = fields[field];
  }
#if defined(__APPLE__)
  facts.cpu = SystemValue("machdep.cpu.brand_string");
#elif defined(_WIN32)
  if (const char* const name = std::getenv("PROCESSOR_IDENTIFIER")) facts.cpu = name;
#endif
}

// "32K", "480M" and the like, as sys/ writes sizes.
uint64_t BytesOfSize(const std::string& text) {
  char* end = nullptr;
  const uint64_t number = std::strtoull(text.c_str(), &end, 10);
  return *end == 'K' ? number << 10 : *end == 'M' ? number << 20 : *end == 'G' ? number << 30 : number;
}

// The caches of the highest level: CPUs that share one list each other.
uint64_t LastLevelCache(const std::filesystem::path& cpus, const std::vector<int>& online) {
  int highest = 0;
  std::map<std::string, uint64_t> caches;  // by the CPUs that share them
  for (const int cpu : online) {
    const auto folder = cpus / ("cpu" + std::to_string(cpu)) / "cache";
    for (int index = 0;; ++index) {
      const auto cache = folder / ("index" + std::to_string(index));
      const std::string level_text = LineOf(cache / "level");
      if (level_text.empty()) break;
      const int level = std::atoi(level_text.c_str());
      if (LineOf(cache / "type") == "Instruction" || level < highest) continue;
      if (level > highest) caches.clear();
      highest = level;
      caches[LineOf(cache / "shared_cpu_list")] = BytesOfSize(LineOf(cache / "size"));
    }
  }
  uint64_t bytes = 0;
  for (const auto& [shared, size] : caches) bytes += size;
  return bytes;
}

std::string Governor(const std::filesystem::path& cpus, const std::vector<int>& online) {
  std::set<std::string> governors;
  for (const int cpu : online) {
    const std::string name = LineOf(cpus / ("cpu" + std::to_string(cpu)) / "cpufreq/scaling_governor");
    if (!name.empty()) governors.insert(name);
  }
  return governors.empty() ? kUnknown : governors.size() == 1 ? *governors.begin() : "mixed";
}

// "always [madvise] never": brackets are around what holds.
std::string HugePages(const std::filesystem::path& root) {
  const std::string line = LineOf(root / "sys/kernel/mm/transparent_hugepage/enabled");
  const size_t begin = line.find('['), end = line.find(']');
  return end == line.npos || begin > end ? kUnknown : line.substr(begin + 1, end - begin - 1);
}

uint64_t MemoryOf(const std::filesystem::path& root) {
  const std::string line = LineOf(root / "proc/meminfo");  // "MemTotal:       24684084 kB"
  const std::string_view name = "MemTotal:";
  return line.starts_with(name) ? std::strtoull(line.c_str() + name.size(), nullptr, 10) * 1024 : 0;
}

}  // namespace

MachineFacts ReadMachineFacts(const std::filesystem::path& root) {
  MachineFacts facts;
  NameCpu(root, facts);
  if (facts.cpu.empty()) facts.cpu = kUnknown;
  if (facts.cpu_family.empty()) facts.cpu_family = kUnknown;
  const auto cpus = root / "sys/devices/system/cpu";
  const auto online = ParseCpuList(LineOf(cpus / "online")).value_or(std::vector<int>());
  facts.cpus = online.empty() ? std::thread::hardware_concurrency() : static_cast<uint32_t>(online.size());
  const auto nodes = ParseCpuList(LineOf(root / "sys/devices/system/node/has_cpu"));
  facts.numa_nodes = nodes ? static_cast<uint32_t>(nodes->size()) : 0;
  facts.last_level_cache = LastLevelCache(cpus, online);
  facts.memory = MemoryOf(root);
  facts.governor = Governor(cpus, online);
  facts.huge_pages = HugePages(root);
#if defined(__APPLE__)
  facts.memory = SystemNumber("hw.memsize");
  // Of Apple's own processors the fast cores' second level; what lies between it and memory is told nowhere.
  const uint64_t third = SystemNumber("hw.l3cachesize");
  facts.last_level_cache = third != 0 ? third : SystemNumber("hw.perflevel0.l2cachesize");
#endif
  return facts;
}

}  // namespace skald::program
