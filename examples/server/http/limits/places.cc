// SPDX-License-Identifier: Apache-2.0

#include "server/http/limits/places.h"

#include <algorithm>
#include <utility>

namespace skald::serve {

void Places::Place::MayLeave(Clock::time_point since, std::function<void()> leave) {
  const std::lock_guard lock(places_.mutex_);
  since_ = since;
  leave_ = std::move(leave);
}

bool Places::Place::Stays() {
  const std::lock_guard lock(places_.mutex_);
  leave_ = nullptr;
  return !is_free_;
}

std::unique_ptr<Places::Place> Places::Take(const std::string& client) {
  const std::lock_guard lock(mutex_);
  const auto found = clients_.find(client);
  const bool client_has_all = !client.empty() && found != clients_.end() && found->second >= most_of_client_;
  bool is_urgent = false;
  if (client_has_all) {
    is_urgent = !MakeRoom([&](const Place& place) { return !place.is_urgent_ && place.client_ == client; });
  } else if (ordinary_ >= most_) {
    is_urgent = !MakeRoom([](const Place& place) { return !place.is_urgent_; });
  }
  if (is_urgent && urgent_ >= kUrgent && !MakeRoom([](const Place& place) { return place.is_urgent_; })) return nullptr;
  std::unique_ptr<Place> place(new Place(*this, client, is_urgent));
  place->self_ = all_.insert(all_.end(), place.get());
  ++CountOf(*place);
  ++size_;
  if (!is_urgent) ++clients_[client];
  return place;
}

template <class May>
bool Places::MakeRoom(May may) {
  Place* first = nullptr;
  const Clock::time_point now = Clock::now();
  for (Place* const place : all_) {
    if (place->leave_ == nullptr || place->since_ > now || !may(*place)) continue;
    if (first == nullptr || place->since_ < first->since_) first = place;
  }
  if (first == nullptr) return false;
  Leave(*first);
  return true;
}

void Places::Leave(Place& place) {
  Release(place);
  std::exchange(place.leave_, nullptr)();
}

void Places::ClearWaiting() {
  const std::lock_guard lock(mutex_);
  const Clock::time_point now = Clock::now();
  for (auto next = all_.begin(); next != all_.end();) {
    Place& place = **next++;
    if (place.leave_ != nullptr && place.since_ <= now) Leave(place);
  }
}

void Places::Release(Place& place) {
  place.is_free_ = true;
  all_.erase(place.self_);
  --CountOf(place);
  if (place.is_urgent_) return;
  const auto client = clients_.find(place.client_);
  if (--client->second == 0) clients_.erase(client);
}

void Places::Free(Place& place) {
  const std::lock_guard lock(mutex_);
  --size_;
  if (!place.is_free_) Release(place);
}

}  // namespace skald::serve
