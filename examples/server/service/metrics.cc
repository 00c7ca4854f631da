// SPDX-License-Identifier: Apache-2.0

#include "server/service/metrics.h"

#include <algorithm>
#include <sstream>
#include <vector>

namespace skald::serve {
namespace {

std::string Number(double value) {
  std::ostringstream text;
  text.precision(12);
  text << value;
  return text.str();
}

void WriteHead(std::string_view name, std::string_view type, std::string_view help, std::string& out) {
  for (const std::string_view part :
       {std::string_view("# HELP "), name, std::string_view(" "), help, std::string_view("\n# TYPE "), name,
        std::string_view(" "), type, std::string_view("\n")}) {
    out += part;
  }
}

// A label's value.
std::string Escaped(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '\\' || c == '"') escaped += '\\';
    escaped += c == '\n' ? ' ' : c;
  }
  return escaped;
}

}  // namespace

void WriteMetric(std::string_view name, std::string_view type, std::string_view help, double value, std::string& out) {
  WriteMetric(name, type, help, std::vector<ModelValue>{{{}, value}}, out);
}

void WriteMetric(std::string_view name, std::string_view type, std::string_view help,
                 std::span<const ModelValue> values, std::string& out) {
  WriteHead(name, type, help, out);
  for (const auto& [model, value] : values) {
    out += std::string(name) + (model.empty() ? "" : "{model=\"" + Escaped(model) + "\"}") + " " + Number(value) + "\n";
  }
}

void Histogram::Observe(double seconds) {
  ++counts_[static_cast<size_t>(std::ranges::lower_bound(kBounds, seconds) - kBounds.begin())];
  sum_ += seconds;
}

void Histogram::Write(std::string_view name, std::string& out) const {
  uint64_t sum = 0;
  for (size_t i = 0; i <= kBounds.size(); ++i) {
    sum += counts_[i];
    const std::string bound = i < kBounds.size() ? Number(kBounds[i]) : "+Inf";
    out += std::string(name) + "_bucket{le=\"" + bound + "\"} " + std::to_string(sum) + "\n";
  }
  out += std::string(name) + "_sum " + Number(sum_) + "\n" + std::string(name) + "_count " + std::to_string(sum) + "\n";
}

void Metrics::CountRequest(const std::string& path, int status) {
  const std::lock_guard lock(mutex_);
  ++requests_[{path, status}];
}

void Metrics::CountAnswer(double first_token, double between_tokens, double whole) {
  const std::lock_guard lock(mutex_);
  first_token_.Observe(first_token);
  if (between_tokens > 0.0) between_tokens_.Observe(between_tokens);
  whole_.Observe(whole);
}

void Metrics::Write(std::string& out) const {
  const std::lock_guard lock(mutex_);
  WriteHead("skald_http_requests_total", "counter", "Requests by path and status.", out);
  for (const auto& [key, count] : requests_) {
    out += "skald_http_requests_total{path=\"" + key.first + "\",status=\"" + std::to_string(key.second) + "\"} " +
           std::to_string(count) + "\n";
  }
  const std::pair<const char*, const Histogram*> histograms[] = {
      {"skald_time_to_first_token_seconds", &first_token_},
      {"skald_time_between_tokens_seconds", &between_tokens_},
      {"skald_answer_seconds", &whole_}};
  const char* const helps[] = {"From a request to its first token.", "Mean of each answer.",
                               "From a request to its end."};
  for (size_t i = 0; i < std::size(histograms); ++i) {
    WriteHead(histograms[i].first, "histogram", helps[i], out);
    histograms[i].second->Write(histograms[i].first, out);
  }
}

}  // namespace skald::serve
