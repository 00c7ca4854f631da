// SPDX-License-Identifier: Apache-2.0
//
// How often, and after how long, a request is made again.

#ifndef SKALD_EXAMPLES_SKALD_HUB_TRANSPORT_PATIENCE_H_
#define SKALD_EXAMPLES_SKALD_HUB_TRANSPORT_PATIENCE_H_

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string>
#include <thread>

#include "hub/transport/hub_events.h"
#include "hub/transport/transfer.h"

namespace skald::program {

class Patience {
 public:
  explicit Patience(const HubEvents& events) : events_(events) {}

  // Whether to make the request again that got this reply; waits before it returns. Waits are told.
  bool TryAgain(const Reply& reply) {
    const bool may_pass = !reply.trouble.empty() || reply.status == 429 || reply.status >= 500;
    if (!may_pass || attempts_ == kMost || reply.retry_after > kLongestWait) return false;
    const uint64_t seconds = std::max(reply.retry_after, (uint64_t{1} << attempts_) / 2);  // 0, 1, 2, 4
    ++attempts_;
    if (seconds > 0) {
      events_.notice(
          (reply.trouble.empty() ? "the hub has no time (HTTP " + std::to_string(reply.status) + ")" : reply.trouble) +
          "; trying again in " + std::to_string(seconds) + " s");
      std::this_thread::sleep_for(std::chrono::seconds(seconds));
    }
    return true;
  }

  // Something was received since.
  void Renew() { attempts_ = 0; }

 private:
  static constexpr unsigned kMost = 4;
  static constexpr uint64_t kLongestWait = 120;  // seconds

  const HubEvents& events_;
  unsigned attempts_ = 0;
};

}  // namespace skald::program

#endif  // SKALD_EXAMPLES_SKALD_HUB_TRANSPORT_PATIENCE_H_
