// SPDX-License-Identifier: Apache-2.0
//
// Stores and identities as Python holds them.

#ifndef SKALD_EXAMPLES_PYTHON_SOURCE_STATE_STORES_H_
#define SKALD_EXAMPLES_PYTHON_SOURCE_STATE_STORES_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "skald/store/chunks/chunk_store.h"
#include "skald/store/prompts/prompt_cache.h"

namespace skald::python {

/// A ChunkStore of any kind.
class Store {
 public:
  virtual ~Store() = default;
  virtual ChunkStoreRef ref() = 0;
};

/// A store of one kind.
template <class S>
class StoreOf final : public Store {
 public:
  explicit StoreOf(std::unique_ptr<S> store) : store_(std::move(store)) {}
  ChunkStoreRef ref() override { return *store_; }

 private:
  std::unique_ptr<S> store_;
};

/// A PromptCache with the stores that it reads and writes.
struct Prompts {
  std::vector<std::shared_ptr<Store>> stores;
  std::unique_ptr<PromptCache> value;
};

}  // namespace skald::python

#endif  // SKALD_EXAMPLES_PYTHON_SOURCE_STATE_STORES_H_
