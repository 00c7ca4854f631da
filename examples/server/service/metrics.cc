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

// A label's value in the text format.
std::string Quoted(std::string_view value) {
  std::string text = "\"";
  for (const char c : value) {
    if (c == '\\' || c == '"') text += '\\';
    text += c == '\n' ? "\\n" : std::string(1, c);
  }
  return text + "\"";
}

}  // namespace

void WriteInfo(std::string_view name, std::string_view help, std::span<const MetricLabels> all, std::string& out) {
  WriteHead(name, "gauge", help, out);
  for (const MetricLabels& labels : all) {
    out += std::string(name) + "{";
    for (const auto& [label, value] : labels) {
      out += (out.ends_with('{') ? "" : ",") + std::string(label) + "=" + Quoted(value);
    }
    out += "} 1\n";
  }
}

void WriteMetric(std::string_view name, std::string_view type, std::string_view help, double value, std::string& out) {
  WriteMetric(name, type, help, std::vector<ModelValue>{{{}, value}}, out);
}

void WriteMetric(std::string_view name, std::string_view type, std::string_view help,
                 std::span<const ModelValue> values, std::string& out) {
  WriteHead(name, type, help, out);
  for (const auto& [model, value] : values) {
    out += std::string(name) + (model.empty() ? "" : "{model=" + Quoted(model) + "}") + " " + Number(value) + "\n";
  }
}

void Histogram::Observe(double seconds) {
  ++counts_[static_cast<size_t>(std::ranges::lower_bound(kBounds, seconds) - kBounds.begin())];
  sum_ += seconds;
}

void Histogram::Write(std::string_view name, std::string& out, std::string_view labels) const {
  uint64_t sum = 0;
  for (size_t i = 0; i <= kBounds.size(); ++i) {
    sum += counts_[i];
    const std::string bound = i < kBounds.size() ? Number(kBounds[i]) : "+Inf";
    out += std::string(name) + "_bucket{" + std::string(labels) + "le=\"" + bound + "\"} " + std::to_string(sum) + "\n";
  }
  const std::string of = labels.empty() ? " " : "{" + std::string(labels.substr(0, labels.size() - 1)) + "} ";
  out += std::string(name) + "_sum" + of + Number(sum_) + "\n";
  out += std::string(name) + "_count" + of + std::to_string(sum) + "\n";
}

void Metrics::CountRequest(const std::string& path, int status) {
  const std::lock_guard lock(mutex_);
  ++requests_[{path, status}];
}

void Metrics::CountTime(const std::string& path, double seconds) {
  const std::lock_guard lock(mutex_);
  times_[path].Observe(seconds);
}

Metrics::TenantCounts& Metrics::CountsOf(const std::string& tenant) {
  const auto found = by_tenant_.find(tenant);
  if (found != by_tenant_.end()) return found->second;
  return by_tenant_[by_tenant_.size() < kMostTenants ? tenant : std::string()];
}

void Metrics::CountRequestOf(const std::string& tenant) {
  const std::lock_guard lock(mutex_);
  ++CountsOf(tenant).requests;
}

void Metrics::CountTokensOf(const std::string& tenant, uint64_t prompt, uint64_t generated) {
  const std::lock_guard lock(mutex_);
  TenantCounts& counts = CountsOf(tenant);
  counts.prompt_tokens += prompt;
  counts.generated_tokens += generated;
}

void Metrics::WriteTenants(std::string& out) const {
  const struct {
    const char *name, *help;
    uint64_t TenantCounts::*count;
  } values[] = {
      {"skald_tenant_requests_total", "Requests with the keys of a name; an empty one is of many names together.",
       &TenantCounts::requests},
      {"skald_tenant_prompt_tokens_total", "Tokens of its prompts.", &TenantCounts::prompt_tokens},
      {"skald_tenant_generated_tokens_total", "Tokens written for it.", &TenantCounts::generated_tokens},
  };
  if (by_tenant_.empty()) return;
  for (const auto& [name, help, count] : values) {
    WriteHead(name, "counter", help, out);
    for (const auto& [tenant, counts] : by_tenant_) {
      out += std::string(name) + "{tenant=" + Quoted(tenant) + "} " + std::to_string(counts.*count) + "\n";
    }
  }
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
  WriteHead("skald_http_request_duration_seconds", "histogram", "From a request to the end of its answer, by path.",
            out);
  for (const auto& [path, times] : times_) {
    times.Write("skald_http_request_duration_seconds", out, "path=" + Quoted(path) + ",");
  }
  WriteTenants(out);
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
