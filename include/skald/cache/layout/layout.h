// SPDX-License-Identifier: Apache-2.0
//
// CacheLayout: the state that a cache holds for a model. Layers that keep the same kind of state form a group. A block
// of an attention group holds the state that a run of tokens added to all its layers. A block of a recurrent group
// holds the whole state of all its layers after some number of tokens. Layers with large states go back to an earlier
// one by replay: after the groups of layers come groups of inputs, whose blocks hold one token's inputs to all layers
// of a recurrent group. A plain value; nothing in cache/ knows about models.

#ifndef SKALD_CACHE_LAYOUT_LAYOUT_H_
#define SKALD_CACHE_LAYOUT_LAYOUT_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "skald/base/numbers/fingerprint.h"
#include "skald/base/numbers/numeric.h"
#include "skald/base/numbers/packed_layout.h"
#include "skald/base/numbers/rope.h"
#include "skald/base/ranks/rank_share.h"

namespace skald {

/// Layers that keep the same kind of state: keys and values for each token, or a fixed number of floats.
struct CacheGroup {
  uint32_t layers = 0;  ///< of the model, that keep state of this kind
  /// Keys and values:
  uint32_t kv_heads = 0;
  uint32_t head_dim = 0;    ///< elements of a key
  uint32_t window = 0;      ///< tokens a position sees, itself included; 0 = all
  RopeSpec rope = {};       ///< the rotation of keys, for moving them to other positions
  uint32_t rotary_dim = 0;  ///< elements of a head that are rotated
  uint32_t latent_dim = 0;  ///< not 0: values are the last so many elements of keys, and are not stored separately
  /// Floats of one layer; 0 for keys and values.
  uint32_t state_floats = 0;
  /// Floats of one token's input to the state of one layer, if states are recomputed from inputs; 0: states themselves
  /// are kept for every position that can be resumed from. A group of inputs has these and no state.
  uint32_t input_floats = 0;

  friend constexpr bool operator==(const CacheGroup&, const CacheGroup&) = default;

  /// Whether the state is a fixed number of floats.
  constexpr bool is_recurrent() const { return state_floats > 0; }
  /// Whether such states are recomputed from inputs.
  constexpr bool is_replayed() const { return is_recurrent() && input_floats > 0; }
  /// Whether it has only the inputs of another group's states.
  constexpr bool is_inputs() const { return !is_recurrent() && input_floats > 0; }
  /// Whether the state is keys and values.
  constexpr bool is_attention() const { return !is_recurrent() && !is_inputs(); }

  /// First position that a token at `position` sees.
  constexpr uint32_t FirstVisible(uint32_t position) const {
    return window == 0 || position < window ? 0 : position - window + 1;
  }
};

/// Returns CacheGroup::input_floats for a layer of these sizes: replay if it takes less memory. With K tokens to be
/// taken back, up to 4 K inputs and two states are kept instead of K + 1 states.
constexpr uint32_t InputsToReplay(size_t state_floats, size_t input_floats) {
  return state_floats >= 6 * input_floats ? static_cast<uint32_t>(input_floats) : 0;
}

/// Where a layer keeps its state: layer number `index` of group `group`.
struct LayerSlot {
  uint32_t group = 0;  ///< of CacheLayout::groups
  uint32_t index = 0;  ///< among the layers of the group

  friend constexpr bool operator==(const LayerSlot&, const LayerSlot&) = default;
};

class CacheLayout {
 public:
  /// `model` identifies everything that the state depends on and its layout does not show (Fingerprint of a ModelSpec):
  /// two models may keep state of the same form with different meaning. `share` is that of the rank whose part of the
  /// state this is.
  constexpr explicit CacheLayout(uint64_t model = 0, const RankShare& share = {}) : model_(model), share_(share) {}

  /// Appends a layer whose state is described by `group` (its `layers` is ignored), to the group of that description,
  /// made if new.
  constexpr void AddLayer(CacheGroup group) {
    uint32_t g = 0;
    while (g < num_layer_groups_ && !SameState(groups_[g], group)) ++g;
    group.layers = 0;
    if (g == num_layer_groups_) {
      groups_.insert(groups_.begin() + g, group);
      ++num_layer_groups_;
      if (group.is_replayed()) groups_.push_back({.input_floats = group.input_floats});
    }
    slots_.push_back(LayerSlot{g, groups_[g].layers++});
    if (group.is_replayed()) ++groups_[InputsOf(g)].layers;
  }

  /// Makes the layers of a group keep one rank's part of their state: `part` equals the group except for the numbers of
  /// kv heads or floats.
  constexpr void SetPart(uint32_t group, const CacheGroup& part) {
    groups_[group].kv_heads = part.kv_heads;
    groups_[group].state_floats = part.state_floats;
    groups_[group].input_floats = part.input_floats;
    if (part.is_replayed()) groups_[InputsOf(group)].input_floats = part.input_floats;
  }

  /// Says that no cache holds more than so many tokens; 0: any number.
  constexpr void SetLongestText(uint32_t tokens) { longest_text_ = tokens; }
  /// See SetLongestText().
  constexpr uint32_t longest_text() const { return longest_text_; }

  /// Says whether states hold embeddings of their positions, so that no cache moves tokens.
  constexpr void SetLearnedPositions(bool are_learned) { learned_positions_ = are_learned; }

  /// Returns the layout of caches that may have `max_tokens` tokens; the limit determines their RoPEs (RopeFor).
  constexpr CacheLayout ForTokens(uint64_t max_tokens) const {
    CacheLayout layout = *this;
    for (CacheGroup& group : layout.groups_) group.rope = RopeFor(group.rope, max_tokens);
    return layout;
  }

  /// The given model fingerprint.
  constexpr uint64_t model() const { return model_; }
  /// The rank whose part of the state this is.
  constexpr const RankShare& share() const { return share_; }
  /// The groups of layers, then those of inputs.
  constexpr std::span<const CacheGroup> groups() const { return groups_; }
  /// The groups of layers; the groups of inputs come after them.
  constexpr std::span<const CacheGroup> layer_groups() const { return groups().first(num_layer_groups_); }
  /// The group of the inputs of replayed group `group`; layers have the same numbers in both.
  constexpr uint32_t InputsOf(uint32_t group) const {
    uint32_t inputs = num_layer_groups_;
    for (uint32_t g = 0; g < group; ++g) inputs += groups_[g].is_replayed() ? 1 : 0;
    return inputs;
  }
  /// The layers with state, in the order in which they were added.
  constexpr std::span<const LayerSlot> layers() const { return slots_; }

  /// Covers every field, the model's included: state is exchanged between layouts of the same fingerprint only. Inputs
  /// are left out: they are another way to the same state.
  constexpr uint64_t Fingerprint() const {
    Fingerprint64 print;
    print.Add(model_);
    for (const CacheGroup& group : layer_groups()) {
      print.Add(group.layers).Add(group.kv_heads).Add(group.head_dim).Add(group.window);
      print.Add(group.rotary_dim).Add(group.state_floats);
      if (group.latent_dim != 0) print.Add(group.latent_dim);
      const RopeSpec& rope = group.rope;
      print.Add(rope.scaling).Add(rope.base).Add(rope.factor).Add(rope.low_frequency_factor);
      print.Add(rope.high_frequency_factor).Add(rope.original_context);
      for (const float factor : rope.factors) print.Add(factor);
      for (const float factor : rope.short_factors) print.Add(factor);
      if (rope.attention_factor != 1.0f) print.Add(rope.attention_factor);
      if (rope.whole_ramp) print.Add(rope.whole_ramp);
      if (rope.turning_pairs != 0) print.Add(rope.turning_pairs);
    }
    for (const LayerSlot& slot : slots_) print.Add(slot.group).Add(slot.index);
    if (share_.ranks > 1) print.Add(uint64_t{share_.rank}).Add(uint64_t{share_.ranks});
    return print.value();
  }

  /// True when some layers keep one state instead of one for each token.
  constexpr bool has_recurrence() const {
    for (const CacheGroup& group : groups_) {
      if (group.is_recurrent()) return true;
    }
    return false;
  }

  /// True when tokens can be erased and moved (KVCache::Erase): each has state of its own, which can be rotated.
  constexpr bool moves_tokens() const { return !has_recurrence() && !learned_positions_; }

  friend constexpr bool operator==(const CacheLayout&, const CacheLayout&) = default;

 private:
  static constexpr bool SameState(CacheGroup a, const CacheGroup& b) {
    a.layers = b.layers;
    return a == b;
  }

  uint64_t model_;
  RankShare share_;
  uint32_t longest_text_ = 0;
  bool learned_positions_ = false;
  std::vector<CacheGroup> groups_;
  uint32_t num_layer_groups_ = 0;
  std::vector<LayerSlot> slots_;
};

/// Where a block of one group keeps its parts.
///
/// Attention: [layers][keys, values], of block_tokens tokens; keys are [kv_heads] packed [block_tokens, head_dim]
/// matrices and values [kv_heads] packed [head_dim, block_tokens] matrices (see base/numbers/packed_layout.h), so that
/// attention reads them as it reads weights. The scales of kI8 keys and values come after them, floats [kv_heads,
/// block_tokens]. If values are elements of keys there are only keys. Recurrence: [layers][state], floats whatever the
/// type of keys and values: rounding errors would accumulate over time. Inputs: [layers][inputs of one token], floats.
struct BlockGeometry {
  /// As in CacheGroup; tokens of a block.
  size_t layers, kv_heads, head_dim, block_tokens;
  size_t latent_dim;                          ///< if values are elements of keys; else 0
  size_t key_bytes, value_bytes;              ///< of one layer, all kv heads
  size_t key_scale_bytes, value_scale_bytes;  ///< of one layer; 0 unless kI8
  size_t state_bytes;                         ///< of one layer, or of one token's inputs to it

  /// The geometry of blocks of `block_tokens` tokens, with keys and values of `type`.
  static constexpr BlockGeometry Of(const CacheGroup& group, size_t block_tokens, DType type) {
    const size_t keys = group.kv_heads * PackedSize(block_tokens, group.head_dim);
    const size_t values = group.latent_dim != 0 ? 0 : group.kv_heads * PackedSize(group.head_dim, block_tokens);
    const size_t scales = type == DType::kI8 ? group.kv_heads * block_tokens * sizeof(float) : 0;
    return {.layers = group.layers,
            .kv_heads = group.kv_heads,
            .head_dim = group.head_dim,
            .block_tokens = block_tokens,
            .latent_dim = group.latent_dim,
            .key_bytes = keys * SizeOf(type),
            .value_bytes = values * SizeOf(type),
            .key_scale_bytes = scales,
            .value_scale_bytes = group.latent_dim != 0 ? 0 : scales,
            .state_bytes = (group.is_inputs() ? group.input_floats : group.state_floats) * sizeof(float)};
  }

  /// Bytes of one layer's part of a block.
  constexpr size_t layer_bytes() const {
    return key_bytes + value_bytes + key_scale_bytes + value_scale_bytes + state_bytes;
  }
  /// Bytes of a block.
  constexpr size_t block_bytes() const { return layers * layer_bytes(); }

  /// Bytes before a layer's keys in a block. `layer` is LayerSlot::index.
  constexpr size_t KeyOffset(size_t layer) const { return layer * layer_bytes(); }
  /// Bytes before a layer's scales of keys.
  constexpr size_t KeyScaleOffset(size_t layer) const { return KeyOffset(layer) + key_bytes; }
  /// Bytes before a layer's values.
  constexpr size_t ValueOffset(size_t layer) const { return KeyScaleOffset(layer) + key_scale_bytes; }
  /// Bytes before a layer's scales of values.
  constexpr size_t ValueScaleOffset(size_t layer) const { return ValueOffset(layer) + value_bytes; }
  /// Bytes before a layer's state or inputs.
  constexpr size_t StateOffset(size_t layer) const { return layer * layer_bytes(); }
};

}  // namespace skald

#endif  // SKALD_CACHE_LAYOUT_LAYOUT_H_
