// SPDX-License-Identifier: Apache-2.0
//
// OtherCaches: keys and values that layers of a pass read in the caches of another model, a cache for each text. They
// take the place of PassStates: nothing is written, and nothing is kept.

#ifndef SKALD_MODEL_DETAIL_OTHER_CACHES_H_
#define SKALD_MODEL_DETAIL_OTHER_CACHES_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "skald/base/result.h"
#include "skald/cache/blocks/block_pool.h"
#include "skald/cache/kv_cache.h"
#include "skald/cache/layout/layout.h"
#include "skald/kernels/args.h"
#include "skald/layers/kinds/cross_attention.h"
#include "skald/layers/model_spec.h"
#include "skald/layers/run/layer_run.h"
#include "skald/model/detail/pass_states.h"
#include "skald/model/detail/step_blocks.h"

namespace skald {

// Whether layers of a model read the cache of another one: WholeText::beside has it.
inline bool ReadsOtherCache(const ModelSpec& spec) {
  const auto reads = [](const LayerSpec& layer) { return layer.As<CrossAttention>() != nullptr; };
  return std::ranges::any_of(spec.blocks, [&](const Block& block) { return std::ranges::any_of(block.layers, reads); });
}

// The last layer of a cache that keeps keys and values of the group's form.
inline std::optional<LayerSlot> FindLayerLike(const CacheLayout& layout, const CacheGroup& group) {
  const std::span<const LayerSlot> layers = layout.layers();
  for (size_t i = layers.size(); i > 0; --i) {
    CacheGroup one = layout.groups()[layers[i - 1].group];
    one.layers = group.layers, one.rope = group.rope;  // long contexts may have another one
    if (one == group) return layers[i - 1];
  }
  return std::nullopt;
}

class OtherCaches {
 public:
  // Checks that texts of a model with these groups can read the caches, one for each; none at all for other models.
  static Result<void> Check(const PassGroups& groups, std::span<const KVCache* const> caches) {
    for (size_t i = 0; i < caches.size(); ++i) {
      if (auto valid = CheckOne(groups, *caches[i], *caches.front()); !valid) return OfSequence(i, valid);
    }
    return {};
  }

  // For caches that were checked, and which must outlive this.
  OtherCaches(const PassGroups& groups, std::span<const KVCache* const> caches) {
    if (caches.empty()) return;
    pool_ = caches.front()->pool().get();
    for (const KVCache* const cache : caches) lengths_.push_back(cache->size());
    for (const CacheGroup& group : groups.groups) {
      const LayerSlot slot = slots_.emplace_back(*FindLayerLike(pool_->layout(), group));
      auto& tables = tables_.emplace_back();
      for (const KVCache* const cache : caches) {
        const GroupTable& table = cache->table().groups[slot.group];
        blocks_.push_back(pool_->Resolve(slot.group, table.blocks));
        tables.push_back({blocks_.back().data(), table.first_token / pool_->runtime().block_tokens});
      }
    }
  }

  bool empty() const { return pool_ == nullptr; }

  // The keys and values for a layer of a group.
  LayerCache CacheOf(size_t group, const float* cos, const float* sin) const {
    return {.kv_type = pool_->runtime().kv_type,
            .geometry = LayerGeometry(pool_->geometry(slots_[group].group), slots_[group].index),
            .tables = tables_[group].data(),
            .cos = cos,
            .sin = sin,
            .lengths = lengths_.data()};
  }

 private:
  static Result<void> CheckOne(const PassGroups& groups, const KVCache& cache, const KVCache& first) {
    if (!cache.is_valid() || !cache.pool()->has_bytes()) return BlockPool::FailNoBytes();
    if (cache.pool() != first.pool())
      return Fail(ErrorCode::kInvalidArgument, "the caches beside are of several pools");
    if (cache.size() == 0) return Fail(ErrorCode::kInvalidArgument, "the cache beside it has no tokens");
    if (!cache.table().edits.empty()) {
      return Fail(ErrorCode::kFailedPrecondition, "the cache beside it was edited, which its next step carries out");
    }
    for (const CacheGroup& group : groups.groups) {
      if (FindLayerLike(cache.pool()->layout(), group)) continue;
      return Fail(ErrorCode::kInvalidArgument, "the cache beside it has no layer of the form that the model reads");
    }
    return {};
  }

  BlockPool* pool_ = nullptr;
  std::vector<uint32_t> lengths_;                // [texts]
  std::vector<LayerSlot> slots_;                 // [groups]
  std::vector<std::vector<std::byte*>> blocks_;  // [groups * texts]
  std::vector<std::vector<KVBlocks>> tables_;    // [groups][texts]
};

}  // namespace skald

#endif  // SKALD_MODEL_DETAIL_OTHER_CACHES_H_
