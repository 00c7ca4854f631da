// SPDX-License-Identifier: Apache-2.0
//
// ModelRef: a Model or AnyModel without its type, so that code that uses it is compiled once and includes no kernels. A
// few pointers, to be passed by value; the model must outlive it.

#ifndef SKALD_ENGINE_REQUESTS_MODEL_REF_H_
#define SKALD_ENGINE_REQUESTS_MODEL_REF_H_

#include <concepts>
#include <cstdint>
#include <memory>

#include "skald/base/result.h"
#include "skald/cache/blocks/block_pool.h"
#include "skald/cache/steps/batch.h"
#include "skald/model/forward_options.h"
#include "skald/model/outputs.h"
#include "skald/model/workspace.h"

namespace skald {

/// Types that can compute batches as AnyModel does.
template <class M>
concept ForwardModel = requires(const M& model, const Batch& batch, Workspace& workspace,
                                const ForwardOptions& options) {
  { model.Forward(batch, workspace, options) } -> std::same_as<Result<Outputs>>;
  { model.spec().vocab_size } -> std::convertible_to<int64_t>;
};

/// Types that can say whether they compute with a pool.
template <class M>
concept ChecksPools = ForwardModel<M> && requires(const M& model, const BlockPool& pool) {
  { model.CheckPool(pool) } -> std::same_as<Result<void>>;
};

class ModelRef {
 public:
  /// Refers to `model`, which must outlive all copies of this.
  template <ForwardModel M>
  requires(!std::same_as<M, ModelRef>) ModelRef(const M& model)  // NOLINT: a reference like any other
      : model_(std::addressof(model)),
        vocab_size_(static_cast<int32_t>(model.spec().vocab_size)),
        forward_([](const void* m, const Batch& batch, Workspace& workspace, const ForwardOptions& options) {
          return static_cast<const M*>(m)->Forward(batch, workspace, options);
        }),
        check_pool_([]([[maybe_unused]] const void* m, [[maybe_unused]] const BlockPool& pool) -> Result<void> {
          if constexpr (ChecksPools<M>)
            return static_cast<const M*>(m)->CheckPool(pool);
          else
            return {};
        }) {}

  /// Safe for concurrent calls with a workspace each. A step that a hook of the model ends is kFailedPrecondition here.
  Result<Outputs> Forward(const Batch& batch, Workspace& workspace, const ForwardOptions& options) const;

  /// Whether caches of the pool are for the model, as it says; a model that says nothing of it takes any. Error: its.
  Result<void> CheckPool(const BlockPool& pool) const { return check_pool_(model_, pool); }

  /// Elements of a row of logits.
  int32_t vocab_size() const { return vocab_size_; }

 private:
  const void* model_;
  int32_t vocab_size_;
  Result<Outputs> (*forward_)(const void*, const Batch&, Workspace&, const ForwardOptions&);
  Result<void> (*check_pool_)(const void*, const BlockPool&);
};

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/engine/requests/detail/model_ref.h"
#endif

#endif  // SKALD_ENGINE_REQUESTS_MODEL_REF_H_
