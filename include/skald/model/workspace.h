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

#include "skald/base/aligned_buffer.h"
#include "skald/base/executor.h"
#include "skald/base/result.h"
#include "skald/base/thread_pool.h"
#include "skald/cache/layout.h"
#include "skald/cache/runtime_config.h"

namespace skald {

// What a multiplication needs beside its input and output.
struct MatMulScratch {
  AlignedBuffer<std::byte> prepared;  // the input, in the type of the weights
  AlignedBuffer<float> partial_sums;
};

// Activations of one pass; shapes in the comments, grown when a pass needs more and then kept.
struct Activations {
  AlignedBuffer<float> hidden;        // [rows, model_dim], the residual stream
  AlignedBuffer<float> normed;        // [rows, model_dim]
  AlignedBuffer<float> projected;     // [rows, ...], the mixer's input projection: queries, keys, values, say
  AlignedBuffer<float> mixed;         // [rows, ...], what attention or recurrence made of it
  AlignedBuffer<float> gate_up;       // [rows, 2 * feed_forward_dim]
  AlignedBuffer<float> gated;         // [RoundUp(rows, kRowBlock), feed_forward_dim]
  AlignedBuffer<float> block_output;  // [rows, model_dim], of mixer or feed-forward
  // Of recurrent layers:
  AlignedBuffer<float> convolved;     // [rows, conv_channels]
  AlignedBuffer<float> selection;     // [rows, time_step_rank + 2 * state_dim], Mamba
  AlignedBuffer<float> gates;         // RG-LRU: [rows, 2 * width]; Mamba: time steps [rows, width]
  MatMulScratch matmul;
  AlignedBuffer<float> cos[kMaxCacheGroups], sin[kMaxCacheGroups];  // [rows, rotary_dim / 2] for each group
};

// Results, kept until the next Forward.
struct OutputBuffers {
  AlignedBuffer<float> logits;  // [logit rows, vocab_size]
  AlignedBuffer<float> hidden;  // [hidden rows, model_dim]
};

// Makes `buffer` at least `size` long. Its content is lost when it grows.
template <class T>
void Reserve(AlignedBuffer<T>& buffer, size_t size) {
  if (buffer.size() < size) buffer = AlignedBuffer<T>(size);
}

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
