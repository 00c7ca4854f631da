// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "skald/base/numbers/bf16.h"
#include "skald/kernels/kernels.h"
#include "tests/reference/attention.h"
#include "tests/support/cached_sequence.h"
#include "tests/support/kernel_data.h"
#include "tests/support/saved_hashes.h"

namespace skald::testing {
namespace attention_test {

struct Shape {
  size_t heads, kv_heads, head_dim;
  size_t latent_dim = 0;  // of values that are elements of keys

  size_t value_dim() const { return latent_dim == 0 ? head_dim : latent_dim; }
};

// Queries of some rows over one sequence of `tokens` keys and values. Output rows are separated by NaN.
template <class T>
struct AttentionTest {
  static constexpr size_t kGap = 5;

  AttentionTest(Shape shape, size_t tokens, std::vector<uint32_t> positions, uint32_t seed = 7)
      : shape(shape),
        tokens(tokens),
        positions(std::move(positions)),
        queries(RandomFloats(seed, this->positions.size() * query_size(), 2.0f)),
        keys(RandomFloats(seed + 1, tokens * shape.kv_heads * shape.head_dim, 2.0f)),
        values(RandomFloats(seed + 2, tokens * shape.kv_heads * shape.head_dim)) {}

  size_t query_size() const { return shape.heads * shape.head_dim; }
  size_t output_stride() const { return shape.heads * shape.value_dim() + kGap; }
  size_t num_units() const { return positions.size() * shape.heads; }
  size_t first_visible(size_t row) const {
    const size_t end = positions[row] + 1;
    return window != 0 && end > window ? end - window : 0;
  }

  // Everything outside all rows' windows is left out of the cache: unwritten elements have bytes `fill`.
  CachedSequence<T> Cache(size_t block_tokens) const {
    size_t begin = tokens, end = 0;
    for (size_t row = 0; row < positions.size(); ++row) {
      begin = std::min(begin, first_visible(row));
      end = std::max<size_t>(end, positions[row] + 1);
    }
    CachedSequence<T> cache(SpaciousGeometry<T>(shape.kv_heads, shape.head_dim, block_tokens, shape.latent_dim), tokens,
                            begin / block_tokens, fill);
    cache.Store(keys, values, begin, end);
    return cache;
  }

  // Computes units in pieces, which end at `ends`.
  std::vector<float> Run(size_t block_tokens, const std::vector<size_t>& ends) const {
    const CachedSequence<T> cache = Cache(block_tokens);
    const KVBlocks table = cache.table();
    const std::vector<uint32_t> sequences(positions.size(), 0);
    std::vector<float> output(positions.size() * output_stride(), kNaN);
    AttentionArgs args = {.queries = queries.data(),
                          .query_stride = query_size(),
                          .output = output.data(),
                          .output_stride = output_stride(),
                          .positions = positions.data(),
                          .sequences = sequences.data(),
                          .tables = &table,
                          .geometry = cache.geometry(),
                          .rows = positions.size(),
                          .heads = shape.heads,
                          .window = window,
                          .scale = scale,
                          .softcap = softcap,
                          .sinks = sinks.empty() ? nullptr : sinks.data(),
                          .unit_begin = 0,
                          .unit_end = 0};
    for (const size_t end : ends) {
      args.unit_begin = args.unit_end;
      args.unit_end = end;
      Kernels<>::Attention<T>(args);
    }
    return output;
  }
  std::vector<float> Run(size_t block_tokens) const { return Run(block_tokens, {num_units()}); }

  reference::AttentionCase Unit(size_t row, size_t head) const {
    const size_t kv_head = head / (shape.heads / shape.kv_heads);
    return {.query = queries.data() + row * query_size() + head * shape.head_dim,
            .keys = keys.data() + kv_head * shape.head_dim,
            .values = values.data() + kv_head * shape.head_dim,
            .stride = shape.kv_heads * shape.head_dim,
            .head_dim = shape.head_dim,
            .position = positions[row],
            .window = window,
            .scale = scale,
            .softcap = softcap,
            .sink = sinks.empty() ? -kInfinity : sinks[head],
            .latent_dim = shape.latent_dim};
  }

  std::vector<float> Reference() const {
    std::vector<float> expected(positions.size() * output_stride(), kNaN);
    for (size_t row = 0; row < positions.size(); ++row) {
      for (size_t head = 0; head < shape.heads; ++head) {
        reference::Attention<T>(Unit(row, head), expected.data() + row * output_stride() + head * shape.value_dim());
      }
    }
    return expected;
  }

  // A relative error of e^score is the absolute error of the score: eps * (head_dim + 2) * |score|, where |score| <=
  // 4 * head_dim * scale. Probabilities are rounded to T, and values are below 1.
  double tolerance() const {
    const double dim = static_cast<double>(shape.head_dim);
    const double of_type = sizeof(T) == 4 ? 0.0 : kBF16Epsilon;
    return 2 * (kEpsilon * ((dim + 2) * 4 * dim * scale + static_cast<double>(tokens)) + of_type);
  }

  Shape shape;
  size_t tokens;
  std::vector<uint32_t> positions;
  size_t window = 0;
  float scale = 0.25f;
  float softcap = 0.0f;
  std::vector<float> sinks = {};
  int fill = 0xFF;  // NaN
  std::vector<float> queries, keys, values;
};

// Rows of a prompt of `tokens` tokens, beginning with position `first`.
std::vector<uint32_t> PromptRows(size_t tokens, size_t first = 0) {
  std::vector<uint32_t> positions;
  for (size_t p = first; p < tokens; ++p) positions.push_back(static_cast<uint32_t>(p));
  return positions;
}

// Positions around the edges of panels, tiles, blocks and spans.
const std::vector<uint32_t> kEdges = {0, 1, 2, 15, 16, 30, 31, 32, 33, 63, 64, 127, 128, 129, 200, 255, 256, 291};

TEST_CASE_TEMPLATE("attention equals the scalar reference at every kind of position", T, float, bf16, int8_t) {
  for (const Shape shape : {Shape{1, 1, 8}, {4, 2, 16}, {3, 1, 20}, {6, 1, 24}, {2, 2, 64}, {5, 1, 80}}) {
    CAPTURE(shape.head_dim);
    const AttentionTest<T> test(shape, 300, kEdges);
    CHECK(Difference(test.Run(32), test.Reference(), test.tolerance()) == "");
  }
}

TEST_CASE_TEMPLATE("a window hides what lies before it", T, float, bf16, int8_t) {
  for (const size_t window : {1, 2, 31, 32, 33, 100, 128, 1000}) {
    CAPTURE(window);
    AttentionTest<T> test({4, 2, 20}, 300, kEdges);
    test.window = window;
    CHECK(Difference(test.Run(32), test.Reference(), test.tolerance()) == "");
  }
}

TEST_CASE_TEMPLATE("released blocks and unwritten positions are not read", T, float, bf16, int8_t) {
  for (const uint32_t position : {130u, 257u, 290u, 299u}) {
    for (const size_t window : {1, 3, 40, 130}) {
      CAPTURE(position);
      CAPTURE(window);
      AttentionTest<T> test({4, 1, 16}, 300, {position});
      test.window = window;
      CHECK(test.Cache(32).table().first_block == (position + 1 - window) / 32);
      CHECK(Difference(test.Run(32), test.Reference(), test.tolerance()) == "");
    }
  }
}

TEST_CASE_TEMPLATE("a soft cap bends the scores", T, float, bf16, int8_t) {
  AttentionTest<T> test({4, 4, 24}, 300, kEdges);
  test.softcap = 2.5f;
  CHECK(Difference(test.Run(64), test.Reference(), test.tolerance()) == "");
  test.window = 50;
  CHECK(Difference(test.Run(64), test.Reference(), test.tolerance()) == "");
}

TEST_CASE_TEMPLATE("sinks take their share of the softmax", T, float, bf16, int8_t) {
  AttentionTest<T> test({4, 2, 24}, 300, kEdges);
  test.sinks = {0.0f, -8.0f, 3.0f, 40.0f};  // the last far above every score
  for (const size_t window : {0, 1, 50}) {
    for (const float softcap : {0.0f, 2.5f}) {
      CAPTURE(window);
      test.window = window, test.softcap = softcap;
      CHECK(Difference(test.Run(64), test.Reference(), test.tolerance()) == "");
    }
  }
  AttentionTest<T> prompt({6, 2, 32}, 400, PromptRows(400, 230));
  prompt.sinks = {1.0f, 2.0f, -3.0f, 4.0f, -5.0f, 0.5f}, prompt.fill = 0;
  for (const size_t window : {0, 5, 100}) {
    prompt.window = window;
    CHECK(Difference(prompt.Run(64), prompt.Reference(), prompt.tolerance()) == "");
  }
}

TEST_CASE_TEMPLATE("the block size changes no bit", T, float, bf16, int8_t) {
  AttentionTest<T> test({8, 2, 20}, 300, kEdges);
  test.window = 150;
  const std::vector<float> expected = test.Run(32);
  for (const size_t block_tokens : {64, 96, 256, 320}) CHECK(BitDifference(test.Run(block_tokens), expected) == "");
}

TEST_CASE_TEMPLATE("units computed in pieces equal all units computed at once", T, float, bf16, int8_t) {
  const AttentionTest<T> test({8, 2, 16}, 200, {3, 77, 199});
  const std::vector<float> whole = test.Run(64);
  CHECK(Difference(test.Run(64, {1, 3, 9, 13, 13, test.num_units()}), whole, 0) == "");
  CHECK(Difference(test.Run(64, {5, 18, test.num_units()}), whole, 0) == "");
}

TEST_CASE_TEMPLATE("rows computed together equal the scalar reference", T, float, bf16, int8_t) {
  for (const Shape shape : {Shape{2, 2, 16}, {2, 1, 24}, {3, 1, 48}, {8, 2, 32}, {7, 1, 80}, {8, 1, 64}, {40, 1, 16}}) {
    CAPTURE(shape.heads);
    for (const int fill : {0, 0xFF}) {
      for (const size_t first : {0, 117}) {
        AttentionTest<T> test(shape, 170, PromptRows(170, first));
        test.fill = fill;
        CHECK(Difference(test.Run(32), test.Reference(), test.tolerance()) == "");
      }
    }
  }
}

TEST_CASE_TEMPLATE("rows computed together each have their own window", T, float, bf16, int8_t) {
  for (const size_t window : {1, 5, 32, 100, 130}) {
    for (const int fill : {0, 0xFF}) {
      CAPTURE(window);
      AttentionTest<T> test({4, 2, 32}, 400, PromptRows(400, 230));
      test.window = window;
      test.fill = fill;
      test.softcap = window == 100 ? 2.5f : 0.0f;
      CHECK(Difference(test.Run(64), test.Reference(), test.tolerance()) == "");
    }
  }
}

TEST_CASE_TEMPLATE("rows computed together have a soft cap", T, float, bf16, int8_t) {
  AttentionTest<T> test({4, 1, 48}, 200, PromptRows(200, 60));
  test.softcap = 2.5f;
  test.fill = 0;
  CHECK(Difference(test.Run(96), test.Reference(), test.tolerance()) == "");
}

TEST_CASE_TEMPLATE("rows computed together may have large heads", T, float, bf16, int8_t) {
  for (const size_t head_dim : {128, 256, 264, 512, 576}) {
    AttentionTest<T> test({3, 1, head_dim}, 150, PromptRows(150, 120));
    test.scale = 1.0f / std::sqrt(static_cast<float>(head_dim));
    test.fill = 0;
    CHECK(Difference(test.Run(256), test.Reference(), test.tolerance()) == "");
  }
}

TEST_CASE_TEMPLATE("numbers that are not finite reach only the rows that see them", T, float, bf16, int8_t) {
  for (const float bad : {kNaN, kInfinity, -kInfinity}) {
    for (const size_t window : {0, 20}) {
      AttentionTest<T> test({2, 1, 32}, 200, PromptRows(200, 100));
      test.window = window;
      test.fill = 0;
      test.values[150 * 32 + 7] = test.keys[161 * 32] = bad;
      const std::vector<float> output = test.Run(64);
      CHECK(Difference(output, test.Reference(), test.tolerance()) == "");
      CHECK(std::isfinite(output[(149 - 100) * (test.query_size() + test.kGap) + 7]));
      CHECK(!std::isfinite(output[(150 - 100) * (test.query_size() + test.kGap) + 7]));
      CHECK(std::isfinite(output[(181 - 100) * (test.query_size() + test.kGap) + 7]) == (window != 0));
    }
  }
}

TEST_CASE_TEMPLATE("a batch mixes runs of several sequences", T, float, bf16, int8_t) {
  const AttentionTest<T> first({4, 2, 32}, 100, PromptRows(100, 40), 1), second({4, 2, 32}, 60, PromptRows(60, 31), 2);
  const CachedSequence<T> caches[] = {first.Cache(32), second.Cache(32)};
  const KVBlocks tables[] = {caches[0].table(), caches[1].table()};
  // Some rows of the first, all of the second, then the rest.
  constexpr size_t kSplit = 20, kSize = 128;
  std::vector<uint32_t> positions, sequences;
  std::vector<float> queries, expected;
  const auto append = [&](const AttentionTest<T>& test, size_t begin, size_t end, uint32_t sequence) {
    const std::vector<float> reference = test.Reference();
    for (size_t row = begin; row < end; ++row) {
      positions.push_back(test.positions[row]);
      sequences.push_back(sequence);
      queries.insert(queries.end(), test.queries.begin() + row * kSize, test.queries.begin() + (row + 1) * kSize);
      const auto output = reference.begin() + row * (kSize + test.kGap);
      expected.insert(expected.end(), output, output + kSize);
    }
  };
  append(first, 0, kSplit, 0);
  append(second, 0, second.positions.size(), 1);
  append(first, kSplit, first.positions.size(), 0);
  std::vector<float> output(queries.size());
  Kernels<>::Attention<T>({.queries = queries.data(),
                           .query_stride = kSize,
                           .output = output.data(),
                           .output_stride = kSize,
                           .positions = positions.data(),
                           .sequences = sequences.data(),
                           .tables = tables,
                           .geometry = caches[0].geometry(),
                           .rows = positions.size(),
                           .heads = 4,
                           .window = 0,
                           .scale = 0.25f,
                           .softcap = 0.0f,
                           .unit_begin = 0,
                           .unit_end = 4 * positions.size()});
  CHECK(Difference(output, expected, first.tolerance()) == "");
}

TEST_CASE_TEMPLATE("large heads equal the scalar reference", T, float, bf16, int8_t) {
  for (const size_t head_dim : {128, 256, 512, 576}) {
    AttentionTest<T> test({2, 1, head_dim}, 150, {149});
    test.scale = 1.0f / std::sqrt(static_cast<float>(head_dim));
    CHECK(Difference(test.Run(256), test.Reference(), test.tolerance()) == "");
  }
}

// The first shape has fewer elements than a panel before the values, and a panel of them that ends after the keys.
TEST_CASE_TEMPLATE("values may be elements of keys", T, float, bf16, int8_t) {
  for (const Shape shape : {Shape{3, 1, 32, 24}, {4, 2, 36, 24}, {5, 1, 41, 33}, {18, 1, 96, 64}, {2, 1, 576, 512}}) {
    CAPTURE(shape.head_dim);
    AttentionTest<T> edges(shape, 300, kEdges), prompt(shape, 170, PromptRows(170, 117));
    edges.scale = prompt.scale = 1.0f / std::sqrt(static_cast<float>(shape.head_dim));
    CHECK(Difference(edges.Run(32), edges.Reference(), edges.tolerance()) == "");
    for (const int fill : {0, 0xFF}) {
      prompt.fill = fill;
      CHECK(Difference(prompt.Run(64), prompt.Reference(), prompt.tolerance()) == "");
    }
  }
  AttentionTest<T> windowed({20, 1, 44, 32}, 400, PromptRows(400, 230));
  windowed.window = 100, windowed.fill = 0;
  const std::vector<float> expected = windowed.Run(32);
  CHECK(Difference(expected, windowed.Reference(), windowed.tolerance()) == "");
  CHECK(BitDifference(windowed.Run(256), expected) == "");
  windowed.keys[250 * 44 + 7] = kNaN;  // of an element that is no value
  CHECK(Difference(windowed.Run(64), windowed.Reference(), windowed.tolerance()) == "");
}

TEST_CASE_TEMPLATE("scores far below the maximum count as nothing", T, float, bf16, int8_t) {
  AttentionTest<T> test({1, 1, 16}, 160, {31, 159});
  test.scale = 60.0f;
  const std::vector<float> output = test.Run(32);
  CHECK(Difference(output, test.Reference(), test.tolerance()) == "");
}

TEST_CASE_TEMPLATE("sequences of one batch do not see each other", T, float, bf16, int8_t) {
  const AttentionTest<T> first({2, 1, 16}, 100, {99}, 1), second({2, 1, 16}, 40, {39}, 2);
  const CachedSequence<T> caches[] = {first.Cache(32), second.Cache(32)};
  const KVBlocks tables[] = {caches[0].table(), caches[1].table()};
  const uint32_t positions[] = {39, 99}, sequences[] = {1, 0};
  std::vector<float> queries = second.queries;
  queries.insert(queries.end(), first.queries.begin(), first.queries.end());
  std::vector<float> output(queries.size());
  Kernels<>::Attention<T>({.queries = queries.data(),
                           .query_stride = 32,
                           .output = output.data(),
                           .output_stride = 32,
                           .positions = positions,
                           .sequences = sequences,
                           .tables = tables,
                           .geometry = caches[0].geometry(),
                           .rows = 2,
                           .heads = 2,
                           .window = 0,
                           .scale = 0.25f,
                           .softcap = 0.0f,
                           .unit_begin = 0,
                           .unit_end = 4});
  std::vector<float> expected = second.Run(32);
  const std::vector<float> of_first = first.Run(32);
  expected.resize(32);
  expected.insert(expected.end(), of_first.begin(), of_first.begin() + 32);
  CHECK(BitDifference(output, expected) == "");
}

TEST_CASE_TEMPLATE("attention has the saved bits", T, float, bf16, int8_t) {
  AttentionTest<T> test({4, 2, 24}, 300, kEdges);
  test.window = 150;
  test.softcap = 5.0f;
  CHECK(SavedDifference({"attention", NameOf(kDTypeOf<T>)}, test.Run(64)) == "");
}

TEST_CASE_TEMPLATE("the scalar reference is close to softmax attention in double precision", T, float, bf16, int8_t) {
  AttentionTest<T> test({2, 1, 24}, 300, kEdges);
  for (const float softcap : {0.0f, 3.0f}) {
    test.softcap = softcap;
    if (softcap > 0.0f) test.sinks = {1.0f, 2.0f};
    for (size_t row = 0; row < test.positions.size(); ++row) {
      // The query is rounded before and the probabilities within; both enter the tolerance.
      const reference::AttentionCase unit = test.Unit(row, 1);
      std::vector<float> actual(unit.head_dim);
      reference::Attention<T>(unit, actual.data());
      const std::vector<double> exact = reference::AttentionInDouble<T>(unit);
      for (size_t d = 0; d < unit.head_dim; ++d) CHECK(std::abs(actual[d] - exact[d]) <= test.tolerance());
    }
  }
}

}  // namespace attention_test
}  // namespace skald::testing
