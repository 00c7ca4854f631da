// SPDX-License-Identifier: Apache-2.0
//
// ModelPlaces: the places of a model where hooks can be, with the numbers by which a pass finds them.

#ifndef SKALD_MODEL_DETAIL_MODEL_PLACES_H_
#define SKALD_MODEL_DETAIL_MODEL_PLACES_H_

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "skald/cache/layout/layout.h"
#include "skald/layers/model_spec.h"
#include "skald/layers/spec/layer_spec.h"
#include "skald/model/detail/rank_places.h"
#include "skald/model/hooks.h"

namespace skald {

class ModelPlaces {
 public:
  // Numbers of places in all().
  struct OfBlock {
    size_t stream, input, added;
  };
  struct OfLayer {
    size_t first, end;  // what the layer shows itself
    size_t state = kNone;
    size_t output;
  };
  static constexpr size_t kNone = static_cast<size_t>(-1);

  ModelPlaces() = default;
  // `ranks` compute the model.
  ModelPlaces(const ModelSpec& spec, size_t ranks) : ranks_(ranks), model_dim_(static_cast<size_t>(spec.model_dim)) {
    for (size_t b = 0; b < spec.blocks.size(); ++b) AddBlock(spec, b);
    const size_t head = spec.blocks.size(), layers = NumLayers(spec);
    last_stream_ = Add({StreamBefore(head), "stream", head, layers, 1, model_dim_, true, false, PlaceRows::kTokens});
    logits_ = Add(
        {"logits", "logits", head, layers, 1, static_cast<size_t>(spec.vocab_size), true, false, PlaceRows::kLogits});
  }

  const std::vector<Place>& all() const { return all_; }
  const OfBlock& block(size_t b) const { return blocks_[b]; }
  // Layers of all blocks are counted in order.
  const OfLayer& layer(size_t number) const { return layers_[number]; }
  // Of a place inside a layer: what ranks have of it.
  const PartsOfRanks& parts(size_t place) const { return parts_[place]; }
  size_t last_stream() const { return last_stream_; }
  size_t logits() const { return logits_; }

 private:
  size_t Add(Place place, PartsOfRanks parts = {}) {
    all_.push_back(std::move(place));
    parts_.push_back(std::move(parts));
    return all_.size() - 1;
  }

  void AddBlock(const ModelSpec& spec, size_t b) {
    const Block& block = spec.blocks[b];
    const std::string name = "block." + std::to_string(b) + ".";
    const auto whole_rows = [&](const std::string& called, std::string_view what, bool may_change) {
      return Add({called, what, b, block.number, 1, model_dim_, may_change, false, PlaceRows::kTokens});
    };
    OfBlock& of_block = blocks_.emplace_back();
    of_block.stream = whole_rows(StreamBefore(b), "stream", true);
    // Without a norm it is the stream itself, of which hooks see a copy.
    of_block.input = whole_rows(name + "input", "input", block.norm.has_value());
    for (size_t i = 0; i < block.layers.size(); ++i) {
      const std::string of_layer = i == 0 ? name : name + std::to_string(i) + ".";
      AddLayer(block, b, block.layers[i], of_layer);
      layers_.back().output = whole_rows(of_layer + "output", "output", true);
    }
    of_block.added = whole_rows(name + "added", "added", true);
  }

  void AddLayer(const Block& block, size_t b, const LayerSpec& layer, const std::string& name) {
    OfLayer& of_layer = layers_.emplace_back();
    of_layer.first = all_.size();
    std::vector<PartsOfRanks> parts;
    if (ranks_ > 1) parts = internal::PartsOfPlaces(layer, ranks_);
    for (const LayerPlace& place : layer.Places()) {
      PartsOfRanks of_place = parts.empty() ? PartsOfRanks() : std::move(parts[all_.size() - of_layer.first]);
      const size_t part_cols = place.part_cols == LayerPlace::kModelDim ? model_dim_ : place.part_cols;
      Add({name + std::string(place.name), place.name, b, block.number, place.parts, part_cols, place.may_change, true,
           place.of_choices ? PlaceRows::kChoices : PlaceRows::kTokens},
          std::move(of_place));
    }
    of_layer.end = all_.size();
    const auto state = layer.State();
    if (!state || !state->is_recurrent()) return;
    of_layer.state =
        Add({name + "state", "state", b, block.number, 1, state->state_floats, true, true, PlaceRows::kSequences},
            ranks_ > 1 ? internal::PartsOfState(layer, ranks_) : PartsOfRanks());
  }

  size_t ranks_ = 1;
  std::vector<Place> all_;
  std::vector<PartsOfRanks> parts_;  // of all_
  std::vector<OfBlock> blocks_;
  std::vector<OfLayer> layers_;
  size_t model_dim_ = 0, last_stream_ = 0, logits_ = 0;
};

}  // namespace skald

#endif  // SKALD_MODEL_DETAIL_MODEL_PLACES_H_
