// SPDX-License-Identifier: Apache-2.0
//
// The probabilities of attention, for those who watch or change them: no kernel ever has them as a whole, so this
// computes them once more. Queries and keys are rounded as the cache has them; a score is their product over ascending
// elements, and the softmax is over ascending positions, both in double, and each probability is rounded once. The
// output of a head is computed again only where its probabilities come back changed (ARITHMETIC.md).

#ifndef SKALD_LAYERS_KINDS_DETAIL_ATTENTION_PROBABILITIES_H_
#define SKALD_LAYERS_KINDS_DETAIL_ATTENTION_PROBABILITIES_H_

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>
#include <type_traits>
#include <vector>

#include "skald/base/mathematics/portable_exp.h"
#include "skald/base/numbers/bf16.h"
#include "skald/base/numbers/numeric.h"
#include "skald/base/numbers/packed_layout.h"
#include "skald/base/threads/parallel.h"
#include "skald/kernels/args.h"
#include "skald/layers/run/layer_run.h"
#include "skald/layers/run/operations.h"

namespace skald::internal {

inline constexpr std::string_view kProbabilities = "probabilities";

// Of some rows of one sequence.
template <class T>
class AttentionProbabilities {
 public:
  // The args are those of the attention that is watched, which has been computed.
  AttentionProbabilities(const LayerRun& run, const AttentionArgs& args)
      : run_(run), args_(args), head_dim_(args.geometry.head_dim), group_(args.heads / args.geometry.kv_heads) {}

  // Shows those of all rows, some at a time, and takes what comes back.
  void Show() {
    for (size_t first = 0; first < args_.rows;) {
      const size_t end = EndFrom(first);
      Compute(first, end);
      shown_ = probabilities_;
      run_.watcher->ShowSome(kProbabilities, {probabilities_.data(), args_.heads * columns_}, first, end - first,
                             columns_);
      TakeChanges(first, end);
      first = end;
    }
  }

 private:
  // Positions that a row sees, [begin, end).
  struct Visible {
    size_t begin, end;
  };

  Visible VisibleTo(size_t row) const {
    const size_t begin = args_.FirstVisible(row), own = args_.positions[row];
    if (args_.lengths == nullptr) return {begin, own + 1};
    const size_t length = args_.lengths[args_.sequences[row]];
    return {begin, args_.window == 0 ? length : std::min(length, own + args_.window)};
  }

  // So many floats of each head at a time, unless one row has more: whatever heads a rank has, rows are the same.
  static constexpr size_t kMostFloats = size_t{1} << 16;

  // The end of rows that are shown together with row `first`: of its sequence.
  size_t EndFrom(size_t first) const {
    size_t end = first + 1;
    const auto fits = [&] { return (end + 1 - first) * VisibleTo(end).end <= kMostFloats; };
    while (end < args_.rows && args_.sequences[end] == args_.sequences[first] && fits()) ++end;
    return end;
  }

  void Compute(size_t first, size_t end) {
    const size_t rows = end - first;
    columns_ = VisibleTo(end - 1).end;
    probabilities_.assign(rows * args_.heads * columns_, 0.0f);
    keys_.resize(head_dim_ * columns_);
    scales_.assign(columns_, 1.0f);
    scores_.resize(rows * group_ * columns_);
    for (size_t kv_head = 0; kv_head < args_.geometry.kv_heads; ++kv_head) {
      ReadKeys(args_.tables[args_.sequences[first]], kv_head, VisibleTo(first).begin);
      ParallelFor(run_.ops.executor(), rows * group_, columns_ * head_dim_, [&](size_t unit_begin, size_t unit_end) {
        for (size_t unit = unit_begin; unit < unit_end; ++unit) {
          const size_t row = unit / group_, head = kv_head * group_ + unit % group_;
          ComputeHead(first + row, head, scores_.data() + unit * columns_,
                      probabilities_.data() + (row * args_.heads + head) * columns_);
        }
      });
    }
  }

  // Fills in keys_ [head_dim, columns] and their scales, from position `begin` on.
  void ReadKeys(const KVBlocks& table, size_t kv_head, size_t begin) {
    ParallelFor(run_.ops.executor(), columns_ - begin, head_dim_, [&](size_t from, size_t to) {
      for (size_t p = begin + from; p < begin + to; ++p) {
        const Cached key = KeyAt(table, kv_head, p);
        for (size_t d = 0; d < head_dim_; ++d) keys_[d * columns_ + p] = ToFloat(key.elements[key.IndexOfKey(d)]);
        scales_[p] = key.scale;
      }
    });
  }

  // The key or the value of one position and kv head where the cache has it: packed, together with those of other
  // positions.
  struct Cached {
    const T* elements;
    size_t slot, padded;
    float scale;

    size_t IndexOfKey(size_t d) const { return PackedIndex<T>(slot, d, padded); }
    size_t IndexOfValue(size_t d) const { return PackedIndex<T>(d, slot, padded); }
  };

  Cached KeyAt(const KVBlocks& table, size_t kv_head, size_t position) const {
    const KVGeometry& geometry = args_.geometry;
    return At(table, kv_head, position, geometry.key_offset, PackedSize(geometry.block_tokens, head_dim_),
              RoundUp(head_dim_, kTile));
  }
  Cached ValueAt(const KVBlocks& table, size_t kv_head, size_t position) const {
    const KVGeometry& geometry = args_.geometry;
    return At(table, kv_head, position, geometry.value_offset, PackedSize(head_dim_, geometry.block_tokens),
              geometry.block_tokens);
  }

  // `size` elements are those of a head.
  Cached At(const KVBlocks& table, size_t kv_head, size_t position, size_t offset, size_t size, size_t padded) const {
    const KVGeometry& geometry = args_.geometry;
    const std::byte* const block = table.blocks[position / geometry.block_tokens - table.first_block];
    const T* const heads = reinterpret_cast<const T*>(block + offset);
    Cached cached = {heads + kv_head * size, position % geometry.block_tokens, padded, 1.0f};
    if constexpr (std::is_same_v<T, int8_t>) {
      const auto* const scales = reinterpret_cast<const float*>(heads + geometry.kv_heads * size);
      cached.scale = scales[kv_head * geometry.block_tokens + cached.slot];
    }
    return cached;
  }

  void ComputeHead(size_t row, size_t head, double* scores, float* probabilities) const {
    using Factor = std::conditional_t<std::is_same_v<T, float>, float, bf16>;
    const auto [begin, end] = VisibleTo(row);
    const float* const query = args_.queries + row * args_.query_stride + head * head_dim_;
    std::fill(scores + begin, scores + end, 0.0);
    for (size_t d = 0; d < head_dim_; ++d) {
      const double factor = ToFloat(FromFloat<Factor>(query[d]));
      const float* const keys = keys_.data() + d * columns_;
      for (size_t p = begin; p < end; ++p) scores[p] += factor * double{keys[p]};
    }
    const double sink = args_.sinks != nullptr ? args_.sinks[head] : -std::numeric_limits<double>::infinity();
    const float* const bias = args_.bias == nullptr ? nullptr
                                                    : args_.bias + head * (2 * args_.bias_reach + 1) +
                                                          args_.bias_reach - args_.positions[row];
    double highest = sink;
    for (size_t p = begin; p < end; ++p) {
      scores[p] = Capped(scores[p] * double{scales_[p]} * double{args_.scale});
      if (bias != nullptr) scores[p] += double{bias[p]};
      highest = std::max(highest, scores[p]);
    }
    double sum = args_.sinks != nullptr ? PortableExp(sink - highest) : 0.0;
    for (size_t p = begin; p < end; ++p) sum += scores[p] = PortableExp(scores[p] - highest);
    for (size_t p = begin; p < end; ++p) probabilities[p] = static_cast<float>(scores[p] / sum);
  }

  // Computes what heads give whose probabilities are others than those that were shown. Those for positions that a row
  // does not see are nothing to it.
  void TakeChanges(size_t first, size_t end) const {
    ParallelFor(run_.ops.executor(), (end - first) * args_.heads, columns_, [&](size_t unit_begin, size_t unit_end) {
      for (size_t unit = unit_begin; unit < unit_end; ++unit) {
        const size_t row = first + unit / args_.heads;
        const auto [from, to] = VisibleTo(row);
        const float* const now = probabilities_.data() + unit * columns_;
        if (!std::equal(now + from, now + to, shown_.data() + unit * columns_ + from)) {
          MixValues(row, unit % args_.heads, now);
        }
      }
    });
  }

  // The sum of values, each times its probability.
  void MixValues(size_t row, size_t head, const float* probabilities) const {
    const size_t kv_head = head / group_, dim = args_.geometry.value_dim();
    const bool in_keys = args_.geometry.latent_dim != 0;
    const KVBlocks& table = args_.tables[args_.sequences[row]];
    const auto [begin, end] = VisibleTo(row);
    std::vector<double> sums(dim, 0.0);
    for (size_t p = begin; p < end; ++p) {
      const Cached cached = in_keys ? KeyAt(table, kv_head, p) : ValueAt(table, kv_head, p);
      const double factor = double{probabilities[p]} * double{cached.scale};
      if (factor == 0.0) continue;
      for (size_t d = 0; d < dim; ++d) {
        const size_t at = in_keys ? cached.IndexOfKey(head_dim_ - dim + d) : cached.IndexOfValue(d);
        sums[d] += factor * double{ToFloat(cached.elements[at])};
      }
    }
    float* const output = args_.output + row * args_.output_stride + head * dim;
    for (size_t d = 0; d < dim; ++d) output[d] = static_cast<float>(sums[d]);
  }

  double Capped(double score) const {
    if (args_.softcap == 0.0f) return score;
    const double power = PortableExp(-2.0 * std::abs(score) / double{args_.softcap});
    return std::copysign(double{args_.softcap} * (1.0 - power) / (1.0 + power), score);
  }

  const LayerRun& run_;
  const AttentionArgs& args_;
  const size_t head_dim_, group_;
  size_t columns_ = 0;                // positions up to the last one that the last row sees
  std::vector<float> probabilities_;  // [rows, heads, columns_]
  std::vector<float> shown_;          // the same before hooks had them
  std::vector<float> keys_;           // [head_dim, columns_] of one kv head
  std::vector<float> scales_;         // [columns_]
  std::vector<double> scores_;        // [rows, group_, columns_]
};

// Shows the probabilities of an attention that has been computed to those who watch them, and computes again what
// follows from changed ones.
inline void ShowProbabilities(const LayerRun& run, const AttentionArgs& args) {
  if (!run.IsWatched(kProbabilities)) return;
  VisitCacheType(run.cache.kv_type, [&]<class T>() { AttentionProbabilities<T>(run, args).Show(); });
}

}  // namespace skald::internal

#endif  // SKALD_LAYERS_KINDS_DETAIL_ATTENTION_PROBABILITIES_H_
