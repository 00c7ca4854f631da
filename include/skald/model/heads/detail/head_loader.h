// SPDX-License-Identifier: Apache-2.0
//
// HeadLoader: fills the parts of a head from a checkpoint that has nothing else, each by the names that its tensors
// have there, and refuses what no part needed.

#ifndef SKALD_MODEL_HEADS_DETAIL_HEAD_LOADER_H_
#define SKALD_MODEL_HEADS_DETAIL_HEAD_LOADER_H_

#include <algorithm>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "skald/base/result.h"
#include "skald/base/text/message.h"
#include "skald/base/threads/executor.h"
#include "skald/base/threads/float_environment.h"
#include "skald/base/threads/thread_pool.h"
#include "skald/layers/model_weights.h"
#include "skald/weights/files/checkpoint.h"
#include "skald/weights/files/tensor_names.h"
#include "skald/weights/files/tensor_view.h"
#include "skald/weights/load_options.h"
#include "skald/weights/load_plan.h"
#include "skald/weights/parameters.h"

namespace skald::internal {

// Refuses a tensor that no part of a head needs.
inline Failure FailUnneeded(const TensorView& tensor) {
  return Fail(ErrorCode::kUnsupported, Concat({tensor.name, ": a head like this has no such tensor"}));
}

class HeadLoader {
 public:
  // Both must outlive this.
  HeadLoader(const Checkpoint& checkpoint, const LoadOptions& options) : checkpoint_(checkpoint), options_(options) {}

  // Loads parameters. Where layers have no numbers, `names.body` is the whole beginning of their names.
  Result<void> Fill(const TensorNames& names, std::vector<Parameter> parameters) {
    LoadPlan plan(checkpoint_, names, options_.dtype, WeightPackersOf<AllWeights>());
    for (Parameter& parameter : parameters) {
      if (names.layers.empty()) parameter.layer.reset();
      plan.Add(parameter);
    }
    SKALD_TRY(plan.Check(/*is_part=*/true));
    const FloatEnvironment plain(Denormals::kKept);
    ThreadPool pool(options_.threads);
    plan.Execute(ExecutorRef(pool), {});
    std::vector<const TensorView*> left = plan.LeftOut();
    if (left_) {
      std::erase_if(left, [&](const TensorView* tensor) { return std::ranges::find(*left_, tensor) == left_->end(); });
    }
    left_ = std::move(left);
    return {};
  }

  // Refuses tensors that no part needed, but for these.
  Result<void> CheckLeftOut(std::span<const std::string_view> others) const {
    for (const TensorView* const tensor : *left_) {
      if (std::ranges::find(others, tensor->name) != others.end()) continue;
      return FailUnneeded(*tensor);
    }
    return {};
  }

 private:
  const Checkpoint& checkpoint_;
  const LoadOptions& options_;
  std::optional<std::vector<const TensorView*>> left_;
};

}  // namespace skald::internal

#endif  // SKALD_MODEL_HEADS_DETAIL_HEAD_LOADER_H_
