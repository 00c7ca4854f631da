// SPDX-License-Identifier: Apache-2.0
//
// The facts of a machine that `skald bench` tells, read from folders as Linux would have them on machines of several
// sorts.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <span>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#if defined(__linux__) && __has_include(<linux/perf_event.h>)
#include <linux/perf_event.h>
#endif

#include "bench/machine/counters.h"
#include "bench/machine/cpus.h"
#include "bench/machine/energy.h"
#include "bench/machine/load.h"
#include "bench/machine/machine_facts.h"
#include "bench/machine/memory_use.h"
#include "doctest/doctest.h"
#include "tests/support/temporary_folder.h"

namespace skald::testing {
namespace machine_test {

using namespace skald::program;

class Machine {
 public:
  const std::filesystem::path& root() const { return folder_.path(); }

  void Write(const std::string& file, const std::string& text) const {
    const auto path = root() / file;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text;
  }

 private:
  TemporaryFolder folder_;
};

std::vector<int> Numbers(const char* text) { return ParseCpuList(text).value_or(std::vector<int>{-1}); }

TEST_CASE("lists of CPUs are those of taskset") {
  CHECK(Numbers("3") == std::vector{3});
  CHECK(Numbers("0-3,8") == std::vector{0, 1, 2, 3, 8});
  CHECK(Numbers("8,0-6:2,2") == std::vector{0, 2, 4, 6, 8});
  for (const char* const text :
       {"", ",", "1,", "-1", "3-1", "0-", "a", "1 2", "0-4:0", "0-4:", "99999", "0-9999999999"}) {
    CAPTURE(text);
    CHECK_FALSE(ParseCpuList(text));
  }
  CHECK(CpuListText(std::vector{0, 1, 2, 3, 8}) == "0-3,8");
  CHECK(CpuListText(std::vector{0, 1, 5}) == "0,1,5");
  CHECK(CpuListText({}).empty());
}

TEST_CASE("NUMA nodes are lists of CPUs, and those that are not there are named") {
  const Machine machine;
  machine.Write("sys/devices/system/node/online", "0-1\n");
  machine.Write("sys/devices/system/node/node0/cpulist", "0-1,4-5\n");
  machine.Write("sys/devices/system/node/node1/cpulist", "2-3,6-7\n");
  CHECK(*CpusOfNodes(std::vector{1}, machine.root()) == std::vector{2, 3, 6, 7});
  CHECK(CpusOfNodes(std::vector{0, 1}, machine.root())->size() == 8);
  const auto missing = CpusOfNodes(std::vector{0, 2}, machine.root());
  REQUIRE_FALSE(missing);
  CHECK(missing.error().message == "there is no NUMA node 2 with CPUs here, only 0-1");
}

TEST_CASE("a server of two packages") {
  const Machine machine;
  machine.Write(
      "proc/cpuinfo",
      "processor\t: 0\nvendor_id\t: AuthenticAMD\ncpu family\t: 25\nmodel\t\t: 17\n"
      "model name\t: AMD EPYC 9354 32-Core Processor\nstepping\t: 1\n\nprocessor\t: 1\nmodel name\t: other\n");
  machine.Write("proc/meminfo", "MemTotal:       1024 kB\nMemFree: 1 kB\n");
  machine.Write("sys/devices/system/cpu/online", "0-3\n");
  machine.Write("sys/devices/system/node/has_cpu", "0-1\n");
  machine.Write("sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n");
  for (int cpu = 0; cpu < 4; ++cpu) {
    const std::string folder = "sys/devices/system/cpu/cpu" + std::to_string(cpu);
    machine.Write(folder + "/cpufreq/scaling_governor", cpu == 3 ? "powersave\n" : "performance\n");
    machine.Write(folder + "/cache/index0/level", "1\n");
    machine.Write(folder + "/cache/index0/size", "32K\n");
    machine.Write(folder + "/cache/index0/shared_cpu_list", std::to_string(cpu) + "\n");
    machine.Write(folder + "/cache/index1/level", "3\n");
    machine.Write(folder + "/cache/index1/size", "32768K\n");
    machine.Write(folder + "/cache/index1/shared_cpu_list", cpu < 2 ? "0-1\n" : "2-3\n");
  }
  const MachineFacts facts = ReadMachineFacts(machine.root());
  CHECK(facts.cpu == "AMD EPYC 9354 32-Core Processor");
  CHECK(facts.cpu_family == "AuthenticAMD 25/17/1");
  CHECK(facts.cpus == 4);
  CHECK(facts.numa_nodes == 2);
  CHECK(facts.last_level_cache == uint64_t{2} << 25);  // two of them
  CHECK(facts.memory == 1 << 20);
  CHECK(facts.governor == "mixed");
  CHECK(facts.huge_pages == "madvise");
}

TEST_CASE("processors of Arm have numbers for names") {
  const Machine machine;
  machine.Write("proc/cpuinfo", "processor\t: 0\nCPU implementer\t: 0x41\nCPU variant\t: 0x0\nCPU part\t: 0xd4f\n");
  CHECK(ReadMachineFacts(machine.root()).cpu == "Arm Neoverse V2");
  CHECK(ReadMachineFacts(machine.root()).cpu_family == "0x41/0xd4f/0x0");
}

TEST_CASE("a system that tells nothing is unknown") {
  const Machine machine;
  const MachineFacts facts = ReadMachineFacts(machine.root());
  CHECK(facts.cpu_family == "unknown");
  CHECK(facts.governor == "unknown");
  CHECK(facts.huge_pages == "unknown");
  CHECK(facts.last_level_cache == 0);
  CHECK(facts.cpus >= 1);
  CHECK_FALSE(OtherLoad(machine.root()).Cpus());
}

TEST_CASE("energy is that of all packages, across the end of their counters") {
  const Machine machine;
  CHECK(EnergyMeter(machine.root()).state() == "missing");
  const auto count = [&machine](int package, const char* microjoules) {
    const std::string zone = "sys/class/powercap/intel-rapl:" + std::to_string(package);
    machine.Write(zone + "/name", "package-" + std::to_string(package) + "\n");
    machine.Write(zone + "/max_energy_range_uj", "10000000\n");
    machine.Write(zone + "/energy_uj", microjoules);
  };
  machine.Write("sys/class/powercap/intel-rapl:0:0/name", "core\n");
  machine.Write("sys/class/powercap/intel-rapl:0:0/energy_uj", "7\n");
  count(0, "1000000\n");
  count(1, "9000000\n");
  EnergyMeter meter(machine.root());
  CHECK(meter.state() == "read");
  count(0, "3000000\n");
  count(1, "500000\n");
  CHECK(*meter.Joules() == doctest::Approx(2.0 + 1.5));
  CHECK(*meter.Joules() == 0.0);
  std::filesystem::remove(machine.root() / "sys/class/powercap/intel-rapl:1/energy_uj");
  CHECK(EnergyMeter(machine.root()).state() == "refused");
  CHECK_FALSE(EnergyMeter(machine.root()).Joules());
}

TEST_CASE("huge pages count as far as arrays lie in their mappings") {
  const Machine machine;
  const std::vector<std::byte> memory(4096);
  const auto begin = reinterpret_cast<uintptr_t>(memory.data());
  std::ostringstream smaps;
  smaps << std::hex << begin << "-" << begin + 4096 << " rw-p 00000000 00:00 0\n"
        << "Rss: 4 kB\nAnonHugePages:  1 kB\nFilePmdMapped: 1 kB\n"
        << begin + 4096 << "-" << begin + 8192 << " rw-p 00000000 00:00 0\nAnonHugePages: 4 kB\n";
  machine.Write("smaps", smaps.str());
  const std::span<const std::byte> all(memory);
  CHECK(BytesInHugePages({all}, machine.root() / "smaps") == 2048);
  CHECK(BytesInHugePages({all.subspan(3000), all.first(1000)}, machine.root() / "smaps") == 2048);
  CHECK(BytesInHugePages({all.first(1000)}, machine.root() / "smaps") == 1000);
  CHECK(BytesInHugePages({all}, machine.root() / "missing") == 0);
}

#if defined(__linux__)

TEST_CASE("threads keep to a CPU that is there") {
  const std::vector<int> before = CpusOfThread();
  REQUIRE_FALSE(before.empty());
  REQUIRE(KeepToCpus(std::vector{before.back()}));
  CHECK(CpusOfThread() == std::vector{before.back()});
  REQUIRE(KeepToCpus(before));
  const auto missing = KeepToCpus(std::vector{before.front(), 8000});
  REQUIRE_FALSE(missing);
  CHECK(missing.error().message.starts_with("there is no CPU 8000 here, only "));
  CHECK(CpusOfThread() == before);
}

TEST_CASE("the peak of memory can be forgotten") {
  const uint64_t before = PeakMemory();
  CHECK(before > 0);
  { const std::vector<char> large(64 << 20, 1); }
  CHECK(PeakMemory() >= before + (32 << 20));
  if (!std::ofstream("/proc/self/clear_refs")) {
    MESSAGE("SKIPPED: this system cannot forget it");
    return;
  }
  ForgetPeakMemory();
  CHECK(PeakMemory() < before + (32 << 20));
}

#if __has_include(<linux/perf_event.h>)

// Hardware may be out of reach here, software's events hardly ever are.
TEST_CASE("counters count, or a word says why not") {
  constexpr CounterEvent kTime = {PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK};
  const HardwareCounters time(std::span(&kTime, 1));
  if (!time.are_there()) {
    CHECK((time.state() == "refused" || time.state() == "unsupported"));
    MESSAGE("SKIPPED: this system lets nothing be counted");
    return;
  }
  const double before = time.Read()->front();
  std::thread([] {
    volatile int steps = 0;
    while (steps < 50'000'000) steps = steps + 1;
  }).join();
  CHECK(time.Read()->front() > before + 5e6);  // nanoseconds, of a thread that was started meanwhile
  const HardwareCounters counters;
  CHECK(counters.are_there() == (counters.state() == "read"));
}

#endif

#endif

}  // namespace machine_test
}  // namespace skald::testing
