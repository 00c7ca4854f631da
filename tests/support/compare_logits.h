// SPDX-License-Identifier: Apache-2.0
//
// How close two implementations' logits must be, and the walk that compares them.

#ifndef SKALD_TESTS_SUPPORT_COMPARE_LOGITS_H_
#define SKALD_TESTS_SUPPORT_COMPARE_LOGITS_H_

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "doctest/doctest.h"
#include "skald/cache/create.h"
#include "skald/layers/model_spec.h"
#include "skald/model/any_model.h"

namespace skald::testing {

// Weights and cache in f32: what published implementations are compared in.
inline constexpr RuntimeConfig kExact = {.kv_type = DType::kF32};

// Both sides round every operation, and errors of the operations along a path add up: about one per layer and term of
// its longest sum, as a random walk, on values as large as the largest logit.
inline float Tolerance(const ModelSpec& spec, std::span<const float> logits) {
  float largest = 0.0f;
  for (const float logit : logits) largest = std::max(largest, std::abs(logit));
  const float steps = std::sqrt(static_cast<float>((spec.blocks.back().number + 1) * spec.model_dim * 8));
  return largest * steps * std::numeric_limits<float>::epsilon();
}

inline int32_t ArgMax(std::span<const float> logits) {
  return static_cast<int32_t>(std::max_element(logits.begin(), logits.end()) - logits.begin());
}

inline float LargestDifference(std::span<const float> a, std::span<const float> b) {
  REQUIRE(a.size() == b.size());
  float largest = 0.0f;
  for (size_t i = 0; i < a.size(); ++i) {
    const float difference = std::abs(a[i] - b[i]);
    if (!(difference <= largest)) largest = difference;  // keeps NaN
  }
  return largest;
}

// Checks what the rows of `prompt` give, or the last ones: logits or final hidden states, flattened. `allowance` is for
// references with larger errors of their own.
inline void CheckRows(const AnyModel& model, const std::vector<int32_t>& prompt, Want want,
                      std::span<const float> expected, const RuntimeConfig& runtime = kExact, float allowance = 1.0f) {
  Workspace workspace = *CreateWorkspace({.threads = 1});
  KVCache cache = *CreateKVCache(LayoutOf(model.spec()), runtime);
  const auto size = static_cast<size_t>(want == Want::kLogits ? model.spec().vocab_size : model.spec().model_dim);
  std::vector<Want> wants(prompt.size(), Want::kNothing);
  REQUIRE(expected.size() <= prompt.size() * size);
  std::fill_n(wants.rbegin(), expected.size() / size, want);
  const auto outputs = model.Forward(Batch().Add(cache, prompt, wants), workspace);
  REQUIRE(outputs);
  std::vector<float> computed;
  for (size_t i = 0; i < outputs->size(); ++i)
    computed.insert(computed.end(), (*outputs)[i].begin(), (*outputs)[i].end());
  CHECK(LargestDifference(computed, expected) <= allowance * Tolerance(model.spec(), expected));
}

// Returns the `count` most likely tokens, one after the other, that follow `prompt`.
inline std::vector<int32_t> Greedy(const AnyModel& model, const std::vector<int32_t>& prompt, size_t count,
                                   const RuntimeConfig& runtime = kExact) {
  Workspace workspace = *CreateWorkspace({.threads = 1});
  KVCache cache = *CreateKVCache(LayoutOf(model.spec()), runtime);
  std::vector<int32_t> next = prompt, story;
  while (story.size() < count) {
    const auto logits = model.Forward(cache, next, workspace);
    REQUIRE(logits);
    story.push_back(ArgMax(*logits));
    next = {story.back()};
  }
  return story;
}

}  // namespace skald::testing

#endif  // SKALD_TESTS_SUPPORT_COMPARE_LOGITS_H_
