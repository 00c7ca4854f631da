// SPDX-License-Identifier: Apache-2.0
//
// Token shift, a part of RWKV's layers: each row is mixed with the one before it, channel by channel. That row is
// state: [channels] floats.

#ifndef SKALD_LAYERS_KINDS_RECURRENT_RWKV_TOKEN_SHIFT_H_
#define SKALD_LAYERS_KINDS_RECURRENT_RWKV_TOKEN_SHIFT_H_

#include <cstddef>
#include <vector>

#include "skald/weights/parameters.h"

namespace skald {

struct LayerRun;  // layers/run/layer_run.h

struct TokenShift {
  /// Elements of a row; mixes that are made of it.
  size_t channels, mixes;

  /// How much of the row before goes into a mix.
  static constexpr RandomRange kRandom = {.center = 0.5f, .spread = 0.5f};

  /// Floats of the state: the row before.
  constexpr size_t state_floats() const { return channels; }

  /// output [rows, mixes, channels] = mixes of the layer's input by `mix` [mixes, channels]; the last row is kept at
  /// `offset` bytes of each block.
  void Run(const std::vector<float>& mix, const LayerRun& run, size_t offset, float* output) const;

  /// The two halves of Run. To each row's mixes `row_mixes` [rows, mixes, channels] is added, or nothing if it is null.
  void Mix(const std::vector<float>& mix, const float* row_mixes, const LayerRun& run, size_t offset,
           float* output) const;
  /// The second one keeps the last row.
  void Keep(const LayerRun& run, size_t offset) const;
};

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/layers/kinds/recurrent/rwkv/detail/token_shift.h"
#endif

#endif  // SKALD_LAYERS_KINDS_RECURRENT_RWKV_TOKEN_SHIFT_H_
