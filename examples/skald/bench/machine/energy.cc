// SPDX-License-Identifier: Apache-2.0

#include "bench/machine/energy.h"

#include <fstream>
#include <set>
#include <system_error>

namespace skald::program {
namespace {

std::optional<uint64_t> NumberIn(const std::filesystem::path& path) {
  std::ifstream file(path);
  uint64_t number = 0;
  return file >> number ? std::optional(number) : std::nullopt;
}

std::string NameIn(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::string name;
  std::getline(file, name);
  return name;
}

}  // namespace

EnergyMeter::EnergyMeter(const std::filesystem::path& root) : state_("missing") {
  std::error_code ignored;
  std::set<std::string> names;  // two drivers may tell of one package
  for (std::filesystem::directory_iterator zone(root / "sys/class/powercap", ignored), end; zone != end;
       zone.increment(ignored)) {
    const std::string name = NameIn(zone->path() / "name");
    if (!name.starts_with("package") || !names.insert(name).second) continue;
    const auto file = zone->path() / "energy_uj";
    const auto value = NumberIn(file);
    if (!value) {
      state_ = "refused";
      zones_.clear();
      return;
    }
    zones_.push_back({file, NumberIn(zone->path() / "max_energy_range_uj").value_or(0), *value});
    state_ = "read";
  }
}

std::optional<double> EnergyMeter::Joules() {
  if (zones_.empty()) return std::nullopt;
  double microjoules = 0;
  for (Zone& zone : zones_) {
    const auto value = NumberIn(zone.file);
    if (!value) return std::nullopt;
    const uint64_t since = *value >= zone.last ? *value - zone.last : *value + zone.range - zone.last;
    microjoules += static_cast<double>(since);
    zone.last = *value;
  }
  return microjoules / 1e6;
}

}  // namespace skald::program
