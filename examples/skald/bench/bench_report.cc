// SPDX-License-Identifier: Apache-2.0

#include "bench/bench_report.h"

#include <cstdio>
#include <fstream>
#include <iostream>
#include <string>
#include <string_view>
#include <thread>

#include "skald/base/version.h"
#include "skald/cache/layout/runtime_config.h"

namespace skald::program {
namespace {

// As Linux names it.
std::string CpuName() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const size_t colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) return line.substr(colon + 2);
  }
  return "unknown";
}

std::string VersionText() {
  return std::to_string(SKALD_VERSION_MAJOR) + "." + std::to_string(SKALD_VERSION_MINOR) + "." +
         std::to_string(SKALD_VERSION_PATCH);
}

// "pp512", "tg64 @ 2048", "tg64 x 16": what is computed, after how many tokens, for how many sequences.
std::string NameOf(const BenchCase& bench_case) {
  std::string name = (bench_case.is_prefill ? "pp" : "tg") + std::to_string(bench_case.tokens);
  if (bench_case.depth != 0) name += " @ " + std::to_string(bench_case.depth);
  if (bench_case.sequences != 1) name += " x " + std::to_string(bench_case.sequences);
  if (bench_case.kv_type != RuntimeConfig().kv_type)
    name += ", cache " + std::string(skald::NameOf(bench_case.kv_type));
  return name;
}

// As std::printf, to std::cout and at once.
template <class... Values>
void PrintRow(const char* format, const Values&... values) {
  char row[512];
  std::snprintf(row, sizeof row, format, values...);
  std::cout << row << std::flush;
}

}  // namespace

BenchReport::BenchReport() {
  json_ = {{"skald", VersionText()},
           {"cpu", CpuName()},
           {"cores", std::thread::hardware_concurrency()},
           {"limits", nlohmann::ordered_json::array()},
           {"traffic", nlohmann::ordered_json::array()},
           {"rows", nlohmann::ordered_json::array()}};
  std::cout << "| model | weights | SIMD | threads | test | tokens/s | spread | of the limit |\n"
               "|---|---|---|---|---|---|---|---|\n";
}

void BenchReport::AddLimits(const std::string& simd, uint32_t threads, const MachineLimits& limits) {
  json_["limits"].push_back({{"simd", simd},
                             {"threads", threads},
                             {"read_bytes_per_second", limits.read_bytes},
                             {"f32_flops", limits.f32_flops},
                             {"bf16_flops", limits.bf16_flops},
                             {"int8_ops", limits.int8_ops}});
}

void BenchReport::Add(const BenchSetting& setting, const BenchCase& bench_case, const Measurement& measurement) {
  const std::string weights(skald::NameOf(setting.weight_type));
  const double rate = measurement.Median(), share = rate / measurement.limit;
  PrintRow("| %s | %s | %s | %u | %s | %.2f | %.1f %% | %.0f %% |\n", setting.model.c_str(), weights.c_str(),
           setting.simd.c_str(), bench_case.threads, NameOf(bench_case).c_str(), rate, 100.0 * measurement.Spread(),
           100.0 * share);
  json_["rows"].push_back({{"model", setting.model},
                           {"weights", weights},
                           {"simd", setting.simd},
                           {"threads", bench_case.threads},
                           {"test", bench_case.is_prefill ? "prefill" : "decode"},
                           {"tokens", bench_case.tokens},
                           {"depth", bench_case.depth},
                           {"sequences", bench_case.sequences},
                           {"kv_type", skald::NameOf(bench_case.kv_type)},
                           {"tokens_per_second", rate},
                           {"spread", measurement.Spread()},
                           {"limit_tokens_per_second", measurement.limit},
                           {"bytes_per_token", measurement.bytes_per_token},
                           {"samples", measurement.rates}});
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

void BenchReport::AddTraffic(size_t ranks, const BenchCase& bench_case, const Measurement& measurement) {
  json_["traffic"].push_back({{"ranks", ranks},
                              {"test", NameOf(bench_case)},
                              {"exchanges_per_token", measurement.exchanges_per_token},
                              {"sent_bytes_per_token", measurement.sent_per_token},
                              {"waiting", measurement.waiting}});
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

Result<void> BenchReport::WriteJson(const std::filesystem::path& path) const {
  std::ofstream file(path);
  file << json_.dump(1, ' ', false, nlohmann::json::error_handler_t::replace) << '\n';
  if (file.flush()) return {};
  return Fail(ErrorCode::kFailedPrecondition, path.string() + ": cannot be written");
}

}  // namespace skald::program
