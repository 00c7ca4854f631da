// SPDX-License-Identifier: Apache-2.0
//
// The C interface: workspaces, steps and sampling.

#ifndef SKALD_C_DETAIL_STEPS_H_
#define SKALD_C_DETAIL_STEPS_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "skald/base/inline.h"
#include "skald/c/detail/handles.h"
#include "skald/c/detail/types.h"
#include "skald/c/skald.h"
#include "skald/cache/steps/batch.h"
#include "skald/cache/steps/step_plan.h"
#include "skald/model/outputs.h"
#include "skald/sampling/sampler.h"

namespace skald::internal {

static_assert(static_cast<int>(Want::kNothing) == SKALD_WANT_NOTHING);
static_assert(static_cast<int>(Want::kLogits) == SKALD_WANT_LOGITS);
static_assert(static_cast<int>(Want::kHidden) == SKALD_WANT_HIDDEN);

inline Result<void> AddSequence(const skald_sequence& sequence, Batch& batch) {
  if (sequence.cache == nullptr || (sequence.tokens == nullptr && sequence.count > 0)) {
    return Fail(ErrorCode::kInvalidArgument, "its cache or its tokens are NULL");
  }
  const std::span<const int32_t> tokens(sequence.tokens, sequence.count);
  if (sequence.wants == nullptr) {
    batch.Add(sequence.cache->cache, tokens);
    return {};
  }
  std::vector<Want> wants;
  for (const uint8_t want : std::span(sequence.wants, sequence.count)) {
    if (want > SKALD_WANT_HIDDEN) {
      return Fail(ErrorCode::kInvalidArgument, "a want is " + std::to_string(want) + ", expected a skald_want");
    }
    wants.push_back(static_cast<Want>(want));
  }
  batch.Add(sequence.cache->cache, tokens, wants);
  return {};
}

}  // namespace skald::internal

SKALD_INLINE skald_code skald_workspace_create(uint32_t threads, skald_workspace** workspace, skald_error* error) {
  using namespace skald;
  using namespace skald::internal;
  return Call("skald_workspace_create", error, [&]() -> Result<void> {
    SKALD_TRY(Need("skald_workspace_create", workspace));
    SKALD_ASSIGN(auto created, CreateWorkspace({.threads = ThreadsOf(threads)}));
    *workspace = new skald_workspace{std::move(created)};
    return {};
  });
}

SKALD_INLINE void skald_workspace_free(skald_workspace* workspace) { delete workspace; }

SKALD_INLINE skald_code skald_forward(const skald_model* model, const skald_sequence* sequences, size_t count,
                                      skald_workspace* workspace, skald_rows* rows, skald_error* error) {
  using namespace skald;
  using namespace skald::internal;
  return Call("skald_forward", error, [&]() -> Result<void> {
    SKALD_TRY(Need("skald_forward", model, sequences, workspace));
    Batch batch;
    size_t most = 0;
    for (size_t i = 0; i < count; ++i) {
      if (auto added = AddSequence(sequences[i], batch); !added) return OfSequence(i, added);
      most += sequences[i].count;
    }
    // Before the step, after which nothing may fail.
    workspace->rows.reserve(most);
    workspace->floats.reserve(most);
    SKALD_ASSIGN(const Outputs outputs, model->model().model.Forward(batch, workspace->workspace));
    workspace->rows.clear();
    workspace->floats.clear();
    for (size_t i = 0; i < outputs.size(); ++i) {
      workspace->rows.push_back(outputs[i].data());
      workspace->floats.push_back(outputs[i].size());
    }
    if (rows != nullptr) *rows = {outputs.size(), workspace->rows.data(), workspace->floats.data()};
    return {};
  });
}

SKALD_INLINE void skald_sampling_init(skald_sampling* sampling) {
  if (sampling != nullptr) *sampling = skald::internal::SamplingOf({});
}

SKALD_INLINE skald_code skald_sampling_advised(const skald_model* model, skald_sampling* sampling, skald_error* error) {
  using namespace skald;
  using namespace skald::internal;
  return Call("skald_sampling_advised", error, [&]() -> Result<void> {
    SKALD_TRY(Need("skald_sampling_advised", model, sampling));
    *sampling = SamplingOf(model->model().text.sampler);
    return {};
  });
}

SKALD_INLINE skald_code skald_sampler_create(const skald_sampling* sampling, skald_sampler** sampler,
                                             skald_error* error) {
  using namespace skald;
  using namespace skald::internal;
  return Call("skald_sampler_create", error, [&]() -> Result<void> {
    SKALD_TRY(Need("skald_sampler_create", sampler));
    SKALD_ASSIGN(auto settings, SettingsOf(sampling));
    SKALD_TRY(ValidateSettings(settings, 0));
    *sampler = new skald_sampler{std::move(settings)};
    return {};
  });
}

SKALD_INLINE void skald_sampler_free(skald_sampler* sampler) { delete sampler; }

SKALD_INLINE skald_code skald_sample(skald_sampler* sampler, const float* logits, size_t floats, uint64_t position,
                                     int32_t* id, skald_error* error) {
  using namespace skald;
  using namespace skald::internal;
  return Call("skald_sample", error, [&]() -> Result<void> {
    SKALD_TRY(Need("skald_sample", sampler, logits, id));
    SKALD_ASSIGN(const auto token,
                 Sample(std::span(logits, floats), sampler->settings, sampler->state, position, sampler->scratch));
    SKALD_TRY(ObserveToken(sampler->settings, token.id, sampler->state));
    *id = token.id;
    return {};
  });
}

SKALD_INLINE skald_code skald_sampler_observe(skald_sampler* sampler, int32_t id, skald_error* error) {
  using namespace skald;
  using namespace skald::internal;
  return Call("skald_sampler_observe", error, [&]() -> Result<void> {
    SKALD_TRY(Need("skald_sampler_observe", sampler));
    return ObserveToken(sampler->settings, id, sampler->state);
  });
}

#endif  // SKALD_C_DETAIL_STEPS_H_
