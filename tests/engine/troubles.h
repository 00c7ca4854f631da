// SPDX-License-Identifier: Apache-2.0
//
// Parts of an engine that go wrong now and then: a drafter, a model and a store.

#ifndef SKALD_TESTS_ENGINE_TROUBLES_H_
#define SKALD_TESTS_ENGINE_TROUBLES_H_

#include <cstdint>
#include <map>
#include <mutex>
#include <random>
#include <span>
#include <vector>

#include "skald/engine/requests/drafter.h"
#include "skald/engine/requests/model_ref.h"
#include "skald/store/backends/memory_store.h"
#include "tests/support/small_models.h"

namespace skald::testing {

// Guesses what will come, and is wrong now and then.
class Prophet : public Drafter {
 public:
  Prophet(uint32_t seed, const std::map<std::vector<int32_t>, std::vector<int32_t>>& known)
      : random_(seed), known_(known) {}

  Result<void> Draft(std::span<DraftTask> tasks) override {
    if (random_() % 20 == 0) return Fail(ErrorCode::kUnsupported, "no idea");
    for (DraftTask& task : tasks) {
      const std::vector<int32_t> tokens(task.tokens.begin(), task.tokens.end());
      const auto known = known_.lower_bound(tokens);
      if (known == known_.end()) continue;
      for (size_t i = tokens.size(); i < known->first.size() && task.drafts.size() < task.most; ++i) {
        task.drafts.push_back(random_() % 4 == 0 ? static_cast<int32_t>(random_() % 300) - 20 : known->first[i]);
      }
    }
    return {};
  }

 private:
  std::minstd_rand random_;
  const std::map<std::vector<int32_t>, std::vector<int32_t>>& known_;
};

// Fails now and then, before anything is computed, as for want of memory.
class FlakyModel {
 public:
  FlakyModel(ModelRef model, const ModelSpec& spec, uint32_t seed, uint32_t one_of)
      : model_(model), spec_(spec), random_(seed), one_of_(one_of) {}

  Result<Outputs> Forward(const Batch& batch, Workspace& workspace, const ForwardOptions& options) const {
    if (one_of_ > 0 && random_() % one_of_ == 0) return Fail(ErrorCode::kResourceExhausted, "no memory");
    return model_.Forward(batch, workspace, options);
  }
  const ModelSpec& spec() const { return spec_; }

 private:
  const ModelRef model_;
  const ModelSpec& spec_;
  mutable std::minstd_rand random_;
  uint32_t one_of_;
};

// A store that fails now and then, and loses what it had. Safe for concurrent calls.
class FlakyStore {
 public:
  FlakyStore(MemoryStore& store, uint32_t seed, uint32_t one_of) : store_(store), random_(seed), one_of_(one_of) {}

  Result<bool> Has(const ChunkKey& key) { return Fails() ? Result<bool>(Broken()) : store_.Has(key); }
  Result<ChunkBytes> Get(const ChunkKey& key) {
    if (!Fails()) return store_.Get(key);
    return Draw() % 2 == 0 ? Broken() : Fail(ErrorCode::kNotFound, "lost");
  }
  Result<void> Put(const ChunkKey& key, std::span<const std::byte> value) {
    return Fails() ? Result<void>(Broken()) : store_.Put(key, value);
  }
  Result<void> Drop(const ChunkKey& key) { return store_.Drop(key); }
  Result<std::vector<ChunkKey>> List() { return store_.List(); }

 private:
  bool Fails() { return one_of_ > 0 && Draw() % one_of_ == 0; }
  uint32_t Draw() {
    const std::lock_guard lock(mutex_);
    return static_cast<uint32_t>(random_());
  }
  static Failure Broken() { return Fail(ErrorCode::kFailedPrecondition, "out of reach"); }

  MemoryStore& store_;
  std::mutex mutex_;
  std::minstd_rand random_;  // guarded by mutex_
  uint32_t one_of_;
};

}  // namespace skald::testing

#endif  // SKALD_TESTS_ENGINE_TROUBLES_H_
