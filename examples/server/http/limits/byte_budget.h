// SPDX-License-Identifier: Apache-2.0
//
// ByteBudget: the memory that the bodies of all requests may take together, and those of one client.

#ifndef SKALD_EXAMPLES_SERVER_HTTP_LIMITS_BYTE_BUDGET_H_
#define SKALD_EXAMPLES_SERVER_HTTP_LIMITS_BYTE_BUDGET_H_

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

namespace skald::serve {

// Safe for concurrent calls.
class ByteBudget {
 public:
  // So many bytes of every body are not counted, so that small requests are answered whatever large ones take. The
  // number of small ones is limited by that of the connections.
  static constexpr uint64_t kFree = uint64_t{64} << 10;

  ByteBudget(uint64_t most, uint64_t most_of_client) : most_(most), most_of_client_(most_of_client) {}

  // The bytes that one body takes; they are given back when it is destroyed. Used by one thread at a time.
  class Share {
   public:
    // A client without a limit of its own has an empty name.
    Share(std::shared_ptr<ByteBudget> budget, std::string client)
        : budget_(std::move(budget)), client_(std::move(client)) {}
    ~Share() { budget_->Return(client_, counted_); }
    Share(const Share&) = delete;
    Share& operator=(const Share&) = delete;

    // Whether the body may have `bytes` in all.
    bool GrowTo(uint64_t bytes) {
      const uint64_t wanted = std::max(bytes, kFree) - kFree;
      if (wanted <= counted_) return true;
      if (!budget_->Take(client_, wanted - counted_)) return false;
      counted_ = wanted;
      return true;
    }

   private:
    const std::shared_ptr<ByteBudget> budget_;
    const std::string client_;
    uint64_t counted_ = 0;
  };

 private:
  bool Take(const std::string& client, uint64_t bytes) {
    const std::lock_guard lock(mutex_);
    if (bytes > most_ - used_) return false;
    if (!client.empty()) {
      const auto found = clients_.find(client);
      if (bytes > most_of_client_ - (found == clients_.end() ? 0 : found->second)) return false;
      clients_[client] += bytes;
    }
    used_ += bytes;
    return true;
  }

  void Return(const std::string& client, uint64_t bytes) {
    if (bytes == 0) return;
    const std::lock_guard lock(mutex_);
    used_ -= bytes;
    if (client.empty()) return;
    const auto found = clients_.find(client);
    found->second -= bytes;
    if (found->second == 0) clients_.erase(found);
  }

  const uint64_t most_, most_of_client_;
  std::mutex mutex_;
  uint64_t used_ = 0;                        // guarded by mutex_, as clients_ is
  std::map<std::string, uint64_t> clients_;  // that take something
};

}  // namespace skald::serve

#endif  // SKALD_EXAMPLES_SERVER_HTTP_LIMITS_BYTE_BUDGET_H_
