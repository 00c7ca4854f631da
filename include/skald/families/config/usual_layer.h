// SPDX-License-Identifier: Apache-2.0
//
// The layers of the usual form, for families that give their specs block by block.

#ifndef SKALD_FAMILIES_CONFIG_USUAL_LAYER_H_
#define SKALD_FAMILIES_CONFIG_USUAL_LAYER_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "skald/layers/model_spec.h"
#include "skald/layers/spec/layer_spec.h"
#include "skald/layers/spec/norm.h"

namespace skald {

/// A yes or no for each layer. Not std::vector<bool>, which clang does not evaluate at compile time in the standard
/// library of g++ 12.
using LayerFlags = std::vector<unsigned char>;

/// Adds a layer, as checkpoints count them: a block of its mixer, then one of its feed-forward layer, each after a
/// norm.
constexpr void AddUsualLayer(ModelSpec& spec, uint32_t number, const NormSpec& norm, LayerSpec mixer,
                             LayerSpec feed_forward) {
  Block first = {.number = number, .norm = norm};
  Block second = {.number = number, .norm = norm, .norm_name = "feed_forward_norm"};
  first.layers.push_back(std::move(mixer));
  second.layers.push_back(std::move(feed_forward));
  spec.blocks.push_back(std::move(first));
  spec.blocks.push_back(std::move(second));
}

}  // namespace skald

#endif  // SKALD_FAMILIES_CONFIG_USUAL_LAYER_H_
