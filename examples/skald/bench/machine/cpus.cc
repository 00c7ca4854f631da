// SPDX-License-Identifier: Apache-2.0

#include "bench/machine/cpus.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <fstream>
#include <memory>
#include <system_error>

#if defined(__linux__)
#include <sched.h>
#endif

#include "skald/base/files/system_call.h"

namespace skald::program {
namespace {

constexpr int kMostCpus = 8192;  // more than any kernel is built for

std::string FirstLine(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

// Sorts, and drops repetitions.
void MakeAscending(std::vector<int>& cpus) {
  std::ranges::sort(cpus);
  cpus.erase(std::unique(cpus.begin(), cpus.end()), cpus.end());
}

std::optional<int> ReadNumber(std::string_view& text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || value < 0 || value >= kMostCpus) return std::nullopt;
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  return value;
}

// Takes `mark` and the number after it off the text; without the mark the number is `otherwise`.
std::optional<int> ReadNumberAfter(char mark, int otherwise, std::string_view& text) {
  if (!text.starts_with(mark)) return otherwise;
  text.remove_prefix(1);
  return ReadNumber(text);
}

// Appends "3", "0-3" or "0-6:2". Returns false if the text begins with none of them.
bool ReadRange(std::string_view& text, std::vector<int>& cpus) {
  const auto first = ReadNumber(text);
  if (!first) return false;
  const auto last = ReadNumberAfter('-', *first, text);
  if (!last || *last < *first) return false;
  const auto step = ReadNumberAfter(':', 1, text);
  if (!step || *step < 1) return false;
  for (int cpu = *first; cpu <= *last; cpu += *step) cpus.push_back(cpu);
  return true;
}

}  // namespace

std::optional<std::vector<int>> ParseCpuList(std::string_view text) {
  std::vector<int> cpus;
  for (;;) {
    if (!ReadRange(text, cpus)) return std::nullopt;
    if (text.empty()) break;
    if (text.front() != ',') return std::nullopt;
    text.remove_prefix(1);
  }
  MakeAscending(cpus);
  return cpus;
}

std::string CpuListText(std::span<const int> cpus) {
  std::string text;
  for (size_t begin = 0; begin < cpus.size();) {
    size_t end = begin + 1;
    while (end < cpus.size() && cpus[end] == cpus[end - 1] + 1) ++end;
    text += (text.empty() ? "" : ",") + std::to_string(cpus[begin]);
    if (end - begin > 1) text += (end - begin > 2 ? "-" : ",") + std::to_string(cpus[end - 1]);
    begin = end;
  }
  return text;
}

Result<std::vector<int>> CpusOfNodes(std::span<const int> nodes, const std::filesystem::path& root) {
  const auto folder = root / "sys/devices/system/node";
  std::vector<int> cpus;
  for (const int node : nodes) {
    const auto own = ParseCpuList(FirstLine(folder / ("node" + std::to_string(node)) / "cpulist"));
    if (!own) {
      const std::string there = FirstLine(folder / "online");
      return Fail(ErrorCode::kNotFound, "there is no NUMA node " + std::to_string(node) + " with CPUs here" +
                                            (there.empty() ? "" : ", only " + there));
    }
    cpus.insert(cpus.end(), own->begin(), own->end());
  }
  MakeAscending(cpus);
  return cpus;
}

#if defined(__linux__)

namespace {

// A set with room for kMostCpus, which the system's own type lacks.
class CpuSet {
 public:
  CpuSet() : set_(CPU_ALLOC(kMostCpus)) { CPU_ZERO_S(kBytes, set_.get()); }

  void Add(int cpu) { CPU_SET_S(static_cast<size_t>(cpu), kBytes, set_.get()); }
  bool Has(int cpu) const { return CPU_ISSET_S(static_cast<size_t>(cpu), kBytes, set_.get()); }
  bool Get() { return sched_getaffinity(0, kBytes, set_.get()) == 0; }
  bool Use() const { return sched_setaffinity(0, kBytes, set_.get()) == 0; }

 private:
  struct Free {
    void operator()(cpu_set_t* set) const { CPU_FREE(set); }
  };
  static inline const size_t kBytes = CPU_ALLOC_SIZE(kMostCpus);
  std::unique_ptr<cpu_set_t, Free> set_;
};

}  // namespace

std::vector<int> CpusOfThread() {
  CpuSet set;
  std::vector<int> cpus;
  if (!set.Get()) return cpus;
  for (int cpu = 0; cpu < kMostCpus; ++cpu) {
    if (set.Has(cpu)) cpus.push_back(cpu);
  }
  return cpus;
}

Result<void> KeepToCpus(std::span<const int> cpus) {
  const std::string online = FirstLine("/sys/devices/system/cpu/online");
  const auto there = ParseCpuList(online);
  CpuSet wanted;
  for (const int cpu : cpus) {
    if (there && !std::ranges::binary_search(*there, cpu)) {
      return Fail(ErrorCode::kNotFound, "there is no CPU " + std::to_string(cpu) + " here, only " + online);
    }
    wanted.Add(cpu);
  }
  // The system leaves out those that a container forbids, and refuses only if no CPU is left.
  const bool is_used = wanted.Use();
  CpuSet given;
  given.Get();
  for (const int cpu : cpus) {
    if (is_used && given.Has(cpu)) continue;
    return Fail(ErrorCode::kFailedPrecondition,
                "this process may not use CPU " + std::to_string(cpu) + ", only " + CpuListText(CpusOfThread()));
  }
  return {};
}

#else

std::vector<int> CpusOfThread() { return {}; }

Result<void> KeepToCpus(std::span<const int>) {
  return Fail(ErrorCode::kUnsupported, "this system has no way to keep threads to CPUs");
}

#endif

}  // namespace skald::program
