// SPDX-License-Identifier: Apache-2.0
//
// The parts of a request that are not done. They are told in the answer as skald.ignored, and in the log, once for each
// field.

#ifndef SKALD_EXAMPLES_SERVER_API_FIELDS_REQUEST_NOTES_H_
#define SKALD_EXAMPLES_SERVER_API_FIELDS_REQUEST_NOTES_H_

#include <algorithm>
#include <cstddef>
#include <functional>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace skald::serve {

// How the server treats fields that it does not know. Safe for concurrent calls.
class FieldPolicy {
 public:
  // `tell` writes a line of the log.
  explicit FieldPolicy(bool is_strict, std::function<void(const std::string&)> tell = {})
      : is_strict_(is_strict), tell_(std::move(tell)) {}

  // Whether unknown fields are refused.
  bool is_strict() const { return is_strict_; }

  // Writes to the log that a field is ignored, unless it was told before, or very many were.
  void Tell(const std::string& path) {
    constexpr size_t kMostTold = 256;
    std::string field;  // without the places in lists
    for (size_t i = 0; i < path.size(); ++i) {
      if (path[i] == '[') i = std::min(path.find(']', i), path.size() - 1);
      if (path[i] != ']') field += path[i];
    }
    {
      const std::lock_guard lock(mutex_);
      if (told_.size() >= kMostTold || !told_.insert(field).second) return;
    }
    if (tell_) tell_("requests have '" + field + "', which this server ignores; that is told once");
  }

 private:
  const bool is_strict_;
  const std::function<void(const std::string&)> tell_;
  std::mutex mutex_;
  std::set<std::string> told_;  // guarded by mutex_
};

// Of one request. For one thread at a time.
class RequestNotes {
 public:
  // `policy` must outlive this.
  explicit RequestNotes(FieldPolicy& policy) : policy_(&policy) {}

  bool is_strict() const { return policy_->is_strict(); }

  // Of very many not all are kept.
  void AddIgnored(std::string path) {
    constexpr size_t kMostIgnored = 64, kMostBytes = 200;
    if (ignored_.size() >= kMostIgnored) return;
    if (path.size() > kMostBytes) path.resize(kMostBytes);
    policy_->Tell(path);
    ignored_.push_back(std::move(path));
  }
  const std::vector<std::string>& ignored() const { return ignored_; }

 private:
  FieldPolicy* policy_;
  std::vector<std::string> ignored_;
};

}  // namespace skald::serve

#endif  // SKALD_EXAMPLES_SERVER_API_FIELDS_REQUEST_NOTES_H_
