// SPDX-License-Identifier: Apache-2.0

#include "server/service/models/models.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "skald/base/no_throw.h"
#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace skald::serve {
namespace {

// After a load that failed, requests are told so for this long before the next one tries it again.
constexpr std::chrono::seconds kPause{5};

std::string SizeText(uint64_t bytes) {
  char text[32];
  const bool is_large = bytes >= 1'000'000'000;
  std::snprintf(text, sizeof(text), "%.1f %s", static_cast<double>(bytes) / (is_large ? 1e9 : 1e6),
                is_large ? "GB" : "MB");
  return text;
}

std::string SecondsText(std::chrono::duration<double> time) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.2f s", time.count());
  return text;
}

// The C library keeps memory that was freed, which counts as the process's.
void ReturnFreedMemory() {
#ifdef __GLIBC__
  malloc_trim(0);
#endif
}

}  // namespace

std::string_view StateName(ModelState state) {
  switch (state) {
    case ModelState::kUnloaded:
      return "unloaded";
    case ModelState::kLoading:
      return "loading";
    case ModelState::kLoaded:
      return "loaded";
    case ModelState::kUnloading:
      return "unloading";
  }
  return "";
}

Models::Models(std::vector<ModelSource> sources, const ModelsOptions& options) : options_(options) {
  for (ModelSource& source : sources) {
    names_.push_back(source.name);
    names_.insert(names_.end(), source.adapters.begin(), source.adapters.end());
    Place& place = *places_.emplace_back(std::make_unique<Place>());
    place.source = std::move(source);
    if (!place.source.loaded) continue;
    place.model = std::make_unique<ModelAtWork>(*std::move(place.source.loaded));
    place.source.loaded.reset();
    place.state = ModelState::kLoaded;
    place.bytes = place.source.bytes;
    stats_.bytes += place.bytes;
  }
  stats_.limit = options.memory;
  thread_ = std::thread([this] { Run(); });
}

Models::~Models() {
  (void)Stop(std::chrono::milliseconds(0));
  thread_.join();
}

Models::Place* Models::FindPlace(std::string_view name) const {
  const auto found = std::ranges::find_if(places_, [&](const auto& place) {
    const std::vector<std::string>& adapters = place->source.adapters;
    return place->source.name == name || std::ranges::find(adapters, name) != adapters.end();
  });
  return found == places_.end() ? nullptr : found->get();
}

ModelLease Models::Take(std::string_view name) {
  Place* const place = FindPlace(name);
  {
    const std::lock_guard lock(mutex_);
    if (place == nullptr || !CanTake(*place)) return nullptr;
    ++place->uses;
    place->last_use = ++uses_;
  }
  return LeaseOf(*place);
}

ModelLease Models::LeaseOf(Place& place) {
  return {place.model.get(), [this, &place](ModelAtWork*) {
            const std::lock_guard lock(mutex_);
            if (--place.uses == 0 && place.state == ModelState::kUnloading) changed_.notify_all();
          }};
}

Result<void> Models::Load(std::string_view name, Then then, bool tries_again) {
  Place* const place = FindPlace(name);
  if (place == nullptr) return skald::Fail(ErrorCode::kNotFound, "there is no model '" + std::string(name) + "'");
  std::unique_lock lock(mutex_);
  if (is_stopping_) return skald::Fail(ErrorCode::kFailedPrecondition, "the server is shutting down");
  if (CanTake(*place)) {
    ++place->uses;
    place->last_use = ++uses_;
    lock.unlock();
    then(LeaseOf(*place));
    return {};
  }
  if (place->failure && !tries_again && Clock::now() < place->failed + kPause) return Failure(*place->failure);
  if (stats_.waiting >= options_.most_waiting) {
    return skald::Fail(ErrorCode::kFailedPrecondition, "as many requests as this server takes wait for models");
  }
  place->waiting.push_back(std::move(then));
  ++stats_.waiting;
  if (!std::exchange(place->is_wanted, true)) wanted_.push_back(place);
  changed_.notify_all();
  return {};
}

Result<void> Models::Unload(std::string_view name) {
  Place* const place = FindPlace(name);
  if (place == nullptr) return skald::Fail(ErrorCode::kNotFound, "there is no model '" + std::string(name) + "'");
  if (place->source.stays) {
    return skald::Fail(ErrorCode::kUnsupported, "'" + place->source.name + "' cannot be unloaded: ranks compute it");
  }
  const std::lock_guard lock(mutex_);
  if (place->state != ModelState::kLoaded) return {};
  place->state = ModelState::kUnloading;
  changed_.notify_all();
  return {};
}

std::vector<ModelStatus> Models::List() {
  std::vector<ModelStatus> list;
  std::vector<Place*> used;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& place : places_) {
      list.push_back({place->source.name, place->source.adapters, place->state, place->failure, place->bytes, {}});
      used.push_back(CanTake(*place) ? place.get() : nullptr);
      if (used.back() != nullptr) ++place->uses;
    }
  }
  for (size_t i = 0; i < list.size(); ++i) {
    if (used[i] != nullptr) list[i].model = LeaseOf(*used[i]);
  }
  return list;
}

ModelsStats Models::stats() const {
  const std::lock_guard lock(mutex_);
  return stats_;
}

bool Models::Stop(std::chrono::milliseconds grace) {
  std::vector<std::vector<Then>> forgotten;  // dropped outside of the lock
  std::unique_lock lock(mutex_);
  is_stopping_ = true;
  for (const auto& place : places_) forgotten.push_back(std::exchange(place->waiting, {}));
  stats_.waiting = 0;
  changed_.notify_all();
  const bool is_idle = changed_.wait_for(lock, grace, [this] { return is_idle_; });
  lock.unlock();
  if (!is_idle) return false;
  // Nothing changes the models any more.
  for (const auto& place : places_) {
    if (place->model != nullptr) place->model->Stop();
  }
  return true;
}

void Models::Run() {
  std::unique_lock lock(mutex_);
  while (!is_stopping_) {
    is_idle_ = false;
    const bool did_something = Step(lock);
    is_idle_ = true;
    if (is_stopping_) changed_.notify_all();
    if (!did_something && !is_stopping_) changed_.wait(lock);
  }
}

bool Models::Step(std::unique_lock<std::mutex>& lock) {
  const auto can_go = [](const auto& place) { return place->state == ModelState::kUnloading && place->uses == 0; };
  if (const auto going = std::ranges::find_if(places_, can_go); going != places_.end()) {
    PutAway(**going, lock);
    return true;
  }
  const auto wanted =
      std::ranges::find_if(wanted_, [](const Place* place) { return place->state != ModelState::kUnloading; });
  if (wanted == wanted_.end()) return false;
  Place& next = **wanted;
  if (!next.needed) {
    Measure(next, lock);
    return true;
  }
  if (!MakeRoomFor(next)) return std::ranges::any_of(places_, can_go);
  LoadNow(next, lock);
  return true;
}

void Models::PutAway(Place& place, std::unique_lock<std::mutex>& lock) {
  std::unique_ptr<ModelAtWork> model = std::move(place.model);
  lock.unlock();
  const auto begun = Clock::now();
  model->Stop();
  model.reset();
  ReturnFreedMemory();
  Log("put '" + place.source.name + "' away in " + SecondsText(Clock::now() - begun));
  lock.lock();
  stats_.bytes -= std::exchange(place.bytes, 0);
  place.state = ModelState::kUnloaded;
}

void Models::Measure(Place& place, std::unique_lock<std::mutex>& lock) {
  lock.unlock();
  const auto bytes = NoThrow(place.source.name, place.source.measure);
  lock.lock();
  if (!bytes) return Fail(place, bytes.error(), lock);
  place.needed = *bytes;
  if (*bytes <= options_.memory) return;
  Fail(place,
       {ErrorCode::kResourceExhausted, "it takes up to " + SizeText(*bytes) + ", more than the " +
                                           SizeText(options_.memory) + " that all models may take: see --memory"},
       lock);
}

bool Models::MakeRoomFor(const Place& place) {
  const uint64_t free_now = options_.memory - stats_.bytes;
  uint64_t free_soon = free_now;
  for (const auto& other : places_) {
    if (other->state == ModelState::kUnloading) free_soon += other->bytes;
  }
  while (free_soon < *place.needed) {
    Place* const other = UsedLongestAgo();
    if (other == nullptr) break;
    other->state = ModelState::kUnloading;
    free_soon += other->bytes;
    ++stats_.put_away;
  }
  return free_now >= *place.needed;
}

// One that no answer uses is better than one that has to be waited for.
Models::Place* Models::UsedLongestAgo() const {
  Place* oldest = nullptr;
  for (const auto& place : places_) {
    if (place->state != ModelState::kLoaded || place->source.stays) continue;
    const auto age = [](const Place& one) { return std::pair(one.uses > 0, one.last_use); };
    if (oldest == nullptr || age(*place) < age(*oldest)) oldest = place.get();
  }
  return oldest;
}

void Models::LoadNow(Place& place, std::unique_lock<std::mutex>& lock) {
  place.state = ModelState::kLoading;
  place.bytes = *place.needed;
  stats_.bytes += place.bytes;
  lock.unlock();
  const auto begun = Clock::now();
  auto loaded = NoThrow(place.source.name, place.source.load);
  if (loaded) {
    Log("loaded '" + place.source.name + "' in " + SecondsText(Clock::now() - begun) + "; it takes up to " +
        SizeText(*place.needed));
  }
  lock.lock();
  if (!loaded) return Fail(place, loaded.error(), lock);
  place.model = std::make_unique<ModelAtWork>(*std::move(loaded));
  place.state = ModelState::kLoaded;
  place.last_use = ++uses_;
  place.failure.reset();
  ++stats_.loads;
  Tell(place, lock);
}

void Models::Tell(Place& place, std::unique_lock<std::mutex>& lock) {
  std::erase(wanted_, &place);
  place.is_wanted = false;
  place.needed.reset();
  std::vector<Then> waiting = std::exchange(place.waiting, {});
  stats_.waiting -= waiting.size();
  const bool is_loaded = place.state == ModelState::kLoaded;
  if (is_loaded) place.uses += waiting.size();
  lock.unlock();
  for (const Then& then : waiting) {
    then(is_loaded ? Result<ModelLease>(LeaseOf(place)) : Result<ModelLease>(Failure(*place.failure)));
  }
  waiting.clear();
  lock.lock();
}

void Models::Fail(Place& place, const Error& error, std::unique_lock<std::mutex>& lock) {
  stats_.bytes -= std::exchange(place.bytes, 0);
  place.state = ModelState::kUnloaded;
  place.failure = error;
  place.failure->message = "the model '" + place.source.name + "' cannot be loaded: " + error.message;
  place.failed = Clock::now();
  ++stats_.failed_loads;
  Log(place.failure->message);
  Tell(place, lock);
}

}  // namespace skald::serve
