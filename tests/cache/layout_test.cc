// SPDX-License-Identifier: Apache-2.0

#include "skald/cache/layout/layout.h"
#include "skald/base/numbers/bf16.h"

#include "doctest/doctest.h"
#include "skald/families/config/model_config.h"
#include "tests/support/golden_configs.h"

namespace skald::testing {
namespace layout_test {

TEST_CASE("layers with the same kind of state form one group") {
  const CacheLayout layout = LayoutOf<GoldenGemma3>();
  REQUIRE(layout.groups().size() == 2);
  CHECK(layout.groups()[0].layers == 5);
  CHECK(layout.groups()[0].window == 8);
  CHECK(layout.groups()[0].rope.base == 10000.0);
  CHECK(layout.groups()[1].layers == 1);
  CHECK(layout.groups()[1].window == 0);
  CHECK(layout.groups()[1].rope.base == 1000000.0);
  CHECK(layout.layers()[4] == LayerSlot{0, 4});
  CHECK(layout.layers()[5] == LayerSlot{1, 0});
}

TEST_CASE("a layout has as many groups as there are kinds of state") {
  constexpr uint32_t kKinds = 12;
  CacheLayout layout(1);
  for (uint32_t round = 0; round < 2; ++round) {
    for (uint32_t kind = 0; kind < kKinds; ++kind) layout.AddLayer({.state_floats = 8 + kind});
  }
  REQUIRE(layout.groups().size() == kKinds);
  REQUIRE(layout.layers().size() == 2 * kKinds);
  for (uint32_t kind = 0; kind < kKinds; ++kind) {
    CHECK(layout.groups()[kind].layers == 2);
    CHECK(layout.groups()[kind].state_floats == 8 + kind);
    CHECK(layout.layers()[kKinds + kind] == LayerSlot{kind, 1});
  }
}

TEST_CASE("fingerprints tell layouts apart") {
  static_assert(LayoutOf<GoldenLlama>().Fingerprint() != LayoutOf<GoldenMistral>().Fingerprint());
  static_assert(LayoutOf<GoldenQwen2>().Fingerprint() != LayoutOf<GoldenQwen3>().Fingerprint());
  static_assert(LayoutOf<GoldenLlama>() == LayoutOf<GoldenLlama>());
}

struct OtherEpsilon : GoldenLlama {
  static constexpr float kNormEpsilon = 2 * GoldenLlama::kNormEpsilon;
};

TEST_CASE("layouts of the same form are of another model where any number of its Config differs") {
  const CacheLayout layout = LayoutOf<GoldenLlama>(), other = LayoutOf<OtherEpsilon>();
  REQUIRE(layout.groups().size() == other.groups().size());
  CHECK(layout.groups()[0] == other.groups()[0]);
  CHECK(layout != other);
  CHECK(layout.Fingerprint() != other.Fingerprint());
}

TEST_CASE("a block holds its layers' keys and values one after the other") {
  constexpr BlockGeometry block = BlockGeometry::Of({.layers = 3, .kv_heads = 2, .head_dim = 40}, 64, DType::kBF16);
  CHECK(block.key_bytes == 2 * 64 * 64 * 2);    // head_dim padded to a tile of 32
  CHECK(block.value_bytes == 2 * 48 * 64 * 2);  // and to a panel of 16
  CHECK(block.KeyOffset(0) == 0);
  CHECK(block.ValueOffset(2) + block.value_bytes == block.block_bytes());
  constexpr BlockGeometry codes = BlockGeometry::Of({.layers = 3, .kv_heads = 2, .head_dim = 40}, 64, DType::kI8);
  CHECK(codes.key_bytes == 2 * 64 * 64);
  CHECK(codes.ValueOffset(0) == codes.key_bytes + 2 * 64 * sizeof(float));  // keys, then their scales
  CHECK(codes.ValueScaleOffset(2) + codes.value_scale_bytes == codes.block_bytes());
}

TEST_CASE("of keys whose elements are values a block holds nothing but the keys") {
  constexpr CacheGroup latents = {.layers = 3, .kv_heads = 1, .head_dim = 576, .rotary_dim = 64, .latent_dim = 512};
  constexpr BlockGeometry block = BlockGeometry::Of(latents, 64, DType::kBF16);
  CHECK(block.block_bytes() == 3 * 64 * 576 * sizeof(bf16));
  constexpr BlockGeometry codes = BlockGeometry::Of(latents, 64, DType::kI8);
  CHECK(codes.block_bytes() == 3 * 64 * (576 + sizeof(float)));
  CacheLayout with, without;
  with.AddLayer(latents);
  without.AddLayer({.kv_heads = 1, .head_dim = 576, .rotary_dim = 64});
  CHECK(with.Fingerprint() != without.Fingerprint());
}

}  // namespace layout_test
}  // namespace skald::testing
