// SPDX-License-Identifier: Apache-2.0
//
// Compares a head that guesses tokens with what make_heads.py recorded of it: its logits, and the guesses that follow.

#ifndef SKALD_TESTS_SUPPORT_CHECK_HEAD_H_
#define SKALD_TESTS_SUPPORT_CHECK_HEAD_H_

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "doctest/doctest.h"
#include "skald/engine/speculation/head_drafter.h"
#include "skald/model/heads/draft_head.h"
#include "tests/support/compare_logits.h"
#include "tests/support/reference_tensors.h"
#include "tests/support/test_data.h"

namespace skald::testing {

using Observe = std::function<void(const HookRows&)>;  // of the stream before each block and the head

// Computes a text with a model, and returns the last block's output.
inline std::vector<float> ComputeWatched(const AnyModel& model, const std::vector<int32_t>& tokens,
                                         const Observe& observe) {
  Workspace workspace = *CreateWorkspace({.threads = 1});
  KVCache cache = *CreateKVCache(model.layout(), kExact);
  std::vector<float> rows;
  const auto watch = [&](const HookRows& stream) {
    observe(stream);
    if (stream.place.block == model.spec().blocks.size()) {
      rows.assign(stream.values().begin(), stream.values().end());
    }
  };
  REQUIRE(model.Forward(cache, tokens, workspace, {.hooks = {{"stream.*", watch}}}));
  return rows;
}

// The rows that a head reads of a text.
inline std::vector<float> RowsFor(const DraftHead& head, const AnyModel& model, const std::vector<int32_t>& tokens) {
  const auto dim = static_cast<size_t>(model.spec().model_dim);
  std::vector<float> rows(tokens.size() * head.row_floats());
  ComputeWatched(model, tokens, [&](const HookRows& stream) {
    const auto place = std::ranges::find(head.watches(), stream.place.block);
    if (place == head.watches().end()) return;
    const size_t column = static_cast<size_t>(place - head.watches().begin()) * dim;
    for (size_t i = 0; i < stream.rows(); ++i) {
      std::copy_n(stream.row(i).data(), dim, rows.data() + i * head.row_floats() + column);
    }
  });
  return rows;
}

// Returns what a head makes of arbitrary tokens and rows of the model, and of arbitrary rows of its own: its layers'
// inputs, then logits.
inline std::vector<float> HeadOutputs(const DraftHead& head) {
  const std::vector<int32_t> tokens = {3, 17, 3, 250};
  const auto dim = static_cast<size_t>(head.body().spec().model_dim);
  Workspace workspace = *CreateWorkspace({.threads = 1});
  std::vector<float> rows(tokens.size() * head.row_floats()), logits;
  for (size_t i = 0; i < rows.size(); ++i) rows[i] = std::sin(static_cast<float>(i * i));
  AlignedBuffer<float> inputs;
  REQUIRE(head.Inputs(tokens, rows, DraftHead::From::kModel, workspace, inputs));
  REQUIRE(head.Logits(std::span(rows).first(tokens.size() * dim), workspace, logits));
  logits.insert(logits.begin(), inputs.data(), inputs.data() + tokens.size() * dim);
  return logits;
}

// Minus infinity, of tokens that a head does not know, counts as a number.
inline std::vector<float> Finite(std::vector<float> logits) {
  for (float& logit : logits) logit = std::max(logit, -1000.0f);
  return logits;
}

// `golden` is the file of what was recorded, in the folder of the family's data.
inline void CheckHead(const AnyModel& model, const DraftHead& head, const std::string& family,
                      const std::string& golden) {
  const ReferenceTensors reference(GoldenPath(family + "/golden.safetensors"));
  const ReferenceTensors of_head(GoldenPath(family + "/" + golden));
  Workspace workspace = *CreateWorkspace({.threads = 1});
  for (size_t row = 0; row < 2; ++row) {
    const std::vector<int32_t> text = reference.Tokens("input_ids", row), later(text.begin() + 1, text.end());
    const std::vector<float> rows = RowsFor(head, model, text);
    const std::span<const float> known = std::span(rows).first(later.size() * head.row_floats());
    AlignedBuffer<float> inputs;
    REQUIRE(head.Inputs(later, known, DraftHead::From::kModel, workspace, inputs));
    const std::vector<float> stream = ComputeWatched(head.body(), later, [&](const HookRows& before) {
      if (before.place.block == head.entry()) std::copy_n(inputs.data(), before.values().size(), before.data);
    });
    std::vector<float> logits;
    REQUIRE(head.Logits(stream, workspace, logits));
    const std::vector<float> expected = of_head.Floats("logits", row), known_tokens = Finite(expected);
    // Its layers come after all of the model's, whose errors its norms make larger.
    const float largest = std::ranges::max(expected) - std::min(0.0f, std::ranges::min(known_tokens));
    const std::vector<float> scale = {std::min(largest, 50.0f)};
    CHECK(LargestDifference(Finite(logits), known_tokens) <= 8.0f * Tolerance(model.spec(), scale));

    HeadDrafter drafter(head, *CreateBlockPool(head.body().layout(), kExact), workspace);
    const SamplerSettings greedy = {.temperature = 0.0f};
    // The prompt in two pieces.
    const uint32_t half = 20;
    DraftTask read = {1, text, &greedy, 0, {0, known.first(half * head.row_floats())}};
    REQUIRE(drafter.Draft({&read, 1}));
    CHECK(read.drafts.empty());
    DraftTask guess = {1, text, &greedy, 2, {half, known.subspan(half * head.row_floats())}};
    REQUIRE(drafter.Draft({&guess, 1}));
    CHECK(guess.drafts == of_head.Tokens("guesses", row));
  }
}

}  // namespace skald::testing

#endif  // SKALD_TESTS_SUPPORT_CHECK_HEAD_H_
