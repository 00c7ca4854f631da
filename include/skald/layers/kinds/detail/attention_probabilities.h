// SPDX-License-Identifier: Apache-2.0
//
// The probabilities of attention, for those who watch them: no kernel ever has them as a whole, so this computes them
// once more. Queries and keys are rounded as the cache has them; a score is their product over ascending elements, and
// the softmax is over ascending positions, both in double, and each probability is rounded once (ARITHMETIC.md).

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
  // The args are those of the attention that is watched.
  AttentionProbabilities(const LayerRun& run, const AttentionArgs& args)
      : run_(run), args_(args), head_dim_(args.geometry.head_dim), group_(args.heads / args.geometry.kv_heads) {}

  // Shows those of all rows, some at a time.
  void Show() {
    for (size_t first = 0; first < args_.rows;) {
      const size_t end = EndFrom(first);
      Compute(first, end);
      run_.watcher->ShowSome(kProbabilities, {probabilities_.data(), args_.heads * columns_}, first, end - first,
                             columns_);
      first = end;
    }
  }

 private:
  // So many floats at a time, unless one row has more.
  static constexpr size_t kMostFloats = size_t{1} << 20;

  // The end of rows that are shown together with row `first`: of its sequence.
  size_t EndFrom(size_t first) const {
    size_t end = first + 1;
    const auto fits = [&] {
      return (end + 1 - first) * args_.heads * (args_.positions[end] + size_t{1}) <= kMostFloats;
    };
    while (end < args_.rows && args_.sequences[end] == args_.sequences[first] && fits()) ++end;
    return end;
  }

  void Compute(size_t first, size_t end) {
    const size_t rows = end - first;
    columns_ = args_.positions[end - 1] + size_t{1};
    probabilities_.assign(rows * args_.heads * columns_, 0.0f);
    keys_.resize(head_dim_ * columns_);
    scales_.assign(columns_, 1.0f);
    scores_.resize(rows * group_ * columns_);
    for (size_t kv_head = 0; kv_head < args_.geometry.kv_heads; ++kv_head) {
      ReadKeys(args_.tables[args_.sequences[first]], kv_head, args_.FirstVisible(first));
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
    const KVGeometry& geometry = args_.geometry;
    const size_t padded = RoundUp(head_dim_, kTile), size = PackedSize(geometry.block_tokens, head_dim_);
    ParallelFor(run_.ops.executor(), columns_ - begin, head_dim_, [&](size_t from, size_t to) {
      for (size_t p = begin + from; p < begin + to; ++p) {
        const std::byte* const block = table.blocks[p / geometry.block_tokens - table.first_block];
        const size_t slot = p % geometry.block_tokens;
        const T* const keys = reinterpret_cast<const T*>(block + geometry.key_offset);
        for (size_t d = 0; d < head_dim_; ++d) {
          keys_[d * columns_ + p] = ToFloat(keys[kv_head * size + PackedIndex<T>(slot, d, padded)]);
        }
        if constexpr (std::is_same_v<T, int8_t>) {
          const auto* const scales = reinterpret_cast<const float*>(keys + geometry.kv_heads * size);
          scales_[p] = scales[kv_head * geometry.block_tokens + slot];
        }
      }
    });
  }

  void ComputeHead(size_t row, size_t head, double* scores, float* probabilities) const {
    using Factor = std::conditional_t<std::is_same_v<T, float>, float, bf16>;
    const size_t begin = args_.FirstVisible(row), end = args_.positions[row] + size_t{1};
    const float* const query = args_.queries + row * args_.query_stride + head * head_dim_;
    std::fill(scores + begin, scores + end, 0.0);
    for (size_t d = 0; d < head_dim_; ++d) {
      const double factor = ToFloat(FromFloat<Factor>(query[d]));
      const float* const keys = keys_.data() + d * columns_;
      for (size_t p = begin; p < end; ++p) scores[p] += factor * double{keys[p]};
    }
    const double sink = args_.sinks != nullptr ? args_.sinks[head] : -std::numeric_limits<double>::infinity();
    double highest = sink;
    for (size_t p = begin; p < end; ++p) {
      scores[p] = Capped(scores[p] * double{scales_[p]} * double{args_.scale});
      highest = std::max(highest, scores[p]);
    }
    double sum = args_.sinks != nullptr ? PortableExp(sink - highest) : 0.0;
    for (size_t p = begin; p < end; ++p) sum += scores[p] = PortableExp(scores[p] - highest);
    for (size_t p = begin; p < end; ++p) probabilities[p] = static_cast<float>(scores[p] / sum);
  }

  double Capped(double score) const {
    if (args_.softcap == 0.0f) return score;
    const double power = PortableExp(-2.0 * std::abs(score) / double{args_.softcap});
    return std::copysign(double{args_.softcap} * (1.0 - power) / (1.0 + power), score);
  }

  const LayerRun& run_;
  const AttentionArgs& args_;
  const size_t head_dim_, group_;
  size_t columns_ = 0;                // positions up to that of the last row
  std::vector<float> probabilities_;  // [rows, heads, columns_]
  std::vector<float> keys_;           // [head_dim, columns_] of one kv head
  std::vector<float> scales_;         // [columns_]
  std::vector<double> scores_;        // [rows, group_, columns_]
};

// Shows the probabilities of an attention to those who watch them.
inline void ShowProbabilities(const LayerRun& run, const AttentionArgs& args) {
  if (!run.IsWatched(kProbabilities)) return;
  VisitCacheType(run.cache.kv_type, [&]<class T>() { AttentionProbabilities<T>(run, args).Show(); });
}

}  // namespace skald::internal

#endif  // SKALD_LAYERS_KINDS_DETAIL_ATTENTION_PROBABILITIES_H_
