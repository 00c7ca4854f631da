// SPDX-License-Identifier: Apache-2.0
//
// The lossy codec: how far off it may be, what it has no form for, and what it does to what a model says next.

#include "skald/store/chunks/detail/int8_groups.h"
#include "skald/base/numbers/bf16.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "doctest/doctest.h"
#include "skald/store/backends/memory_store.h"
#include "skald/store/chunks/chunk_codec.h"
#include "skald/store/snapshots/snapshot.h"
#include "tests/support/small_models.h"

namespace skald::testing {
namespace int8_groups_test {

constexpr size_t kGroup = 32;
constexpr ChunkKey kKey{};

template <class T>
struct Format;
template <>
struct Format<float> {
  static constexpr ChunkElement kElement = ChunkElement::kF32;
  static constexpr float kRounding = 0x1p-24f;  // half a unit in the last place, relative
  static constexpr float kSmallest = 0x1p-149f, kLargest = std::numeric_limits<float>::max();
};
template <>
struct Format<bf16> {
  static constexpr ChunkElement kElement = ChunkElement::kBF16;
  static constexpr float kRounding = 0x1p-8f, kSmallest = 0x1p-133f, kLargest = 0x1.FEp127f;
};
template <>
struct Format<hwy::float16_t> {
  static constexpr ChunkElement kElement = ChunkElement::kF16;
  static constexpr float kRounding = 0x1p-11f, kSmallest = 0x1p-24f, kLargest = 65504.0f;
};
#define SKALD_ELEMENTS float, bf16, hwy::float16_t

template <class T>
ChunkBytes ContentOf(const std::vector<float>& values) {
  ChunkBytes content(values.size() * sizeof(T));
  for (size_t i = 0; i < values.size(); ++i) {
    const T element = internal::RoundTo<T>(values[i]);
    std::memcpy(content.data() + i * sizeof element, &element, sizeof element);
  }
  return content;
}

template <class T>
std::vector<float> ValuesOf(const ChunkBytes& content) {
  std::vector<float> values(content.size() / sizeof(T));
  for (size_t i = 0; i < values.size(); ++i) values[i] = internal::FloatOf(internal::LoadAt<T>(content, i * sizeof(T)));
  return values;
}

template <class T>
std::vector<float> ThereAndBack(const std::vector<float>& values) {
  const auto chunk =
      EncodeChunk(kKey, {.element = Format<T>::kElement, .codec = ChunkCodec::kInt8Zstd}, ContentOf<T>(values));
  REQUIRE(chunk);
  const auto decoded = DecodeChunk(kKey, *chunk);
  REQUIRE(decoded);
  return ValuesOf<T>(decoded->content);
}

// Checks the error that int8_groups.h promises, for values that are exact as T.
template <class T>
void CheckBound(const std::vector<float>& values) {
  const std::vector<float> found = ThereAndBack<T>(values);
  REQUIRE(found.size() == values.size());
  for (size_t begin = 0; begin < values.size(); begin += kGroup) {
    const size_t end = std::min(begin + kGroup, values.size());
    double largest = 0, error = 0;
    for (size_t i = begin; i < end; ++i) {
      largest = std::max(largest, std::abs(double{values[i]}));
      error = std::max(error, std::abs(double{values[i]} - found[i]));
    }
    CAPTURE(begin);
    CAPTURE(largest);
    // The scale itself is rounded too, by up to half the smallest float, and that counts 127 times.
    CHECK(error <= largest / 254 + largest * (Format<T>::kRounding + 1e-6) + Format<T>::kSmallest / 2 + 127 * 0x1p-150);
  }
}

TEST_CASE_TEMPLATE("each group is off by 1/254 of its largest magnitude at most", T, SKALD_ELEMENTS) {
  std::mt19937 random(1);
  for (const size_t count : {0u, 1u, 31u, 32u, 33u, 1000u}) {
    std::vector<float> values(count);
    for (size_t i = 0; i < count; ++i) {
      const float magnitude = std::ldexp(1.0f, static_cast<int>(i / kGroup % 13) * 2 - 12);
      values[i] = magnitude * std::normal_distribution<float>()(random);
    }
    CheckBound<T>(ValuesOf<T>(ContentOf<T>(values)));
  }
}

TEST_CASE_TEMPLATE("so are the largest and the smallest numbers there are", T, SKALD_ELEMENTS) {
  const float largest = Format<T>::kLargest, smallest = Format<T>::kSmallest;
  CheckBound<T>({largest, -largest, largest / 2, 1.0f, 0.0f, -0.0f});
  CheckBound<T>({smallest, -3 * smallest, 100 * smallest, 0.0f});
  CheckBound<T>(std::vector<float>(100, 200 * smallest));
  CHECK(ThereAndBack<T>(std::vector<float>(40, -0.0f)) == std::vector<float>(40, 0.0f));
}

TEST_CASE_TEMPLATE("multiples of a power of two up to 127 are exact", T, SKALD_ELEMENTS) {
  std::vector<float> values;
  for (int i = -127; i <= 127; ++i) {
    if (values.size() % kGroup == 0) values.push_back(127 * 0.125f);
    values.push_back(static_cast<float>(i) * 0.125f);
  }
  CHECK(ThereAndBack<T>(values) == values);
}

TEST_CASE_TEMPLATE("infinities and NaN are refused, and the error says where they are", T, SKALD_ELEMENTS) {
  for (const float bad : {INFINITY, -INFINITY, NAN}) {
    std::vector<float> values(70, 1.0f);
    values[65] = bad;
    const auto chunk =
        EncodeChunk(kKey, {.element = Format<T>::kElement, .codec = ChunkCodec::kInt8Zstd}, ContentOf<T>(values));
    REQUIRE_FALSE(chunk);
    CHECK(chunk.error().code == ErrorCode::kInvalidArgument);
    CHECK(chunk.error().message.find("values from 64 on") != std::string::npos);
  }
}

// A chunk of one group, its parts as they are, so that a test can write into them.
ChunkBytes OneGroup(ChunkElement element, float scale, int8_t value) {
  const size_t size = SizeOf(element);
  ChunkBytes chunk(kChunkHeaderBytes + 5 * sizeof(uint64_t));
  for (size_t part = 0; part < 5; ++part) {
    internal::StoreAt(std::span(chunk), kChunkHeaderBytes + part * sizeof(uint64_t), uint64_t{part < 4 ? 1u : 2u});
  }
  const auto* const bytes = reinterpret_cast<const std::byte*>(&scale);
  chunk.insert(chunk.end(), bytes, bytes + sizeof scale);
  chunk.insert(chunk.end(), {std::byte{1}, static_cast<std::byte>(value)});
  internal::WriteChunkHeader(kKey, {.element = element, .codec = ChunkCodec::kInt8Zstd}, 2 * size, chunk);
  return chunk;
}

TEST_CASE_TEMPLATE("scales and values that no writer makes are refused behind a right checksum", T, SKALD_ELEMENTS) {
  const ChunkElement element = Format<T>::kElement;
  const auto decoded = DecodeChunk(kKey, OneGroup(element, 0.5f, -127));
  REQUIRE(decoded);
  CHECK(ValuesOf<T>(decoded->content) == std::vector<float>{0.5f, -63.5f});
  const float too_large = Format<T>::kLargest / 126;
  for (const ChunkBytes& chunk :
       {OneGroup(element, NAN, 1), OneGroup(element, INFINITY, 1), OneGroup(element, -0.5f, 1),
        OneGroup(element, too_large, 1), OneGroup(element, 0.5f, -128)}) {
    const auto refused = DecodeChunk(kKey, chunk);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().code == ErrorCode::kDataLoss);
    CHECK(refused.error().message.find("impossible scale or value") != std::string::npos);
  }
}

TEST_CASE("bytes in a lossy codec are refused") {
  ChunkBytes chunk = OneGroup(ChunkElement::kF32, 0.5f, 1);
  for (const ChunkElement element : {ChunkElement::kBytes, ChunkElement::kI8}) {
    internal::WriteChunkHeader(kKey, {.element = element, .codec = ChunkCodec::kInt8Zstd}, 2, chunk);
    CHECK(DecodeChunk(kKey, chunk).error().message.find("its codec is for numbers") != std::string::npos);
  }
}

// The largest difference of the next token's logits to those of the conversation as it was, relative to the largest
// logit; and how many bytes the lossy snapshot takes of the lossless one's.
void CheckLossySnapshot(const SmallModel& small, DType type, double allowed) {
  const RuntimeConfig runtime = {.kv_type = type, .rewind_tokens = 2};
  const RandomModel model(small, 4);
  const std::vector<int32_t> tokens = RandomTokens(small, 8, 301);
  Workspace workspace = *CreateWorkspace({.threads = 1});
  KVCache cache = NewCache(small, runtime);
  REQUIRE(model.Forward(cache, std::span<const int32_t>(tokens).first(300), workspace));
  const SnapshotOptions lossy{ChunkCodec::kInt8Zstd};
  MemoryStore store(kUnlimited), lossless(kUnlimited);
  const ChunkKey key = *SaveSnapshot(cache, {}, {}, store, lossy);
  REQUIRE(SaveSnapshot(cache, {}, {}, lossless));
  const std::vector<ChunkKey> keys = *store.List();
  for (const ChunkKey& chunk : keys) CHECK_FALSE(*lossless.Has(chunk));

  auto snapshot = LoadSnapshot(store, key, {}, NewPool(small, runtime));
  REQUIRE(snapshot);
  CHECK(snapshot->cache.size() == 300);
  CHECK(snapshot->cache.exact_tokens() == 0);
  const auto last = std::span<const int32_t>(tokens).subspan(300);
  const std::vector<float> expected = AllLogits(model, cache, last, 1, workspace);
  const std::vector<float> found = AllLogits(model, snapshot->cache, last, 1, workspace);
  double largest = 0, difference = 0;
  for (size_t i = 0; i < expected.size(); ++i) {
    largest = std::max(largest, std::abs(double{expected[i]}));
    difference = std::max(difference, std::abs(double{expected[i]} - found[i]));
  }
  MESSAGE(small.name, ", ", NameOf(type), ": logits off by ", difference / largest, " of the largest; ",
          100 * store.used_bytes() / lossless.used_bytes(), " % of the lossless bytes");
  CHECK(difference <= allowed * largest);
  CHECK(*SnapshotBytes(snapshot->cache, {}, {}, lossy) <= *SnapshotBytes(cache, {}, {}, {ChunkCodec::kNone}));
}

TEST_CASE("a lossy snapshot loads, is marked as inexact, and says nearly the same") {
  for (const DType type : {DType::kBF16, DType::kF32}) {
    CheckLossySnapshot(SmallModelNamed("one-layer"), type, 0.05);
    CheckLossySnapshot(SmallModelNamed("all-features"), type, 0.05);
    CheckLossySnapshot(SmallModelNamed("hybrid"), type, 0.05);
  }
  // Recurrent states are never lossy, so here nothing is lost.
  CheckLossySnapshot(SmallModelNamed("small-mamba2"), DType::kBF16, 0);
}

TEST_CASE("a cache of int8 codes refuses the lossy codec, and nothing is put") {
  const SmallModel& small = SmallModelNamed("one-layer");
  const RandomModel model(small, 4);
  Workspace workspace = *CreateWorkspace({.threads = 1});
  KVCache cache = NewCache(small, {.kv_type = DType::kI8});
  REQUIRE(model.Forward(cache, RandomTokens(small, 8, 40), workspace));
  MemoryStore store(kUnlimited);
  const auto saved = SaveSnapshot(cache, {}, {}, store, {ChunkCodec::kInt8Zstd});
  REQUIRE_FALSE(saved);
  CHECK(saved.error().code == ErrorCode::kInvalidArgument);
  CHECK(saved.error().message.find("kv_type I8") != std::string::npos);
  CHECK(store.List()->empty());
}

}  // namespace int8_groups_test
}  // namespace skald::testing
