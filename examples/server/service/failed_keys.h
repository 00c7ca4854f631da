// SPDX-License-Identifier: Apache-2.0
//
// FailedKeys: how often each client may send a key that is wrong, so that keys cannot be guessed.

#ifndef SKALD_EXAMPLES_SERVER_SERVICE_FAILED_KEYS_H_
#define SKALD_EXAMPLES_SERVER_SERVICE_FAILED_KEYS_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <list>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace skald::serve {

// A client may send so many wrong keys in a minute. Beyond them, its keys are accepted only if their owners sent a
// right one from there before. So a guess, right or wrong, tells nothing, and a user that shares an address with a
// guesser can go on. Safe for concurrent calls.
class FailedKeys {
 public:
  using Clock = std::chrono::steady_clock;

  explicit FailedKeys(uint32_t most_per_minute) : most_(most_per_minute) {}

  // `owner` is the name of the owner of a key that is right, none for a wrong key. Returns whether the answer may
  // depend on the key.
  bool Admit(const std::string& client, std::optional<std::string_view> owner, Clock::time_point now);

  // Seconds until a client that is not admitted has another try.
  uint32_t seconds_to_wait() const { return (kMinute + most_ - 1) / most_; }

 private:
  static constexpr uint32_t kMinute = 60;
  static constexpr size_t kMostClients = 10'000;  // beyond them the one goes that was not heard of for longest
  static constexpr size_t kMostOwners = 16;       // of a client

  struct Client {
    std::string name;
    double failures = 0;  // that still count
    Clock::time_point counted = {};
    std::vector<std::string> owners;  // whose keys came from here
  };

  Client& Find(const std::string& name, Clock::time_point now);

  const uint32_t most_;
  std::mutex mutex_;
  std::list<Client> clients_;  // guarded by mutex_; the one heard of last at the front
  std::unordered_map<std::string, std::list<Client>::iterator> by_name_;
};

}  // namespace skald::serve

#endif  // SKALD_EXAMPLES_SERVER_SERVICE_FAILED_KEYS_H_
