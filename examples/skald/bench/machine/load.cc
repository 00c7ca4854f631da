// SPDX-License-Identifier: Apache-2.0

#include "bench/machine/load.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <string>

#if defined(__unix__) || defined(__APPLE__)
#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>
#endif

namespace skald::program {

#if defined(__unix__) || defined(__APPLE__)

std::optional<double> LoadAverage() {
  double load = 0;
  return getloadavg(&load, 1) == 1 ? std::optional(load) : std::nullopt;
}

std::optional<OtherLoad::Times> OtherLoad::Read() const {
  std::ifstream file(file_);
  std::string name;
  // Guests are part of the first two.
  double user = 0, nice = 0, system = 0, idle = 0, waiting = 0, interrupts = 0, soft = 0, stolen = 0;
  if (!(file >> name >> user >> nice >> system >> idle >> waiting >> interrupts >> soft >> stolen)) return std::nullopt;
  const double ticks = static_cast<double>(::sysconf(_SC_CLK_TCK));
  rusage usage = {};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  const std::chrono::duration<double> clock = std::chrono::steady_clock::now().time_since_epoch();
  return Times{(user + nice + system + interrupts + soft + stolen) / ticks,
               seconds(usage.ru_utime) + seconds(usage.ru_stime), clock.count()};
}

#else

std::optional<double> LoadAverage() { return std::nullopt; }
std::optional<OtherLoad::Times> OtherLoad::Read() const { return std::nullopt; }

#endif

OtherLoad::OtherLoad(const std::filesystem::path& root) : file_(root / "proc/stat"), begin_(Read()) {}

std::optional<double> OtherLoad::Cpus() const {
  const auto end = Read();
  if (!begin_ || !end) return std::nullopt;
  const double passed = end->clock - begin_->clock;
  // The kernel counts in hundredths of a second, too coarse for anything shorter.
  if (passed < 0.1) return std::nullopt;
  const double all = end->all - begin_->all;
  if (all <= 0.0) return std::nullopt;  // some containers count nothing, though this process ran
  return std::max(0.0, (all - (end->own - begin_->own)) / passed);
}

}  // namespace skald::program
