// SPDX-License-Identifier: Apache-2.0
//
// Workspace: what one caller of Forward needs besides the model and its caches: memory for activations and threads.
// Reused from call to call; holds no conversation state. Used by one thread at a time; any number of workspaces may
// work on one model at once.

#ifndef SKALD_MODEL_WORKSPACE_H_
#define SKALD_MODEL_WORKSPACE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "skald/base/aligned_buffer.h"
#include "skald/base/executor.h"
#include "skald/base/result.h"
#include "skald/base/thread_pool.h"
#include "skald/cache/runtime_config.h"
#include "skald/layers/scratch.h"

namespace skald {

// Activations of one pass; shapes in the comments, grown when a pass needs more and then kept.
struct Activations {
  AlignedBuffer<float> hidden;        // [rows, model_dim], the residual stream
  AlignedBuffer<float> normed;        // [rows, model_dim]
  AlignedBuffer<float> block_output;  // [rows, model_dim]
  AlignedBuffer<float> second;        // [rows, model_dim], of a layer beside another
  Scratch scratch;
  MatMulScratch matmul;
  // Of each group of the cache's layout, [rows, rotary_dim / 2].
  std::vector<AlignedBuffer<float>> cos, sin;
};

// Results, kept until the next Forward.
struct OutputBuffers {
  AlignedBuffer<float> logits;  // [logit rows, vocab_size]
  AlignedBuffer<float> hidden;  // [hidden rows, model_dim]
};

class Workspace {
 public:
  const ExecutorRef& executor() const { return executor_; }
  // Rows computed at a time (RuntimeConfig::prefill_chunk).
  uint32_t pass_tokens() const { return pass_tokens_; }

  Activations activations;
  OutputBuffers outputs;

 private:
  friend Result<Workspace> CreateWorkspace(const RuntimeConfig& runtime);
  template <Executor E>
  friend Result<Workspace> CreateWorkspace(const RuntimeConfig& runtime, E& executor);

  Workspace(uint32_t pass_tokens, ExecutorRef executor, std::unique_ptr<ThreadPool> own)
      : pass_tokens_(pass_tokens), own_(std::move(own)), executor_(executor) {}

  uint32_t pass_tokens_;
  std::unique_ptr<ThreadPool> own_;  // null when the executor is the caller's
  ExecutorRef executor_;
};

// Returns a workspace with a pool of runtime.threads threads. Error: kInvalidArgument, naming the member that is
// wrong.
inline Result<Workspace> CreateWorkspace(const RuntimeConfig& runtime = {}) {
  if (auto valid = CheckRuntimeConfig(runtime); !valid) return Failure(valid.error());
  auto pool = std::make_unique<ThreadPool>(runtime.threads);
  const ExecutorRef executor(*pool);
  return Workspace(runtime.prefill_chunk, executor, std::move(pool));
}

// Returns a workspace that computes on the caller's threads; runtime.threads is not read. `executor` must outlive it.
template <Executor E>
Result<Workspace> CreateWorkspace(const RuntimeConfig& runtime, E& executor) {
  if (auto valid = CheckRuntimeConfig(runtime); !valid) return Failure(valid.error());
  if (executor.num_workers() == 0) {
    return Fail(ErrorCode::kInvalidArgument, "the executor has 0 workers, expected at least 1");
  }
  return Workspace(runtime.prefill_chunk, ExecutorRef(executor), nullptr);
}

}  // namespace skald

#endif  // SKALD_MODEL_WORKSPACE_H_
