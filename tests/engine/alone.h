// SPDX-License-Identifier: Apache-2.0
//
// The answer to a request that is computed alone, token by token and without an engine: every engine must give the
// same.

#ifndef SKALD_TESTS_ENGINE_ALONE_H_
#define SKALD_TESTS_ENGINE_ALONE_H_

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "doctest/doctest.h"
#include "skald/base/numbers/xxh64.h"
#include "skald/engine/requests/request.h"
#include "skald/sampling/penalties.h"
#include "skald/sampling/sampler.h"
#include "tests/support/small_models.h"

namespace skald::testing {

// Some models turn keys otherwise where contexts may be long.
inline constexpr uint32_t kMaxContext = 300;

// A third of all tokens may come, which ones depends on how many came before.
class EveryThird : public TokenFilter {
 public:
  explicit EveryThird(int32_t vocab_size) : vocab_size_(vocab_size), words_((vocab_size + 63) / 64) {}

  Result<std::unique_ptr<TokenFilter>> Clone() const override { return std::make_unique<EveryThird>(*this); }
  Result<std::span<const uint64_t>> Allowed() override {
    std::fill(words_.begin(), words_.end(), 0);
    for (int32_t id = 0; id < vocab_size_; ++id) words_[id / 64] |= uint64_t{Allows(id)} << id % 64;
    return words_;
  }
  Result<void> Accept(int32_t id) override {
    if (!Allows(id)) return Fail(ErrorCode::kInvalidArgument, "not allowed");
    sum_ = sum_ * 31 + static_cast<uint32_t>(id);
    return {};
  }
  bool IsComplete() const override { return false; }

 private:
  bool Allows(int32_t id) const { return (static_cast<uint32_t>(id) + sum_) % 3 == 0; }

  int32_t vocab_size_;
  uint32_t sum_ = 0;
  std::vector<uint64_t> words_;
};

struct Expected {
  std::vector<int32_t> tokens = {};
  std::vector<float> logprobs = {};
  uint64_t logits_digest = 0;
  FinishReason finish = FinishReason::kMaxTokens;
};

// Of a prompt's tokens, from the second on.
inline std::vector<float> PromptLogprobsAlone(const RandomModel& model, const Request& request) {
  const std::vector<float> logits =
      AllLogits(model, request.prompt, {.max_tokens = kMaxContext, .kv_type = DType::kF32});
  const size_t vocab = logits.size() / request.prompt.size();
  std::vector<float> logprobs = {};
  for (size_t i = 1; i < request.prompt.size(); ++i) {
    const std::span<const float> row = std::span(logits).subspan((i - 1) * vocab, vocab);
    logprobs.push_back(static_cast<float>(row[static_cast<size_t>(request.prompt[i])] - LogSumExp(row)));
  }
  return logprobs;
}

inline std::vector<float> EmbeddingAlone(const RandomModel& model, const Request& request, Workspace& workspace) {
  KVCache cache = NewCache(model.small(), {.max_tokens = kMaxContext, .kv_type = DType::kF32});
  const std::vector<Want> wants(request.prompt.size(), Want::kHidden);
  const auto rows = model.Forward(Batch().Add(cache, request.prompt, wants), workspace);
  REQUIRE(rows);
  const size_t first = request.embedding == PromptEmbedding::kMean ? 0 : rows->size() - 1;
  std::vector<double> sums((*rows)[0].size());
  for (size_t row = first; row < rows->size(); ++row) {
    for (size_t i = 0; i < sums.size(); ++i) sums[i] += (*rows)[row][i];
  }
  std::vector<float> embedding;
  for (const double sum : sums)
    embedding.push_back(static_cast<float>(sum / static_cast<double>(rows->size() - first)));
  return embedding;
}

// Draws what follows the prompt and `drawn`.
inline Result<SampledToken> DrawAlone(const Request& request, std::span<const int32_t> drawn,
                                      std::span<const float> logits, const SamplerSettings& settings,
                                      const SamplerState& state, TokenFilter* filter) {
  std::vector<int32_t> tokens = request.prompt;
  tokens.insert(tokens.end(), drawn.begin(), drawn.end());
  const uint64_t position = tokens.size();
  if (request.own_sampler) {
    DrawContext context = {tokens, request.prompt.size(), position, settings, state};
    if (filter != nullptr) context.allowed = *filter->Allowed();
    SamplerScratch scratch;
    return request.own_sampler.Draw(logits, context, scratch);
  }
  std::vector<float> row(logits.begin(), logits.end());
  if (filter != nullptr) {
    const auto allowed = *filter->Allowed();
    for (size_t i = 0; i < row.size(); ++i) {
      if (!IsAllowed(allowed, static_cast<int32_t>(i))) row[i] = -INFINITY;
    }
  }
  return Sample(row, settings, state, position);
}

// A request computed alone, token by token, without an engine.
inline Expected Alone(const RandomModel& model, const Request& request, uint32_t sample, uint32_t max_tokens,
                      Workspace& workspace) {
  Expected expected;
  SamplerSettings settings = request.sampler;
  settings.random.stream += sample;
  SamplerState state;
  if (request.penalize_prompt) REQUIRE(ObserveTokens(settings, request.prompt, state));
  std::unique_ptr<TokenFilter> filter;
  if (request.filter != nullptr) filter = *request.filter->Clone();
  KVCache cache = NewCache(model.small(), {.max_tokens = kMaxContext, .kv_type = DType::kF32});
  std::vector<int32_t> next = request.prompt;
  while (expected.tokens.size() < max_tokens) {
    const auto logits = model.Forward(cache, next, workspace);
    REQUIRE(logits);
    const std::vector<float> raw(logits->begin(), logits->end());
    expected.logits_digest = Xxh64(std::as_bytes(std::span(raw)), expected.logits_digest);
    const auto drawn = DrawAlone(request, expected.tokens, raw, settings, state, filter.get());
    REQUIRE(drawn);
    if (std::ranges::count(request.end_tokens, drawn->id) > 0) {
      expected.finish = FinishReason::kEndToken;
      return expected;
    }
    if (filter != nullptr) REQUIRE(filter->Accept(drawn->id));
    REQUIRE(ObserveToken(settings, drawn->id, state));
    expected.tokens.push_back(drawn->id);
    // A sampler of the request's own says itself what it reports.
    expected.logprobs.push_back(request.own_sampler
                                    ? drawn->logprob.value_or(0.0f)
                                    : static_cast<float>(raw[static_cast<size_t>(drawn->id)] - LogSumExp(raw)));
    next = {drawn->id};
  }
  return expected;
}

}  // namespace skald::testing

#endif  // SKALD_TESTS_ENGINE_ALONE_H_
