// SPDX-License-Identifier: Apache-2.0
//
// Channel mix of RWKV-7, Peng et al. 2025 (arXiv:2503.14456, section 4.2): a feed-forward layer of the input mixed with
// the row before it, value(max(key(x), 0)^2).

#ifndef SKALD_LAYERS_KINDS_RECURRENT_RWKV_CHANNEL_MIX_H_
#define SKALD_LAYERS_KINDS_RECURRENT_RWKV_CHANNEL_MIX_H_

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "skald/base/ranks/rank_share.h"
#include "skald/base/visit_unless.h"
#include "skald/cache/layout/layout.h"
#include "skald/layers/kinds/columns.h"
#include "skald/layers/kinds/recurrent/rwkv/token_shift.h"
#include "skald/layers/spec/layer_spec.h"
#include "skald/weights/parameters.h"
#include "skald/weights/types/matrix.h"

namespace skald {

struct LayerRun;  // layers/run/layer_run.h

struct RwkvChannelMix {
  static constexpr std::string_view kName = "RWKV-7 channel mix";

  int channels = 0;             ///< the model's width
  int width = 0;                ///< between key and value
  bool has_receptance = false;  ///< what it gives is multiplied by a sigmoid of another mix's projection, as in RWKV-6

  friend constexpr bool operator==(const RwkvChannelMix&, const RwkvChannelMix&) = default;

  template <class Self, class Visitor>
  static constexpr void VisitFields(Self& self, Visitor&& visit) {
    visit("channels", self.channels);
    visit("width", self.width);
    VisitUnless(false, "has_receptance", self.has_receptance, visit);
  }

  constexpr const char* WhyImpossible() const {
    return channels > 0 && width > 0 ? nullptr : "The channels and the width of a channel mix must be positive.";
  }

  constexpr int InputDim() const { return channels; }
  constexpr CacheGroup State() const { return {.state_floats = static_cast<uint32_t>(shift().state_floats())}; }

  struct Weights {
    std::vector<float> mix;  ///< [channels], or with a receptance [2, channels], the second one its own
    Matrix key;              ///< [width, channels]
    Matrix value;            ///< [channels, width]
    Matrix receptance;       ///< [channels, channels], or empty
  };

  void ListParameters(Weights& weights, size_t model_dim, ParameterList& list) const;

  /// Every rank has the row before.
  constexpr void VisitAxes(auto visit) const { visit(&RwkvChannelMix::width, Columns(width)); }

  template <class T>
  struct Pieces {
    T mixed;       ///< rows mixed with those before them, [rows, mixes, channels]
    T between;     ///< key and value, [rows, width]
    T receptance;  ///< [rows, channels]
  };
  Pieces<size_t> ScratchFloats(size_t rows, size_t model_dim) const;

  /// See HasPlaces.
  std::vector<LayerPlace> Places() const;

  void Run(const Weights& weights, const LayerRun& run) const;

 private:
  constexpr TokenShift shift() const {
    return {.channels = static_cast<size_t>(channels), .mixes = has_receptance ? size_t{2} : size_t{1}};
  }
};

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/layers/kinds/recurrent/rwkv/detail/channel_mix.h"
#endif

#endif  // SKALD_LAYERS_KINDS_RECURRENT_RWKV_CHANNEL_MIX_H_
