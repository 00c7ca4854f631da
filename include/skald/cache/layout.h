// SPDX-License-Identifier: Apache-2.0
//
// CacheLayout: what a cache must hold for a model. Layers that keep the same kind of state form a group. A block of
// an attention group holds what a run of tokens added to all its layers; a block of a recurrent group holds the whole
// state of all its layers after some number of tokens. A value without pointers, computed at compile time from a
// Config; nothing else in cache/ knows about Configs.

#ifndef SKALD_CACHE_LAYOUT_H_
#define SKALD_CACHE_LAYOUT_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "skald/base/fingerprint.h"
#include "skald/base/numeric.h"
#include "skald/base/packed_layout.h"
#include "skald/configs/model_config.h"
#include "skald/configs/model_fingerprint.h"
#include "skald/configs/recurrence.h"

namespace skald {

inline constexpr size_t kMaxCacheGroups = 5;
inline constexpr size_t kMaxCacheLayers = 256;

// Layers that keep the same kind of state. Immutable value.
struct CacheGroup {
  LayerKind kind = LayerKind::kFullAttention;
  uint32_t layers = 0;
  // Of attention:
  uint32_t kv_heads = 0;
  uint32_t head_dim = 0;
  uint32_t window = 0;      // tokens a position sees, itself included; 0 = all
  RopeSpec rope = {};       // how keys were rotated, for moving them to other positions
  uint32_t rotary_dim = 0;  // elements of a head that were rotated
  // Of recurrence, floats of one layer:
  uint32_t state_floats = 0;
  uint32_t conv_floats = 0;

  friend constexpr bool operator==(const CacheGroup&, const CacheGroup&) = default;

  constexpr bool is_recurrent() const { return IsRecurrent(kind); }

  // First position that a token at `position` sees.
  constexpr uint32_t FirstVisible(uint32_t position) const {
    return window == 0 || position < window ? 0 : position - window + 1;
  }
};

// Where a layer keeps its state: layer number `index` of group `group`.
struct LayerSlot {
  uint32_t group = 0;
  uint32_t index = 0;

  friend constexpr bool operator==(const LayerSlot&, const LayerSlot&) = default;
};

class CacheLayout {
 public:
  // `model` stands for all that the state depends on and its layout does not show (configs/model_fingerprint.h): two
  // models may keep state of the same form that means different things.
  constexpr explicit CacheLayout(uint64_t model = 0) : model_(model) {}

  // Appends a layer whose state is as `group` describes (its `layers` is ignored), to the group of that
  // description, made if new.
  constexpr void AddLayer(CacheGroup group) {
    uint32_t g = 0;
    while (g < num_groups_ && !SameState(groups_[g], group)) ++g;
    if (g == num_groups_) {
      group.layers = 0;
      groups_[num_groups_++] = group;
    }
    slots_[num_layers_++] = LayerSlot{g, groups_[g].layers++};
  }

  constexpr std::span<const CacheGroup> groups() const { return {groups_.data(), num_groups_}; }
  constexpr std::span<const LayerSlot> layers() const { return {slots_.data(), num_layers_}; }

  // Of every field, the model's included: state is exchanged between layouts of the same fingerprint only.
  constexpr uint64_t Fingerprint() const {
    Fingerprint64 print;
    print.Add(model_);
    for (const CacheGroup& group : groups()) {
      print.Add(group.kind).Add(group.layers).Add(group.kv_heads).Add(group.head_dim).Add(group.window);
      print.Add(group.rotary_dim).Add(group.state_floats).Add(group.conv_floats);
      const RopeSpec& rope = group.rope;
      print.Add(rope.scaling).Add(rope.base).Add(rope.factor).Add(rope.low_frequency_factor);
      print.Add(rope.high_frequency_factor).Add(rope.original_context);
    }
    for (const LayerSlot& slot : layers()) print.Add(slot.group).Add(slot.index);
    return print.value();
  }

  // True when some layers keep one state instead of one for each token.
  constexpr bool has_recurrence() const {
    for (const CacheGroup& group : groups()) {
      if (group.is_recurrent()) return true;
    }
    return false;
  }

  friend constexpr bool operator==(const CacheLayout&, const CacheLayout&) = default;

 private:
  static constexpr bool SameState(CacheGroup a, const CacheGroup& b) {
    a.layers = b.layers;
    return a == b;
  }

  uint64_t model_;
  std::array<CacheGroup, kMaxCacheGroups> groups_{};
  std::array<LayerSlot, kMaxCacheLayers> slots_{};
  size_t num_groups_ = 0, num_layers_ = 0;
};

// Returns what a layer of this kind keeps.
template <ModelConfig C>
constexpr CacheGroup CacheGroupOf(LayerKind kind) {
  if (IsRecurrent(kind)) {
    const RecurrenceSpec spec = RecurrenceOf<C>(kind);
    return {.kind = kind,
            .state_floats = static_cast<uint32_t>(spec.state_floats()),
            .conv_floats = static_cast<uint32_t>(spec.conv_floats())};
  }
  return {.kind = kind,
          .kv_heads = uint32_t{KVHeadsOf<C>()},
          .head_dim = uint32_t{HeadDimOf<C>()},
          .window = kind == LayerKind::kSlidingAttention ? uint32_t{WindowOf<C>()} : 0u,
          .rope = RopeOf<C>(kind),
          .rotary_dim = uint32_t{RotaryDimOf<C>()}};
}

// Returns the layout of a model's cache.
template <ModelConfig C>
constexpr CacheLayout LayoutOf() {
  static_assert(CheckConfig<C>());
  static_assert(NumLayersOf<C>() <= kMaxCacheLayers, "kLayers names more layers than a CacheLayout can list.");
  CacheLayout layout(ModelFingerprint<C>());
  for (const LayerKind kind : C::kLayers) layout.AddLayer(CacheGroupOf<C>(kind));
  return layout;
}

// Where a block of one group keeps what.
//
// Attention: [layers][keys, values], of block_tokens tokens; keys are [kv_heads] packed [block_tokens, head_dim]
// matrices and values [kv_heads] packed [head_dim, block_tokens] matrices (see base/packed_layout.h), so that attention
// reads them as it reads weights.
// Recurrence: [layers][state, last inputs of the convolution], floats whatever the type of keys and values: rounding
// would add up over time.
struct BlockGeometry {
  size_t layers, kv_heads, head_dim, block_tokens;
  size_t key_bytes, value_bytes;    // of one layer, all kv heads
  size_t state_bytes, conv_bytes;   // of one layer

  static constexpr BlockGeometry Of(const CacheGroup& group, size_t block_tokens, DType type) {
    const size_t keys = group.kv_heads * PackedSize(block_tokens, group.head_dim);
    const size_t values = group.kv_heads * RoundUp(group.head_dim, kLanes) * block_tokens;
    return {.layers = group.layers,
            .kv_heads = group.kv_heads,
            .head_dim = group.head_dim,
            .block_tokens = block_tokens,
            .key_bytes = keys * SizeOf(type),
            .value_bytes = values * SizeOf(type),
            .state_bytes = group.state_floats * sizeof(float),
            .conv_bytes = group.conv_floats * sizeof(float)};
  }

  constexpr size_t layer_bytes() const { return key_bytes + value_bytes + state_bytes + conv_bytes; }
  constexpr size_t block_bytes() const { return layers * layer_bytes(); }

  constexpr size_t KeyOffset(size_t layer) const { return layer * layer_bytes(); }
  constexpr size_t ValueOffset(size_t layer) const { return KeyOffset(layer) + key_bytes; }
  constexpr size_t StateOffset(size_t layer) const { return layer * layer_bytes(); }
  constexpr size_t ConvOffset(size_t layer) const { return StateOffset(layer) + state_bytes; }
};

}  // namespace skald

#endif  // SKALD_CACHE_LAYOUT_H_
