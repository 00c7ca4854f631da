// SPDX-License-Identifier: Apache-2.0
//
// Kinds of RoPE: none, of a part of each head, and LongRoPE, whose factors a cache's token limit chooses.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "doctest/doctest.h"
#include "skald/cache/create.h"
#include "skald/layers/standard_layers.h"
#include "skald/model/any_model.h"
#include "skald/model/load.h"
#include "skald/model/workspace.h"

namespace skald::testing {
namespace rope_kinds_test {

constexpr int kVocabSize = 60;
constexpr uint32_t kOriginalContext = 128;

RopeSpec LongRope() {
  return {.scaling = RopeScaling::kLongRope,
          .original_context = kOriginalContext,
          .factors = {1.5f, 3.0f, 7.0f},
          .short_factors = {1.0f, 1.1f, 1.3f},
          .attention_factor = 1.25f};
}

AnyModel OneLayer(int rotary_dim, const RopeSpec& rope) {
  ModelSpec spec = {.model_dim = 40, .vocab_size = kVocabSize, .tied_embeddings = true};
  Block& block = spec.blocks.emplace_back();
  block.layers.push_back(Attention{
      .heads = 4, .kv_heads = 2, .head_dim = 10, .rotary_dim = rotary_dim, .rope = rope, .query_pre_scale = 10});
  REQUIRE(WhyImpossible(spec) == nullptr);
  return AnyModel("one-layer", *RandomWeights(spec, 5, DType::kF32), StandardLayers::Functions());
}

RuntimeConfig Limit(uint32_t max_tokens) {
  return {.max_tokens = max_tokens, .kv_type = DType::kF32, .block_tokens = 32};
}

std::vector<int32_t> Tokens(size_t count) {
  std::vector<int32_t> tokens(count);
  for (size_t i = 0; i < count; ++i) tokens[i] = static_cast<int32_t>(i * i * 7 % kVocabSize);
  return tokens;
}

std::vector<float> Next(const AnyModel& model, KVCache& cache, std::span<const int32_t> tokens) {
  Workspace workspace = *CreateWorkspace({.threads = 1});
  const auto logits = model.Forward(cache, tokens, workspace);
  REQUIRE(logits);
  return {logits->begin(), logits->end()};
}

void CheckClose(const std::vector<float>& found, const std::vector<float>& expected) {
  float largest = 0.0f, error = 0.0f;
  for (size_t i = 0; i < expected.size(); ++i) {
    largest = std::max(largest, std::abs(expected[i]));
    error = std::max(error, std::abs(expected[i] - found[i]));
  }
  CHECK(error <= largest * 64 * std::numeric_limits<float>::epsilon());
}

TEST_CASE("in a one-layer model with any RoPE, erasing or moving tokens equals never having seen them elsewhere") {
  const std::vector<int32_t> tokens = Tokens(120);
  for (const AnyModel& model : {OneLayer(0, {}), OneLayer(6, {}), OneLayer(6, LongRope())}) {
    const CacheLayout layout = LayoutOf(model.spec());
    KVCache erased = *CreateKVCache(layout, Limit(300)), never = *CreateKVCache(layout, Limit(300));
    Next(model, erased, std::span(tokens).first(119));
    REQUIRE(erased.Erase(20, 71));
    std::vector<int32_t> kept(tokens.begin(), tokens.begin() + 20);
    kept.insert(kept.end(), tokens.begin() + 71, tokens.end());
    CheckClose(Next(model, erased, std::span(tokens).last(1)), Next(model, never, kept));

    KVCache moved = *CreateKVCache(layout, Limit(300)), direct = *CreateKVCache(layout, Limit(300));
    Next(model, moved, tokens);
    REQUIRE(moved.Shift(10, 50, 60));
    std::vector<int32_t> order = tokens;
    std::rotate(order.begin() + 10, order.begin() + 50, order.begin() + 100);
    Next(model, direct, order);
    const std::vector<int32_t> probe = {3};
    CheckClose(Next(model, moved, probe), Next(model, direct, probe));
  }
}

TEST_CASE("the token limit of a cache chooses the factors of a LongRoPE, and its length never does") {
  const AnyModel model = OneLayer(6, LongRope());
  const CacheLayout layout = LayoutOf(model.spec());
  const std::vector<int32_t> tokens = Tokens(kOriginalContext);
  const auto logits_with = [&](uint32_t limit, size_t count) {
    KVCache cache = *CreateKVCache(layout, Limit(limit));
    return Next(model, cache, std::span(tokens).first(count));
  };
  const size_t few = 40;
  CHECK(logits_with(kOriginalContext, few) == logits_with(few, few));
  CHECK(logits_with(kOriginalContext + 1, few) == logits_with(100000, few));
  CHECK(logits_with(kOriginalContext + 1, few) != logits_with(kOriginalContext, few));

  // Both as a RoPE with one list of factors has it.
  RopeSpec rope = LongRope();
  rope.short_factors.clear();
  KVCache long_one = *CreateKVCache(LayoutOf(OneLayer(6, rope).spec()), Limit(few));
  CHECK(Next(OneLayer(6, rope), long_one, std::span(tokens).first(few)) == logits_with(100000, few));
  rope.factors = LongRope().short_factors;
  KVCache short_one = *CreateKVCache(LayoutOf(OneLayer(6, rope).spec()), Limit(100000));
  CHECK(Next(OneLayer(6, rope), short_one, std::span(tokens).first(few)) == logits_with(few, few));

  // A conversation that grows past the first training's context is the same conversation, in any chunks.
  KVCache grown = *CreateKVCache(layout, Limit(300)), whole = *CreateKVCache(layout, Limit(300));
  const std::vector<int32_t> all = Tokens(200);
  Next(model, grown, std::span(all).first(kOriginalContext));
  KVCache fork = *grown.Fork();
  const std::vector<float> expected = Next(model, whole, all);
  CHECK(Next(model, grown, std::span(all).subspan(kOriginalContext)) == expected);
  CHECK(Next(model, fork, std::span(all).subspan(kOriginalContext)) == expected);
}

TEST_CASE("caches with other factors of a LongRoPE are of another layout") {
  const AnyModel model = OneLayer(6, LongRope());
  const CacheLayout layout = LayoutOf(model.spec());
  KVCache a = *CreateKVCache(layout, Limit(kOriginalContext)), b = *CreateKVCache(layout, Limit(kOriginalContext + 1));
  CHECK(a.pool()->fingerprint() == (*CreateBlockPool(layout, Limit(1)))->fingerprint());
  CHECK(b.pool()->fingerprint() == (*CreateBlockPool(layout, Limit(9999)))->fingerprint());
  CHECK(a.pool()->fingerprint() != b.pool()->fingerprint());
  const std::vector<int32_t> tokens = Tokens(3);
  Workspace workspace = *CreateWorkspace({.threads = 1});
  const auto mixed = model.Forward(Batch().Add(a, tokens).Add(b, tokens), workspace);
  REQUIRE_FALSE(mixed);
  CHECK(mixed.error().code == ErrorCode::kInvalidArgument);
  CHECK(mixed.error().message.find("another layout than that of sequence 0") != std::string::npos);
  CHECK(a.size() == 0);
}

TEST_CASE("RoPEs that cannot be are refused") {
  const auto why = [](const RopeSpec& rope, int rotary_dim = 6) {
    const Attention layer = {
        .heads = 4, .kv_heads = 2, .head_dim = 10, .rotary_dim = rotary_dim, .rope = rope, .query_pre_scale = 10};
    const char* const sentence = layer.WhyImpossible();
    return std::string(sentence == nullptr ? "possible" : sentence);
  };
  const auto changed = [](auto change) {
    RopeSpec rope = LongRope();
    change(rope);
    return rope;
  };
  CHECK(why(LongRope()) == "possible");
  CHECK(why({}, 0) == "possible");
  CHECK(why({.base = 5.0}, 0).find("would be ignored") != std::string::npos);
  CHECK(why({}, -2).find("not negative") != std::string::npos);
  CHECK(why({}, 5).find("must be even") != std::string::npos);
  CHECK(why(LongRope(), 8).find("one for each pair") != std::string::npos);
  CHECK(why(changed([](RopeSpec& r) { r.factors.clear(); })).find("needs factors") != std::string::npos);
  CHECK(why(changed([](RopeSpec& r) { r.scaling = RopeScaling::kNone; })).find("needs factors") != std::string::npos);
  CHECK(why(changed([](RopeSpec& r) { r.short_factors.pop_back(); })).find("one for each pair") != std::string::npos);
  CHECK(why(changed([](RopeSpec& r) { r.factors[1] = 0.0f; })).find("must be positive") != std::string::npos);
  CHECK(why(changed([](RopeSpec& r) { r.short_factors[1] = NAN; })).find("must be positive") != std::string::npos);
  CHECK(why(changed([](RopeSpec& r) { r.attention_factor = 0.0f; })).find("attention_factor") != std::string::npos);
  CHECK(why(changed([](RopeSpec& r) { r.original_context = 0.0; })).find("original_context") != std::string::npos);
  CHECK(why(changed([](RopeSpec& r) { r.factor = 2.0; })).find("would be ignored") != std::string::npos);
}

}  // namespace rope_kinds_test
}  // namespace skald::testing
