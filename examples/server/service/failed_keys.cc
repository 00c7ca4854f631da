// SPDX-License-Identifier: Apache-2.0

#include "server/service/failed_keys.h"

#include <algorithm>

namespace skald::serve {

FailedKeys::Client& FailedKeys::Find(const std::string& name, Clock::time_point now) {
  if (const auto found = by_name_.find(name); found != by_name_.end()) {
    clients_.splice(clients_.begin(), clients_, found->second);
  } else {
    clients_.push_front({name});
    by_name_[name] = clients_.begin();
    if (clients_.size() > kMostClients) {
      by_name_.erase(clients_.back().name);
      clients_.pop_back();
    }
  }
  Client& client = clients_.front();
  const double seconds = std::chrono::duration<double>(now - client.counted).count();
  client.failures = std::max(0.0, client.failures - seconds * most_ / kMinute);
  client.counted = now;
  return client;
}

bool FailedKeys::Admit(const std::string& name, std::optional<std::string_view> owner, Clock::time_point now) {
  const std::lock_guard lock(mutex_);
  Client& client = Find(name, now);
  const bool is_known = owner && std::ranges::find(client.owners, *owner) != client.owners.end();
  if (client.failures + 1 > most_) return is_known;
  if (!owner) client.failures += 1;
  if (owner && !is_known && client.owners.size() < kMostOwners) client.owners.emplace_back(*owner);
  return true;
}

}  // namespace skald::serve
