// SPDX-License-Identifier: Apache-2.0
//
// Models: the models of a server, by their names, within one limit of memory. A model is loaded when it is first asked
// for. When another one needs the memory it is put away, the one that was used longest ago first, and never while an
// answer uses it.

#ifndef SKALD_EXAMPLES_SERVER_SERVICE_MODELS_MODELS_H_
#define SKALD_EXAMPLES_SERVER_SERVICE_MODELS_MODELS_H_

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "server/service/models/model_at_work.h"
#include "skald/base/result.h"
#include "skald/cache/layout/runtime_config.h"

namespace skald::serve {

// A model that can be loaded. The functions are called by one thread at a time.
struct ModelSource {
  std::string name;
  std::vector<std::string> adapters = {};  // names of the model with each of its adapters
  // Returns the most bytes that it will take, weights and caches. Reads what its files say of it, no weights.
  std::function<Result<uint64_t>()> measure;
  std::function<Result<ModelAtWork>()> load;
  bool stays = false;                      // once it is loaded it is never put away
  std::optional<ModelAtWork> loaded = {};  // it is loaded already, and takes so many bytes
  uint64_t bytes = 0;
};

enum class ModelState { kUnloaded, kLoading, kLoaded, kUnloading };

// As clients are told of it: "unloaded" and so on.
std::string_view StateName(ModelState state);

struct ModelStatus {
  std::string name;
  std::vector<std::string> adapters;
  ModelState state;
  std::optional<Error> failure;  // of the last load
  uint64_t bytes;                // that it takes, or is about to
  ModelLease model;              // null unless it is loaded
};

struct ModelsOptions {
  uint64_t memory = kUnlimited;                       // bytes of all models that are loaded, weights and caches
  size_t most_waiting = 256;                          // requests, for any model
  std::function<void(const std::string&)> tell = {};  // gets a line about each load
};

struct ModelsStats {
  uint64_t bytes = 0;  // of the models that are loaded or being loaded, at most
  uint64_t limit = 0;  // ModelsOptions::memory
  uint64_t loads = 0;  // that succeeded
  uint64_t failed_loads = 0;
  uint64_t put_away = 0;  // to make room
  uint64_t waiting = 0;   // requests
};

// Safe for concurrent calls. Must outlive the leases that it gives. One thread of its own loads and puts away.
class Models {
 public:
  // Gets the model, or why it cannot be had. Called by any thread; must be quick and must not throw.
  using Then = std::function<void(Result<ModelLease>)>;

  // There is at least one source, and no two have a name in common.
  Models(std::vector<ModelSource> sources, const ModelsOptions& options);
  Models(const Models&) = delete;
  Models& operator=(const Models&) = delete;
  // As Stop, but waits as long as it takes.
  ~Models();

  // Names of all models and of their adapters, in the order of the sources.
  const std::vector<std::string>& names() const { return names_; }
  bool Has(std::string_view name) const { return FindPlace(name) != nullptr; }

  // The model of that name, of its own or with an adapter; null if it is not loaded, or about to be put away.
  ModelLease Take(std::string_view name);

  // The same for a model that is to be loaded, if it is not. `then` is called once, unless the server stops first. A
  // load that failed a moment ago is not tried again, unless `tries_again`. Errors, of which `then` is not told: why
  // that failed; kFailedPrecondition if as many requests wait as may. Errors that `then` gets: kResourceExhausted if it
  // can never fit, with the sizes; those of ModelSource.
  Result<void> Load(std::string_view name, Then then, bool tries_again = false);

  // Puts a model away: it takes no more requests, and goes when the answers that use it are at their ends. Error:
  // kUnsupported for one that stays.
  Result<void> Unload(std::string_view name);

  // All models, in the order of the sources.
  std::vector<ModelStatus> List();
  ModelsStats stats() const;

  // Loads no more, forgets the requests that wait, waits `grace` at most for a load that is under way, and stops the
  // models. Returns whether nothing is under way any more.
  bool Stop(std::chrono::milliseconds grace);

 private:
  using Clock = std::chrono::steady_clock;

  // One model; its address does not change.
  struct Place {
    ModelSource source;
    ModelState state = ModelState::kUnloaded;
    std::unique_ptr<ModelAtWork> model = {};
    std::optional<uint64_t> needed = {};  // bytes, once they are measured for the next load
    uint64_t bytes = 0;                   // that are counted for it
    uint64_t uses = 0, last_use = 0;      // leases now; the time of the last request, as a count
    std::optional<Error> failure = {};
    Clock::time_point failed = {};
    bool is_wanted = false;  // is in wanted_
    std::vector<Then> waiting = {};
  };

  Place* FindPlace(std::string_view name) const;
  // With the lock held.
  bool CanTake(const Place& place) const { return place.state == ModelState::kLoaded && !is_stopping_; }
  // Makes a lease of a use that was counted. Without the lock.
  ModelLease LeaseOf(Place& place);

  // The rest are parts of the thread, with the lock held.
  void Run();
  // Does one thing; returns false if there is nothing to do now.
  bool Step(std::unique_lock<std::mutex>& lock);
  void PutAway(Place& place, std::unique_lock<std::mutex>& lock);
  void Measure(Place& place, std::unique_lock<std::mutex>& lock);
  // Lets as many others go as it takes. Returns whether there is room now.
  bool MakeRoomFor(const Place& place);
  Place* UsedLongestAgo() const;
  void LoadNow(Place& place, std::unique_lock<std::mutex>& lock);
  // Tells the requests that wait for a model that it is there, or that its load has failed.
  void Tell(Place& place, std::unique_lock<std::mutex>& lock);
  void Fail(Place& place, const Error& error, std::unique_lock<std::mutex>& lock);
  void Log(const std::string& line) const {
    if (options_.tell) options_.tell(line);
  }

  const ModelsOptions options_;
  std::vector<std::unique_ptr<Place>> places_;
  std::vector<std::string> names_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Place*> wanted_;  // guarded by mutex_, as all that follows and what places hold but for their sources
  ModelsStats stats_;
  uint64_t uses_ = 0;  // requests, by which models have their last use
  bool is_stopping_ = false, is_idle_ = true;
  std::thread thread_;
};

}  // namespace skald::serve

#endif  // SKALD_EXAMPLES_SERVER_SERVICE_MODELS_MODELS_H_
