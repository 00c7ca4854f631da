// SPDX-License-Identifier: Apache-2.0
//
// Places: which connections a server takes, in all and of each client, and which ones must leave for others.
//
// A connection that has not sent the whole head of a request yet, or that has been sending a body for long, leaves when
// its place is needed. Where none may leave, a connection gets one of a few places that are kept for what is urgent,
// such as questions after the server's health.

#ifndef SKALD_EXAMPLES_SERVER_HTTP_LIMITS_PLACES_H_
#define SKALD_EXAMPLES_SERVER_HTTP_LIMITS_PLACES_H_

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

namespace skald::serve {

// Safe for concurrent calls.
class Places {
 public:
  using Clock = std::chrono::steady_clock;

  // Places beyond `most` that are kept for what is urgent.
  static constexpr size_t kUrgent = 32;

  Places(size_t most, size_t most_of_client) : most_(most), most_of_client_(most_of_client) {}

  // One connection's place; free again when it is destroyed. The Places must outlive it.
  class Place {
   public:
    ~Place() { places_.Free(*this); }
    Place(const Place&) = delete;
    Place& operator=(const Place&) = delete;

    bool is_urgent() const { return is_urgent_; }

    // From `since` on the connection leaves when others need its place: `leave` is then called, from another thread,
    // once and with a lock held.
    void MayLeave(Clock::time_point since, std::function<void()> leave);
    // Returns whether the connection still has its place.
    bool Stays();

   private:
    friend class Places;
    Place(Places& places, std::string client, bool is_urgent)
        : places_(places), client_(std::move(client)), is_urgent_(is_urgent) {}

    Places& places_;
    const std::string client_;
    const bool is_urgent_;
    // Guarded by places_.mutex_.
    bool is_free_ = false;
    Clock::time_point since_ = {};
    std::function<void()> leave_ = {};
    std::list<Place*>::iterator self_ = {};
  };

  // A place for a connection of `client`, or null. A client without a limit of its own has an empty name.
  std::unique_ptr<Place> Take(const std::string& client);

  // Connections with a place or an urgent one.
  size_t size() const { return size_; }
  // Whether so many places are taken that patience with the silent is short.
  bool is_scarce() const { return size_ >= most_ - most_ / 4; }

  // Tells all connections that may leave to do so.
  void ClearWaiting();

 private:
  // Frees the place of the connection that might have left for longest, of those that `may` names. Called with the
  // lock.
  template <class May>
  bool MakeRoom(May may);
  void Leave(Place& place);
  void Free(Place& place);
  void Release(Place& place);
  size_t& CountOf(const Place& place) { return place.is_urgent_ ? urgent_ : ordinary_; }

  const size_t most_, most_of_client_;
  std::atomic<size_t> size_ = 0;
  std::mutex mutex_;
  std::list<Place*> all_;                  // guarded by mutex_, as the following are
  std::map<std::string, size_t> clients_;  // ordinary places of each
  size_t ordinary_ = 0, urgent_ = 0;
};

}  // namespace skald::serve

#endif  // SKALD_EXAMPLES_SERVER_HTTP_LIMITS_PLACES_H_
