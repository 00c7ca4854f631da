// SPDX-License-Identifier: Apache-2.0
//
// PassStates: keys and values of layers that see both ways. They last for one pass, which has whole sequences, and all
// layers of a group write them to the same memory. Their blocks are those of a cache of 32 tokens each, so attention
// reads them as it reads a cache. With them comes what attention adds to scores by the distance of positions.

#ifndef SKALD_MODEL_DETAIL_PASS_STATES_H_
#define SKALD_MODEL_DETAIL_PASS_STATES_H_

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "skald/base/mathematics/portable_log.h"
#include "skald/base/mathematics/portable_pow.h"
#include "skald/base/numbers/numeric.h"
#include "skald/base/numbers/packed_layout.h"
#include "skald/base/ranks/rank_share.h"
#include "skald/cache/layout/layout.h"
#include "skald/cache/steps/step_plan.h"
#include "skald/kernels/args.h"
#include "skald/layers/kinds/attention.h"
#include "skald/layers/model_spec.h"
#include "skald/layers/model_weights.h"
#include "skald/layers/run/layer_run.h"
#include "skald/layers/run/scratch.h"
#include "skald/model/detail/step_blocks.h"
#include "skald/model/rotation.h"
#include "skald/model/workspace.h"

namespace skald {

// The groups of a model's layers whose keys and values last for one pass, of a rank's part of them. Immutable.
struct PassGroups {
  std::vector<CacheGroup> groups;
  std::vector<Rotation> rotations;               // [groups]
  std::vector<std::optional<size_t>> of_layers;  // of every layer of every block, in order

  PassGroups() = default;
  explicit PassGroups(const ModelSpec& spec, const RankShare& share = {}) {
    for (const Block& block : spec.blocks) {
      for (const LayerSpec& layer : block.layers) {
        std::optional<size_t>& group = of_layers.emplace_back();
        auto state = layer.OfRank(share).StateOfPass();
        if (!state) continue;
        state->layers = 1;
        group = std::ranges::find(groups, *state) - groups.begin();
        if (*group < groups.size()) continue;
        rotations.emplace_back(state->rope, state->rotary_dim);
        groups.push_back(std::move(*state));
      }
    }
  }
};

// Slopes of ALiBi for so many heads, as its authors compute them
// (https://github.com/ofirpress/attention_with_linear_biases).
inline std::vector<float> AlibiSlopes(size_t heads) {
  size_t power = 1;
  while (2 * power <= heads) power *= 2;
  std::vector<float> slopes;
  const auto add = [&](size_t of, size_t numerator) {
    slopes.push_back(
        static_cast<float>(PortablePow(2.0, -8.0 * static_cast<double>(numerator) / static_cast<double>(of))));
  };
  for (size_t i = 1; i <= power; ++i) add(power, i);
  for (size_t i = 0; slopes.size() < heads; ++i) add(2 * power, 2 * i + 1);
  return slopes;
}

// The group of distance `key - query`, in floats as transformers' modeling_t5.py computes it.
inline size_t BucketOfDistance(int64_t distance, const DistanceBias& bias) {
  const auto side = static_cast<size_t>(bias.buckets) / 2, exact = side / 2;
  const size_t first = distance > 0 ? side : 0;
  const auto size = static_cast<size_t>(std::abs(distance));
  if (size < exact) return first + size;
  const auto steps = [&](double value) { return static_cast<float>(PortableLog(value / static_cast<double>(exact))); };
  const float part = steps(static_cast<double>(size)) / steps(bias.max_distance) * static_cast<float>(side - exact);
  return first + std::min(exact + static_cast<size_t>(part), side - 1);
}

class PassStates {
 public:
  // Takes the memory for all sequences of the plan, whose passes have whole ones. Everything must outlive this.
  PassStates(const PassGroups& groups, const ModelWeights& weights, const StepPlan& plan, Activations& activations)
      : weights_(weights),
        type_(weights.dtype == DType::kF32 ? DType::kF32 : DType::kBF16),
        act_(activations),
        tables_(groups.groups.size()) {
    if (groups.groups.empty()) return;
    std::vector<size_t> begins = {0};
    for (const SequencePlan& sequence : plan.sequences) {
      lengths_.push_back(sequence.num_tokens);
      begins.push_back(begins.back() + (sequence.num_tokens + kTile - 1) / kTile);
    }
    if (act_.pass_blocks.size() < groups.groups.size()) act_.pass_blocks.resize(groups.groups.size());
    for (size_t g = 0; g < groups.groups.size(); ++g) {
      const BlockGeometry& geometry = geometries_.emplace_back(BlockGeometry::Of(groups.groups[g], kTile, type_));
      Reserve(act_.pass_blocks[g], begins.back() * geometry.block_bytes());
      auto& blocks = blocks_.emplace_back(begins.back());
      for (size_t i = 0; i < blocks.size(); ++i) {
        blocks[i] = act_.pass_blocks[g].data() + i * geometry.block_bytes();
      }
      for (size_t s = 0; s < lengths_.size(); ++s) {
        last_blocks_.emplace_back(blocks[begins[s + 1] - 1], geometry.block_bytes());
        tables_[g].push_back({blocks.data() + begins[s], 0});
      }
    }
    heads_ = weights.spec.distance_bias.heads == 0 ? PartitionedRange{0, 0} : HeadsOf(weights);
    reach_ = *std::ranges::max_element(lengths_) + kTile;
    Reserve(act_.distance_bias, heads_.size() * (2 * reach_ + 1));
  }

  // Clears what no token of a sequence writes, and computes the bias; once, before the first pass.
  void Prepare() {
    for (const auto& [block, bytes] : last_blocks_) std::memset(block, 0, bytes);
    const DistanceBias& bias = weights_.spec.distance_bias;
    if (bias.heads == 0) return;
    const std::vector<float> slopes =
        bias.buckets == 0 ? AlibiSlopes(static_cast<size_t>(bias.heads)) : std::vector<float>();
    float* to = act_.distance_bias.data();
    for (size_t head = heads_.begin; head < heads_.end; ++head) {
      for (size_t i = 0; i <= 2 * reach_; ++i) {
        const int64_t distance = static_cast<int64_t>(i) - static_cast<int64_t>(reach_);
        *to++ = bias.buckets == 0
                    ? -slopes[head] * static_cast<float>(std::abs(distance))
                    : weights_.distance_bias[BucketOfDistance(distance, bias) * static_cast<size_t>(bias.heads) + head];
      }
    }
  }

  // The state for a layer of a group.
  LayerCache CacheOf(size_t group, const float* cos, const float* sin) const {
    const bool has_bias = weights_.spec.distance_bias.heads > 0;
    return {.kv_type = type_,
            .geometry = LayerGeometry(geometries_[group], 0),
            .tables = tables_[group].data(),
            .cos = cos,
            .sin = sin,
            .lengths = lengths_.data(),
            .bias = has_bias ? act_.distance_bias.data() : nullptr,
            .bias_reach = reach_};
  }

 private:
  // The heads that are here, of those that have a bias. Heads of all layers are divided in one way.
  static PartitionedRange HeadsOf(const ModelWeights& weights) {
    for (const Block& block : weights.spec.blocks) {
      for (const LayerSpec& layer : block.layers) {
        if (const auto* const attention = layer.As<Attention>()) return attention->HeadsOf(weights.share);
      }
    }
    return {0, static_cast<size_t>(weights.spec.distance_bias.heads)};
  }

  const ModelWeights& weights_;
  const DType type_;  // of keys and values
  Activations& act_;
  std::vector<uint32_t> lengths_;                           // [sequences]
  std::vector<BlockGeometry> geometries_;                   // [groups]
  std::vector<std::vector<std::byte*>> blocks_;             // [groups]
  std::vector<std::vector<KVBlocks>> tables_;               // [groups][sequences]
  std::vector<std::pair<std::byte*, size_t>> last_blocks_;  // of all sequences and groups
  PartitionedRange heads_ = {0, 0};                         // of the distance bias
  size_t reach_ = 0;                                        // AttentionArgs::bias_reach
};

}  // namespace skald

#endif  // SKALD_MODEL_DETAIL_PASS_STATES_H_
