// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "skald/base/numbers/bf16.h"
#include "skald/kernels/kernels.h"
#include "tests/reference/attention.h"
#include "tests/reference/rope.h"
#include "tests/support/cached_sequence.h"
#include "tests/support/kernel_data.h"

namespace skald::testing {
namespace kv_test {

template <class T>
struct StoredTokens {
  StoredTokens(size_t kv_heads, size_t head_dim, size_t block_tokens, size_t tokens, size_t latent_dim = 0)
      : keys(RandomFloats(1, tokens * kv_heads * head_dim)),
        values(RandomFloats(2, tokens * kv_heads * head_dim)),
        cache(SpaciousGeometry<T>(kv_heads, head_dim, block_tokens, latent_dim), tokens) {
    cache.Store(keys, values, 0, tokens);
  }

  size_t Index(size_t position, size_t head, size_t d) const {
    return (position * cache.geometry().kv_heads + head) * cache.geometry().head_dim + d;
  }

  std::vector<float> keys, values;
  CachedSequence<T> cache;
};

TEST_CASE_TEMPLATE("stored keys and values are found where the layout puts them", T, float, bf16, int8_t) {
  for (const size_t head_dim : {8, 16, 20, 64}) {
    StoredTokens<T> stored(3, head_dim, 32, 70);
    size_t wrong = 0;
    for (size_t position = 0; position < 70; ++position) {
      for (size_t head = 0; head < 3; ++head) {
        const size_t i = stored.Index(position, head, 0);
        const reference::Cached key = reference::CachedAs<T>(&stored.keys[i], head_dim);
        const reference::Cached value = reference::CachedAs<T>(&stored.values[i], head_dim);
        for (size_t d = 0; d < head_dim; ++d) {
          wrong += stored.cache.Key(position, head, d) != key.numbers[d] * key.scale;
          wrong += stored.cache.Value(position, head, d) != value.numbers[d] * value.scale;
        }
        for (size_t d = head_dim; d < RoundUp(head_dim, kTile); ++d) {
          wrong += stored.cache.Key(position, head, d) != 0.0f;
        }
      }
    }
    CHECK(wrong == 0);
  }
}

TEST_CASE_TEMPLATE("storing a token touches no other token and nothing outside its layer", T, float, bf16, int8_t) {
  // Bytes that are the same for different old contents were written.
  CachedSequence<T> ones(SpaciousGeometry<T>(2, 20, 64), 64, 0, 0xFF), zeros(ones.geometry(), 64, 0, 0);
  const std::vector<float> data = RandomFloats(3, 64 * 40);
  ones.Store(data, data, 17, 18);
  zeros.Store(data, data, 17, 18);
  size_t written = 0;
  for (size_t i = 0; i < ones.BlockBytes(); ++i) written += ones.block(0)[i] == zeros.block(0)[i];
  if constexpr (std::is_same_v<T, int8_t>) {
    CHECK(written == 2 * (RoundUp(20, kTile) + RoundUp(20, kLanes) + 2 * sizeof(float)));
  } else {
    CHECK(written == 2 * (RoundUp(20, kTile) + 20) * sizeof(T));
  }
}

TEST_CASE("codes are as large as int8 allows, zero for magnitudes that do not count, of no scale without finite ones") {
  constexpr size_t kDim = 20;
  std::vector<float> keys(4 * kDim, 0.0f), values(4 * kDim, 0.0f);
  keys[3] = -0x1p-99f;
  keys[kDim + 3] = -0x1p-101f;
  values[2 * kDim + 19] = kNaN;
  values[3 * kDim] = 0x1.fffffep127f;
  values[3 * kDim + 1] = -0x1.fffffep127f;
  CachedSequence<int8_t> cache(SpaciousGeometry<int8_t>(1, kDim, 32), 4);
  cache.Store(keys, values, 0, 4);
  CHECK(cache.Key(0, 0, 3) == 127.0f * (-0x1p-99f / 127.0f));
  CHECK(cache.Key(1, 0, 3) == 0.0f);
  CHECK(std::isnan(cache.Value(2, 0, 0)));
  CHECK(cache.Value(3, 0, 1) == -cache.Value(3, 0, 0));
  CHECK(cache.Value(3, 0, 0) >= 0x1.fffffcp127f);
}

TEST_CASE_TEMPLATE("tokens stored in pieces equal all tokens stored at once", T, float, bf16, int8_t) {
  StoredTokens<T> whole(2, 20, 32, 70);
  CachedSequence<T> pieces(SpaciousGeometry<T>(2, 20, 32), 70);
  size_t begin = 0;
  for (const size_t end : {1, 4, 5, 33, 70}) {
    pieces.Store(whole.keys, whole.values, begin, end);
    begin = end;
  }
  size_t wrong = 0;
  for (size_t position = 0; position < 70; ++position) {
    for (size_t d = 0; d < 20; ++d) {
      wrong += pieces.Key(position, 1, d) != whole.cache.Key(position, 1, d);
      wrong += pieces.Value(position, 1, d) != whole.cache.Value(position, 1, d);
    }
  }
  CHECK(wrong == 0);
}

// Moves `count` tokens from source to target, in one cache, and compares with the tokens as they were.
template <class T>
void CheckMove(size_t head_dim, size_t rotary_dim, size_t source, size_t target, size_t count, size_t latent_dim = 0) {
  CAPTURE(source);
  CAPTURE(target);
  StoredTokens<T> moved(2, head_dim, 64, 128, latent_dim), original(2, head_dim, 64, 128, latent_dim);
  std::vector<float> cos, sin;
  for (size_t i = 0; i < rotary_dim / 2; ++i) {
    cos.push_back(std::cos(0.3f * static_cast<float>(i + 1)));
    sin.push_back(std::sin(0.3f * static_cast<float>(i + 1)));
  }
  Kernels<>::MoveKV<T>({.source = moved.cache.block(source / 64),
                        .target = moved.cache.block(target / 64),
                        .source_slot = source % 64,
                        .target_slot = target % 64,
                        .count = count,
                        .cos = cos.data(),
                        .sin = sin.data(),
                        .rotary_dim = rotary_dim,
                        .geometry = moved.cache.geometry()});
  for (size_t position = 0; position < 128; ++position) {
    const bool is_target = position >= target && position < target + count;
    const size_t from = is_target ? position - target + source : position;
    for (size_t head = 0; head < 2; ++head) {
      std::vector<float> key, expected_key, value, expected_value;
      for (size_t d = 0; d < head_dim; ++d) {
        key.push_back(moved.cache.Key(position, head, d));
        value.push_back(moved.cache.Value(position, head, d));
        expected_key.push_back(original.cache.Key(from, head, d));
        expected_value.push_back(original.cache.Value(from, head, d));
      }
      if (is_target) {
        reference::RotateHead(expected_key.data(), cos.data(), sin.data(), rotary_dim);
        const reference::Cached rounded = reference::CachedAs<T>(expected_key.data(), head_dim);
        for (size_t d = 0; d < head_dim; ++d) expected_key[d] = rounded.numbers[d] * rounded.scale;
      }
      const double bound = sizeof(T) == 4 ? 2 * kEpsilon : (sizeof(T) == 1 ? 4 : 2) * kBF16Epsilon;
      CHECK(Difference(key, expected_key, bound) == "");
      if (latent_dim == 0) CHECK(BitDifference(value, expected_value) == "");
    }
  }
}

TEST_CASE_TEMPLATE("moved tokens keep their values, and their keys are rotated", T, float, bf16, int8_t) {
  CheckMove<T>(24, 24, 3, 64 + 10, 20);
  CheckMove<T>(8, 8, 64, 0, 64);
  CheckMove<T>(20, 10, 1, 65, 17);
  CheckMove<T>(20, 20, 5, 70, 0);
}

TEST_CASE_TEMPLATE("keys whose elements are values are all that is stored and moved", T, float, bf16, int8_t) {
  CheckMove<T>(36, 12, 3, 64 + 10, 20, 24);
  CachedSequence<T> ones(SpaciousGeometry<T>(2, 36, 64, 24), 64, 0, 0xFF), zeros(ones.geometry(), 64, 0, 0);
  ones.Store(RandomFloats(3, 64 * 72), {}, 16, 18);
  zeros.Store(RandomFloats(3, 64 * 72), {}, 16, 18);
  size_t written = 0;
  for (size_t i = 0; i < ones.BlockBytes(); ++i) written += ones.block(0)[i] == zeros.block(0)[i];
  CHECK(written == 2 * 2 * (RoundUp(36, kTile) * sizeof(T) + ScaleBytes<T>(1)));
}

TEST_CASE_TEMPLATE("tokens may move within their block in either direction", T, float, bf16, int8_t) {
  CheckMove<T>(16, 16, 7, 2, 30);
  CheckMove<T>(16, 16, 2, 7, 30);
}

}  // namespace kv_test
}  // namespace skald::testing
