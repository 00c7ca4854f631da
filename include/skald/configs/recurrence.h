// SPDX-License-Identifier: Apache-2.0
//
// The sizes of recurrent layers, gathered from a Config into plain values, so that whatever handles their weights,
// their state or their arithmetic can be ordinary code.

#ifndef SKALD_CONFIGS_RECURRENCE_H_
#define SKALD_CONFIGS_RECURRENCE_H_

#include <limits>

#include "skald/configs/layer.h"
#include "skald/configs/model_config.h"

namespace skald {

// All recurrent layers have the same outline: an input projection, a causal depthwise convolution over some of its
// outputs, a recurrence over the channels, a gate, an output projection.
struct RecurrenceSpec {
  LayerKind kind = LayerKind::kRgLru;
  int width = 0;           // channels of the recurrence
  int conv_width = 0;      // taps of the convolution, the token itself included
  int heads = 0;           // RG-LRU: blocks of the gates' matrices; Mamba-2: heads, which share one decay each
  int state_dim = 0;       // Mamba, Mamba-2: state variables per channel
  int groups = 0;          // Mamba-2: groups of heads that share B and C
  int time_step_rank = 0;  // Mamba: width of the bottleneck in front of the time step
  float time_step_min = 0.0f, time_step_max = std::numeric_limits<float>::infinity();  // Mamba-2 clamps to this

  friend constexpr bool operator==(const RecurrenceSpec&, const RecurrenceSpec&) = default;

  // Channels that pass through the convolution: in Mamba-2 also B and C.
  constexpr int conv_channels() const {
    return width + (kind == LayerKind::kMamba2 ? 2 * groups * state_dim : 0);
  }
  // Outputs of the input projection. RG-LRU: gate, recurrence; Mamba: recurrence, gate; Mamba-2: gate, all channels of
  // the convolution, a time step for each head.
  constexpr int projected_dim() const {
    return width + conv_channels() + (kind == LayerKind::kMamba2 ? heads : 0);
  }
  // Floats that a layer keeps per conversation: the recurrence's state, and the convolution's last inputs.
  constexpr int state_floats() const { return kind == LayerKind::kRgLru ? width : width * state_dim; }
  constexpr int conv_floats() const { return (conv_width - 1) * conv_channels(); }
};

// Returns the sizes of C's layers of a recurrent kind.
template <ModelConfig C>
constexpr RecurrenceSpec RecurrenceOf(LayerKind kind) {
  RecurrenceSpec spec = {.kind = kind, .conv_width = ConvWidthOf<C>()};
  if constexpr (HasLayerKind<C>(LayerKind::kRgLru)) {
    if (kind == LayerKind::kRgLru) {
      spec.width = C::kLruWidth;
      spec.heads = C::kLruBlocks;
    }
  }
  if constexpr (HasLayerKind<C>(LayerKind::kMamba)) {
    if (kind == LayerKind::kMamba) {
      spec.width = C::kInnerDim;
      spec.state_dim = C::kStateDim;
      spec.time_step_rank = C::kTimeStepRank;
    }
  }
  if constexpr (HasLayerKind<C>(LayerKind::kMamba2)) {
    if (kind == LayerKind::kMamba2) {
      spec.width = C::kSsmHeads * C::kSsmHeadDim;
      spec.heads = C::kSsmHeads;
      spec.state_dim = C::kStateDim;
      spec.groups = C::kSsmGroups;
      if constexpr (requires { C::kTimeStepLimit; }) {
        spec.time_step_min = C::kTimeStepLimit[0];
        spec.time_step_max = C::kTimeStepLimit[1];
      }
    }
  }
  return spec;
}

// The sizes of every recurrent kind of one model. Those of a kind that it has no layers of are zero.
struct Recurrences {
  RecurrenceSpec rg_lru, mamba, mamba2;

  // `kind` is a recurrent one.
  constexpr const RecurrenceSpec& Of(LayerKind kind) const {
    if (kind == LayerKind::kRgLru) return rg_lru;
    return kind == LayerKind::kMamba ? mamba : mamba2;
  }
};

template <ModelConfig C>
constexpr Recurrences RecurrencesOf() {
  Recurrences all;
  if (HasLayerKind<C>(LayerKind::kRgLru)) all.rg_lru = RecurrenceOf<C>(LayerKind::kRgLru);
  if (HasLayerKind<C>(LayerKind::kMamba)) all.mamba = RecurrenceOf<C>(LayerKind::kMamba);
  if (HasLayerKind<C>(LayerKind::kMamba2)) all.mamba2 = RecurrenceOf<C>(LayerKind::kMamba2);
  return all;
}

}  // namespace skald

#endif  // SKALD_CONFIGS_RECURRENCE_H_
