// SPDX-License-Identifier: Apache-2.0
//
// Rewinding is exact: what is computed after it equals, bit for bit, what is computed by a conversation that never saw
// the tokens taken back.

#include <algorithm>
#include <cstring>
#include <span>
#include <vector>

#include "doctest/doctest.h"
#include "skald/cache/create.h"
#include "skald/layers/kinds/recurrent/mamba2.h"
#include "tests/support/small_models.h"

namespace skald::testing {
namespace rewind_test {

const ForwardOptions kSmallPasses = {.pass_tokens = 7};

struct Fixture {
  const SmallModel& small;
  RandomModel model{small, 9};
  std::vector<int32_t> tokens = RandomTokens(small, 2, 120), drafts = RandomTokens(small, 3, 8);
  Workspace workspace = *CreateWorkspace({.threads = 1});

  // Logits of tokens [begin, end) after those before them.
  std::vector<float> Expected(std::span<const int32_t> all, size_t begin) {
    const std::vector<float> logits = AllLogits(model, all);
    return {logits.begin() + static_cast<ptrdiff_t>(begin * small.spec.vocab_size), logits.end()};
  }
};

bool SameBits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

SKALD_LAW("rejecting drafted tokens at every depth equals never having drafted them", small) {
  Fixture f{small};
  const std::span<const int32_t> prompt = std::span<const int32_t>(f.tokens).first(60);
  for (const size_t chunk : {1u, 8u}) {  // drafts checked one by one, or together
    for (uint32_t rejected = 0; rejected <= 8; ++rejected) {
      CAPTURE(chunk);
      CAPTURE(rejected);
      KVCache cache = NewCache(small, {.rewind_tokens = 8});
      REQUIRE(f.model.Forward(cache, prompt, f.workspace, kSmallPasses));
      AllLogits(f.model, cache, f.drafts, chunk, f.workspace, kSmallPasses);
      const uint64_t used = cache.pool()->usage().used_bytes;
      REQUIRE(cache.Truncate(68 - rejected));
      CHECK(cache.pool()->usage().used_bytes <= used);  // nothing was copied

      std::vector<int32_t> kept(cache.tokens().begin(), cache.tokens().end());
      const std::span<const int32_t> rest = std::span<const int32_t>(f.tokens).last(20);
      kept.insert(kept.end(), rest.begin(), rest.end());
      CHECK(SameBits(AllLogits(f.model, cache, rest, 20, f.workspace, kSmallPasses), f.Expected(kept, 68 - rejected)));
    }
  }
}

SKALD_LAW("rewinding to any checkpoint and going on equals recomputing", small) {
  Fixture f{small};
  KVCache cache = NewCache(small, {.resume_point_every = 25, .max_resume_points = 4});
  const std::vector<float> expected = AllLogits(f.model, cache, f.tokens, f.tokens.size(), f.workspace, kSmallPasses);
  for (const uint32_t position : {100u, 75u, 50u, 25u, 0u}) {
    CAPTURE(position);
    REQUIRE(cache.Truncate(position));
    KVCache fork = *cache.Fork();
    const std::vector<float> again =
        AllLogits(f.model, fork, std::span<const int32_t>(f.tokens).subspan(position), 11, f.workspace);
    CHECK(SameBits(again, {expected.begin() + position * small.spec.vocab_size, expected.end()}));
  }
}

SKALD_LAW("replay gives the bits of states that were kept, whatever is drafted and rejected", small) {
  Fixture f{small};
  KVCache replaying = NewCache(small, {.rewind_tokens = 6});
  KVCache keeping = *CreateKVCache(KeepingStates(small.layout), {.rewind_tokens = 6});
  for (size_t begin = 0, turn = 0; begin + 9 <= f.tokens.size(); begin += 4, ++turn) {
    const size_t count = 1 + turn * 5 % 9;
    const std::span<const int32_t> drafted = std::span<const int32_t>(f.tokens).subspan(begin, count);
    CHECK(SameBits(AllLogits(f.model, replaying, drafted, 9, f.workspace, kSmallPasses),
                   AllLogits(f.model, keeping, drafted, 9, f.workspace, kSmallPasses)));
    const uint32_t left = replaying.size() - std::min<uint32_t>(replaying.size(), turn * 3 % 7);
    // Where the first rewind has left little to go back to, there is no further one.
    if (keeping.Truncate(left)) REQUIRE(replaying.Truncate(left));
  }
  CHECK(replaying.tokens().size() == keeping.tokens().size());
}

TEST_CASE("large states are replayed, small ones and those of other layers are kept") {
  for (const char* const name : {"hybrid-mixture", "delta-nets"}) {
    CHECK_MESSAGE(std::ranges::any_of(SmallModelNamed(name).layout.groups(), &CacheGroup::is_replayed), name);
  }
  CHECK_FALSE(std::ranges::any_of(SmallModelNamed("hybrid").layout.groups(), &CacheGroup::is_replayed));
  // Mamba-2 2.7B: 671 thousand floats of state, 5,456 that a token gives. With two state variables it keeps states.
  Mamba2 layer = {.heads = 80, .head_dim = 64, .state_dim = 128, .groups = 1, .conv_width = 4};
  CHECK(layer.State().input_floats == 5456);
  layer.state_dim = 2;
  CHECK(layer.State().input_floats == 0);
}

TEST_CASE("a hybrid model refuses positions of which it keeps no state, and loses nothing") {
  Fixture f{SmallModelNamed("hybrid")};
  KVCache cache = NewCache(f.small, {.resume_point_every = 50});
  REQUIRE(f.model.Forward(cache, std::span<const int32_t>(f.tokens).first(110), f.workspace));
  const auto refused = cache.Truncate(99);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().message.find("the nearest earlier resume point is 50") != std::string::npos);
  const std::span<const int32_t> rest = std::span<const int32_t>(f.tokens).subspan(110);
  CHECK(SameBits(AllLogits(f.model, cache, rest, 10, f.workspace), f.Expected(f.tokens, 110)));
}

}  // namespace rewind_test
}  // namespace skald::testing
