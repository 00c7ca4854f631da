// SPDX-License-Identifier: Apache-2.0
//
// Workspace: what one caller of Forward needs besides the model and its caches: memory for activations and threads.
// Reused from call to call; holds no conversation state. Used by one thread at a time, as Forward checks; any number of
// workspaces may work on one model at once. After fork() the child's copy of one computes on the calling thread alone.

#ifndef SKALD_MODEL_WORKSPACE_H_
#define SKALD_MODEL_WORKSPACE_H_

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "skald/base/aligned_buffer.h"
#include "skald/base/no_throw.h"
#include "skald/base/result.h"
#include "skald/base/threads/executor.h"
#include "skald/base/threads/thread_pool.h"
#include "skald/layers/run/scratch.h"

namespace skald {

/// Activations of one pass; shapes in the comments, grown when a pass needs more and then kept.
struct Activations {
  AlignedBuffer<float> hidden;            ///< [rows, model_dim], the residual stream
  AlignedBuffer<float> normed;            ///< [rows, model_dim]
  AlignedBuffer<float> block_output;      ///< [rows, model_dim]
  AlignedBuffer<float> second;            ///< [rows, model_dim], of a layer beside another
  AlignedBuffer<float> waiting;           ///< [rows, model_dim], of a block that another is beside
  AlignedBuffer<float> per_layer;         ///< [rows, layers * per_layer_dim], what embeddings give each layer
  std::vector<int32_t> per_layer_tokens;  ///< [rows], where not all tokens have such
  AlignedBuffer<float> projected;         ///< the same, of one of its two parts
  AlignedBuffer<float> carried;           ///< [rows, CarriedDim], rows that layers give to later ones
  Scratch scratch;                        ///< pieces of memory that layers name (Layer::ScratchFloats)
  MatMulScratch matmul;                   ///< prepared inputs and partial sums of multiplications
  AdapterScratch adapters;                ///< of the adapters' two small matrices
  /// Of each group of the cache's layout, and then of each group of a pass's state, [rows, rotary_dim / 2].
  std::vector<AlignedBuffer<float>> cos, sin;
  std::vector<AlignedBuffer<std::byte>> pass_blocks;  ///< of each group of a pass's state, its blocks
  AlignedBuffer<float> distance_bias;                 ///< AttentionArgs::bias
};

/// Results, kept until the next Forward.
struct OutputBuffers {
  AlignedBuffer<float> logits;  ///< [logit rows, vocab_size]
  AlignedBuffer<float> hidden;  ///< [hidden rows, model_dim]
};

/// Settings of CreateWorkspace.
struct WorkspaceOptions {
  /// Threads that compute, the calling one included.
  uint32_t threads = std::max(1u, std::thread::hardware_concurrency());
};

class Workspace {
 public:
  Workspace(Workspace&& other) noexcept;
  Workspace& operator=(Workspace&& other) noexcept;
  ~Workspace();

  /// The thread pool, the workspace's own or the caller's.
  const ExecutorRef& executor() const { return executor_; }
  /// False of a workspace that was moved from.
  bool is_valid() const { return is_valid_; }

  Activations activations;  ///< of the pass that is computed
  OutputBuffers outputs;    ///< of the last call

 private:
  friend Result<Workspace> CreateWorkspace(const WorkspaceOptions& options);
  template <Executor E>
  friend Result<Workspace> CreateWorkspace(E& executor);

  Workspace(ExecutorRef executor, std::unique_ptr<ThreadPool> own) : own_(std::move(own)), executor_(executor) {}

  friend class WorkspaceUse;

  bool is_valid_ = true;
  std::unique_ptr<ThreadPool> own_;  ///< null when the executor is the caller's
  ExecutorRef executor_;
  std::atomic<bool> in_use_{false};
};

/// While one lives, no other use of the same workspace is ours.
class WorkspaceUse {
 public:
  /// Takes the workspace if no other use has it. It must outlive this.
  explicit WorkspaceUse(Workspace& workspace)
      : workspace_(workspace), is_ours_(!workspace.in_use_.exchange(true, std::memory_order_acquire)) {}
  ~WorkspaceUse();
  WorkspaceUse(const WorkspaceUse&) = delete;
  WorkspaceUse& operator=(const WorkspaceUse&) = delete;

  /// Whether this use has the workspace; else the caller reports kFailedPrecondition.
  bool is_ours() const { return is_ours_; }

 private:
  Workspace& workspace_;
  const bool is_ours_;
};

/// Returns a workspace with a pool of options.threads threads. Errors: kInvalidArgument, naming the member that is
/// wrong; kResourceExhausted.
Result<Workspace> CreateWorkspace(const WorkspaceOptions& options = {});

/// Returns a workspace that computes on the caller's threads. `executor` must outlive it.
template <Executor E>
Result<Workspace> CreateWorkspace(E& executor) {
  return NoThrow("CreateWorkspace", [&]() -> Result<Workspace> {
    if (executor.num_workers() == 0) {
      return Fail(ErrorCode::kInvalidArgument, "the executor has 0 workers, expected at least 1");
    }
    return Workspace(ExecutorRef(executor), nullptr);
  });
}

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/model/detail/workspace.h"
#endif

#endif  // SKALD_MODEL_WORKSPACE_H_
