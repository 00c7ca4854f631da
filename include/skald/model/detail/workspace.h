// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/model/workspace.h.

#ifndef SKALD_MODEL_DETAIL_WORKSPACE_H_
#define SKALD_MODEL_DETAIL_WORKSPACE_H_

#include "skald/model/workspace.h"

#include <string>

#include "skald/base/inline.h"

namespace skald {

SKALD_INLINE Workspace::~Workspace() = default;

SKALD_INLINE Workspace::Workspace(Workspace&& other) noexcept
    : activations(std::move(other.activations)),
      outputs(std::move(other.outputs)),
      is_valid_(std::exchange(other.is_valid_, false)),
      own_(std::move(other.own_)),
      executor_(other.executor_) {}

SKALD_INLINE Workspace& Workspace::operator=(Workspace&& other) noexcept {
  activations = std::move(other.activations);
  outputs = std::move(other.outputs);
  is_valid_ = std::exchange(other.is_valid_, false);
  own_ = std::move(other.own_);
  executor_ = other.executor_;
  return *this;
}

SKALD_INLINE WorkspaceUse::~WorkspaceUse() {
  if (is_ours_) workspace_.in_use_.store(false, std::memory_order_release);
}

SKALD_INLINE Result<Workspace> CreateWorkspace(const WorkspaceOptions& options) {
  return NoThrow("CreateWorkspace", [&]() -> Result<Workspace> {
    if (options.threads == 0 || options.threads > kMaxThreads) {
      return Fail(ErrorCode::kInvalidArgument, "WorkspaceOptions::threads is " + std::to_string(options.threads) +
                                                   ", expected 1 to " + std::to_string(kMaxThreads));
    }
    auto pool = std::make_unique<ThreadPool>(options.threads);
    const ExecutorRef executor(*pool);
    return Workspace(executor, std::move(pool));
  });
}

}  // namespace skald

#endif  // SKALD_MODEL_DETAIL_WORKSPACE_H_
