// SPDX-License-Identifier: Apache-2.0
//
// Counts and latencies of a server, and how they are told: Prometheus' text format 0.0.4
// (prometheus.io/docs/instrumenting/exposition_formats).

#ifndef SKALD_EXAMPLES_SERVER_SERVICE_METRICS_H_
#define SKALD_EXAMPLES_SERVER_SERVICE_METRICS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace skald::serve {

// Seconds, in buckets from a millisecond to four minutes. Not safe for concurrent calls.
class Histogram {
 public:
  void Observe(double seconds);
  // `labels` are empty, or NAME="VALUE" pairs with commas between and at the end.
  void Write(std::string_view name, std::string& out, std::string_view labels = {}) const;

 private:
  static constexpr std::array<double, 17> kBounds = {0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5,
                                                     1.0,   2.5,    5.0,   10.0, 30.0,  60.0, 120, 240};
  std::array<uint64_t, kBounds.size() + 1> counts_ = {};
  double sum_ = 0.0;
};

// Safe for concurrent calls.
class Metrics {
 public:
  // An answer was given, or refused, at one of the server's paths.
  void CountRequest(const std::string& path, int status);
  // It is at its end, so many seconds after the request came.
  void CountTime(const std::string& path, double seconds);
  // It was a tenant's.
  void CountRequestOf(const std::string& tenant);
  // Tokens that a tenant's answer was computed from, and that it has.
  void CountTokensOf(const std::string& tenant, uint64_t prompt, uint64_t generated);
  // An answer of a model is at its end: seconds until its first token, between its tokens, and in all.
  void CountAnswer(double first_token, double between_tokens, double whole);

  // Appends all of it.
  void Write(std::string& out) const;

 private:
  struct TenantCounts {
    uint64_t requests = 0, prompt_tokens = 0, generated_tokens = 0;
  };
  static constexpr size_t kMostTenants = 256;  // with counts of their own

  TenantCounts& CountsOf(const std::string& tenant);
  void WriteTenants(std::string& out) const;

  mutable std::mutex mutex_;
  std::map<std::pair<std::string, int>, uint64_t> requests_;
  std::map<std::string, Histogram> times_;         // of requests, by path
  std::map<std::string, TenantCounts> by_tenant_;  // empty name: of those beyond kMostTenants together
  Histogram first_token_, between_tokens_, whole_;
};

// Names and values of labels.
using MetricLabels = std::vector<std::pair<std::string_view, std::string>>;

// Appends a gauge of value 1 for each of `all`, whose labels say what something is.
void WriteInfo(std::string_view name, std::string_view help, std::span<const MetricLabels> all, std::string& out);

// Appends one value with its type, "counter" or "gauge", and what it is.
void WriteMetric(std::string_view name, std::string_view type, std::string_view help, double value, std::string& out);

// The value that is one model's; the model is not told if its name is empty.
struct ModelValue {
  std::string model;
  double value;
};

// The same for a value of each model.
void WriteMetric(std::string_view name, std::string_view type, std::string_view help,
                 std::span<const ModelValue> values, std::string& out);

}  // namespace skald::serve

#endif  // SKALD_EXAMPLES_SERVER_SERVICE_METRICS_H_
