// SPDX-License-Identifier: Apache-2.0

#include "bench/report/bench_report.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <iostream>
#include <string_view>
#include <utility>
#include <vector>

#include "bench/report/build_facts.h"
#include "bench/report/forms.h"

namespace skald::program {
namespace {

// As std::printf, to std::cout and at once.
template <class... Values>
void PrintRow(const char* format, const Values&... values) {
  char row[512];
  std::snprintf(row, sizeof row, format, values...);
  std::cout << row << std::flush;
}

std::string Fixed(const char* format, double value) {
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), format, value);
  return text.data();
}

// "2.05 GiB".
std::string SizeText(uint64_t bytes) {
  constexpr std::array kUnits = {"B", "KiB", "MiB", "GiB", "TiB"};
  size_t unit = 0;
  auto value = static_cast<double>(bytes);
  for (; value >= 1024.0 && unit + 1 < kUnits.size(); ++unit) value /= 1024.0;
  return Fixed(unit == 0 ? "%.0f " : "%.2f ", value) + kUnits[unit];
}

// "1.10 B".
std::string CountText(uint64_t count) {
  const auto value = static_cast<double>(count);
  return value >= 1e9 ? Fixed("%.2f B", value / 1e9) : Fixed("%.2f M", value / 1e6);
}

std::string KnownSize(uint64_t bytes) { return bytes == 0 ? "unknown" : SizeText(bytes); }

// Columns of the table that are there only where their numbers are.
struct CountedColumns {
  bool counters, energy;

  std::string Head() const {
    return std::string(counters ? " instructions a cycle | cache misses a token |" : "") +
           (energy ? " J a token |" : "");
  }
  std::string Rule() const { return std::string(counters ? "---|---|" : "") + (energy ? "---|" : ""); }
  // Of a measurement that lacks them, because they could not be read for once, nothing.
  std::string Row(const Measurement& measurement) const {
    std::string row;
    if (counters) {
      const auto& counted = measurement.counts_per_token;
      row += counted ? Fixed(" %.2f |", counted->instructions / counted->cycles) : " |";
      row += counted ? Fixed(" %.0f |", counted->cache_misses) : " |";
    }
    if (energy) row += measurement.joules_per_token ? Fixed(" %.3f |", *measurement.joules_per_token) : " |";
    return row;
  }
};

CountedColumns ColumnsOf(const RunFacts& run) { return {run.counters == "read", run.energy == "read"}; }

}  // namespace

BenchReport::BenchReport(BenchOutput form, RunFacts run) : form_(form), run_(std::move(run)), columns_(WholeRecord()) {
  const auto [counters, energy] = ColumnsOf(run_);
  for (const char* const name : {"cycles_per_token", "instructions_per_token", "cache_misses_per_token"}) {
    if (!counters) columns_.erase(name);
  }
  if (!energy) columns_.erase("joules_per_token");
  json_ = {{"skald", VersionText()},  {"cpu", run_.machine.cpu},  {"cores", run_.machine.cpus},
           {"limits", Json::array()}, {"traffic", Json::array()}, {"rows", Json::array()}};
}

Result<BenchReport> BenchReport::Begin(const BenchOptions& options, RunFacts run) {
  BenchReport report(options.output, std::move(run));
  if (!options.json.empty()) {
    SKALD_ASSIGN(auto file, OutputFile::Open(options.json));
    report.json_file_ = std::move(file);
  }
  if (!options.record.empty()) {
    SKALD_ASSIGN(auto file, OutputFile::Open(options.record));
    report.record_file_ = std::move(file);
  }
  report.PrintHead();
  return report;
}

void BenchReport::PrintHead() const {
  const CountedColumns counted = ColumnsOf(run_);
  switch (form_) {
    case BenchOutput::kMarkdown:
      std::cout << "| model | weights | SIMD | threads | test | tokens/s | spread | of the limit |" << counted.Head()
                << "\n|---|---|---|---|---|---|---|---|" << counted.Rule() << "\n";
      break;
    case BenchOutput::kCsv:
      std::cout << CsvHead(columns_);
      break;
    case BenchOutput::kSql:
      std::cout << SqlHead(WholeRecord());
      break;
    case BenchOutput::kJson:
      std::cout << '\n';  // a disk without room shows now
      break;
    case BenchOutput::kJsonLines:
      break;
  }
  std::cout << std::flush;
}

void BenchReport::AddLimits(const std::string& simd, uint32_t threads, const MachineLimits& limits) {
  json_["limits"].push_back({{"simd", simd},
                             {"threads", threads},
                             {"read_bytes_per_second", limits.read_bytes},
                             {"f32_flops", limits.f32_flops},
                             {"bf16_flops", limits.bf16_flops},
                             {"int8_ops", limits.int8_ops}});
}

Result<void> BenchReport::Add(const BenchSetting& setting, const BenchCase& bench_case,
                              const Measurement& measurement) {
  Json record = RecordOf(run_, setting, bench_case, measurement);
  if (form_ == BenchOutput::kMarkdown) {
    const std::string share = measurement.weights_fit_cache
                                  ? "weights fit the cache"
                                  : Fixed("%.0f %%", 100.0 * measurement.Median() / measurement.limit);
    const std::string weights(skald::NameOf(setting.weight_type));
    PrintRow("| %s | %s | %s | %u | %s | %.2f | %.1f %% | %s |%s\n", setting.model.c_str(), weights.c_str(),
             setting.simd.c_str(), bench_case.threads, NameOf(bench_case).c_str(), measurement.Median(),
             100.0 * measurement.Spread(), share.c_str(), ColumnsOf(run_).Row(measurement).c_str());
  } else if (form_ != BenchOutput::kJson) {
    std::cout << (form_ == BenchOutput::kCsv   ? CsvRow(columns_, record)
                  : form_ == BenchOutput::kSql ? SqlRow(record)
                                               : JsonLine(record))
              << std::flush;
  }
  if (record_file_) {
    SKALD_TRY(record_file_->Append(JsonLine(record)));
  }
  json_["rows"].push_back(std::move(record));
  return {};
}

void BenchReport::AddTraffic(size_t ranks, const BenchCase& bench_case, const Measurement& measurement) {
  json_["traffic"].push_back({{"ranks", ranks},
                              {"test", NameOf(bench_case)},
                              {"exchanges_per_token", measurement.exchanges_per_token},
                              {"sent_bytes_per_token", measurement.sent_per_token},
                              {"waiting", measurement.waiting}});
}

Result<void> BenchReport::Finish() {
  if (form_ == BenchOutput::kMarkdown) {
    PrintModels();
    PrintMachine();
    PrintLimits();
    PrintTraffic();
  }
  const std::string document = json_.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
  if (form_ == BenchOutput::kJson) std::cout << document << std::flush;
  return json_file_ ? json_file_->Replace(document) : Result<void>();
}

void BenchReport::PrintModels() const {
  struct Model {
    std::string name, weights;
    uint64_t bytes, parameters, huge, peak;
  };
  std::vector<Model> models;
  for (const Json& row : json_["rows"]) {
    const auto number = [&row](const char* name) { return row[name].get<uint64_t>(); };
    Model model = {row["model"], row["weights"], number("model_bytes"), number("parameters"), 0, 0};
    auto found = std::ranges::find_if(models, [&](const Model& other) {
      return other.name == model.name && other.weights == model.weights && other.bytes == model.bytes;
    });
    if (found == models.end()) found = models.insert(found, std::move(model));
    found->huge = std::max(found->huge, number("weights_in_huge_pages_bytes"));
    found->peak = std::max(found->peak, number("peak_memory_bytes"));
  }
  if (models.empty()) return;
  std::cout << "\n| model, weights | size | parameters | in huge pages | peak memory |\n|---|---|---|---|---|\n";
  for (const Model& model : models) {
    const double huge = static_cast<double>(model.huge) / static_cast<double>(std::max<uint64_t>(model.bytes, 1));
    PrintRow("| %s, %s | %s | %s | %.0f %% | %s |\n", model.name.c_str(), model.weights.c_str(),
             SizeText(model.bytes).c_str(), CountText(model.parameters).c_str(), 100.0 * huge,
             KnownSize(model.peak).c_str());
  }
}

void BenchReport::PrintMachine() const {
  const MachineFacts& machine = run_.machine;
  const std::string load = run_.load ? Fixed("%.2f", *run_.load) : "unknown";
  const std::string nodes = machine.numa_nodes == 0 ? "unknown" : std::to_string(machine.numa_nodes);
  const Json& date = json_["rows"].empty() ? Json("unknown") : json_["rows"].front()["date"];
  std::cout << "\n| machine | |\n|---|---|\n"
            << "| CPU | " << machine.cpu << " (" << machine.cpu_family << ") |\n"
            << "| CPUs, NUMA nodes | " << machine.cpus << ", " << nodes << " |\n"
            << "| last-level cache, memory | " << KnownSize(machine.last_level_cache) << ", "
            << KnownSize(machine.memory) << " |\n"
            << "| governor | " << machine.governor << " |\n"
            << "| transparent huge pages | " << machine.huge_pages << " |\n"
            << "| load at the start | " << load << " |\n"
            << "| threads keep to CPUs | " << (run_.pinned.empty() ? "any" : run_.pinned) << " |\n"
            << "| hardware counters, energy | " << run_.counters << ", " << run_.energy << " |\n"
            << "| skald | " << VersionText() << ", commit " << CommitText() << ", " << CompilerText() << " |\n"
            << "| date | " << date.get<std::string>() << " |\n";
}

void BenchReport::PrintLimits() const {
  std::cout << "\n| SIMD | threads | read GB/s | F32 GFLOP/s | BF16 GFLOP/s | INT8 GOP/s |\n"
               "|---|---|---|---|---|---|\n";
  for (const auto& row : json_["limits"]) {
    const auto giga = [&row](const char* name) { return row[name].get<double>() / 1e9; };
    PrintRow("| %s | %u | %.1f | %.0f | %.0f | %.0f |\n", row["simd"].get<std::string>().c_str(),
             row["threads"].get<uint32_t>(), giga("read_bytes_per_second"), giga("f32_flops"), giga("bf16_flops"),
             giga("int8_ops"));
  }
}

void BenchReport::PrintTraffic() const {
  if (json_["traffic"].empty()) return;
  std::cout << "\n| ranks | test | exchanges a token | KB that rank 0 sends a token | of the time in exchanges |\n"
               "|---|---|---|---|---|\n";
  for (const auto& row : json_["traffic"]) {
    PrintRow("| %zu | %s | %.2f | %.1f | %.0f %% |\n", row["ranks"].get<size_t>(),
             row["test"].get<std::string>().c_str(), row["exchanges_per_token"].get<double>(),
             row["sent_bytes_per_token"].get<double>() / 1e3, 100.0 * row["waiting"].get<double>());
  }
}

}  // namespace skald::program
