// SPDX-License-Identifier: Apache-2.0
//
// Caches and workspaces as Python holds them: one user at a time, and outputs that live as long as arrays show them.

#ifndef SKALD_EXAMPLES_PYTHON_SOURCE_STATE_OBJECTS_H_
#define SKALD_EXAMPLES_PYTHON_SOURCE_STATE_OBJECTS_H_

#include <atomic>
#include <memory>
#include <utility>
#include <vector>

#include "skald/cache/kv_cache.h"
#include "skald/cache/steps/step_plan.h"
#include "skald/model/workspace.h"
#include "values/errors.h"

namespace skald::python {

/// A KVCache in Python.
struct Cache {
  explicit Cache(KVCache cache) : value(std::move(cache)) {}

  OneUser Use() { return OneUser(in_use, "the cache"); }

  KVCache value;
  std::atomic<bool> in_use = false;
};

/// A Workspace in Python. The outputs of a call move to memory of their own, which comes back with the next call unless
/// an array still shows it.
struct Computer {
  explicit Computer(Workspace own) : workspace(std::move(own)) {}

  OneUser Use() { return OneUser(in_use, "the workspace"); }

  /// Returns the outputs' memory of the last call, for arrays to keep. The caller is the one user.
  std::shared_ptr<OutputBuffers> Lend() {
    lent = std::make_shared<OutputBuffers>(std::exchange(workspace.outputs, {}));
    return lent;
  }

  /// Takes memory back that no array shows.
  void TakeBack() {
    if (lent == nullptr || lent.use_count() > 1) return;
    std::atomic_thread_fence(std::memory_order_acquire);  // after the last reader
    workspace.outputs = std::move(*lent);
    lent = nullptr;
  }

  Workspace workspace;
  std::shared_ptr<OutputBuffers> lent;
  std::atomic<bool> in_use = false;
};

/// A Batch in Python: it keeps what it refers to.
struct Requests {
  struct Request {
    std::shared_ptr<Cache> cache;
    std::vector<int32_t> tokens;
    std::vector<Want> wants;  ///< [tokens]
  };
  std::vector<Request> requests;
};

}  // namespace skald::python

#endif  // SKALD_EXAMPLES_PYTHON_SOURCE_STATE_OBJECTS_H_
