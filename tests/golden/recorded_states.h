// SPDX-License-Identifier: Apache-2.0
//
// Compares the states in our caches with those that recurrent layers of the references hold after a prompt.

#ifndef SKALD_TESTS_GOLDEN_RECORDED_STATES_H_
#define SKALD_TESTS_GOLDEN_RECORDED_STATES_H_

#include <cstddef>
#include <string>
#include <vector>

#include "doctest/doctest.h"
#include "skald/model/load_any.h"
#include "tests/support/compare_logits.h"
#include "tests/support/reference_tensors.h"

namespace skald::testing {

// Recurrence states of one layer, as we keep them and as the references do: [channels, states] or [channels, taps] with
// the channels outermost; the references of Mamba kinds keep one more input of the convolution than is ever read.
struct RecordedState {
  std::vector<float> state, conv;
};

// Returns `matrix` [rows, cols] transposed.
inline std::vector<float> Transposed(const std::vector<float>& matrix, size_t rows, size_t cols) {
  REQUIRE(matrix.size() == rows * cols);
  std::vector<float> transposed;
  for (size_t col = 0; col < cols; ++col) {
    for (size_t row = 0; row < rows; ++row) transposed.push_back(matrix[row * cols + col]);
  }
  return transposed;
}

// The recorded state of layer `layer` of a checkpoint, in our order: of an RG-LRU,
inline RecordedState ReadState(const ReferenceTensors& reference, const RgLru& lru, size_t layer, size_t row) {
  const std::string prefix = "state.layers." + std::to_string(layer) + ".";
  return {reference.Floats(prefix + "rg_lru", row),
          Transposed(reference.Floats(prefix + "conv1d", row), lru.width, lru.conv_width - 1)};
}

// or of a Mamba kind, whose state is [heads][channels, state variables].
inline RecordedState ReadScan(const ReferenceTensors& reference, size_t layer, size_t row, size_t heads,
                              size_t state_dim, size_t conv_channels, size_t taps) {
  const std::string prefix = "state.layers." + std::to_string(layer) + ".";
  RecordedState recorded;
  recorded.conv = Transposed(reference.Floats(prefix + "conv", row), conv_channels, taps);
  recorded.conv.erase(recorded.conv.begin(), recorded.conv.begin() + static_cast<ptrdiff_t>(conv_channels));
  const std::vector<float> state = reference.Floats(prefix + "ssm", row);
  const size_t part = state.size() / heads;
  for (size_t head = 0; head < heads; ++head) {
    const auto begin = state.begin() + static_cast<ptrdiff_t>(head * part);
    const std::vector<float> turned =
        Transposed({begin, begin + static_cast<ptrdiff_t>(part)}, part / state_dim, state_dim);
    recorded.state.insert(recorded.state.end(), turned.begin(), turned.end());
  }
  return recorded;
}
inline RecordedState ReadState(const ReferenceTensors& reference, const ShortConv& conv, size_t layer, size_t row) {
  const auto width = static_cast<size_t>(conv.width), taps = static_cast<size_t>(conv.conv_width);
  RecordedState recorded;
  recorded.conv = Transposed(reference.Floats("state.layers." + std::to_string(layer) + ".conv", row), width, taps);
  recorded.conv.erase(recorded.conv.begin(), recorded.conv.begin() + static_cast<ptrdiff_t>(width));
  return recorded;
}
inline RecordedState ReadState(const ReferenceTensors& reference, const GatedDeltaNet& net, size_t layer, size_t row) {
  const std::string prefix = "state.layers." + std::to_string(layer) + ".";
  const int channels = 2 * net.key_heads * net.key_dim + net.value_heads * net.value_dim;
  RecordedState recorded = {reference.Floats(prefix + "recurrent", row), {}};
  recorded.conv = Transposed(reference.Floats(prefix + "conv", row), channels, net.conv_width);
  recorded.conv.erase(recorded.conv.begin(), recorded.conv.begin() + channels);
  return recorded;
}
inline RecordedState ReadState(const ReferenceTensors& reference, const KimiDelta& delta, size_t layer, size_t row) {
  const GatedDeltaNet net = {.key_heads = delta.heads,
                             .value_heads = delta.heads,
                             .key_dim = delta.head_dim,
                             .value_dim = delta.head_dim,
                             .conv_width = delta.conv_width};
  return ReadState(reference, net, layer, row);
}
// The states of RWKV-7 are [heads][values, keys], and rows of the input.
inline RecordedState ReadState(const ReferenceTensors& reference, const RwkvTimeMix& mix, size_t layer, size_t row) {
  const std::string prefix = "state.layers." + std::to_string(layer) + ".";
  const auto dim = static_cast<size_t>(mix.head_dim);
  RecordedState recorded = {{}, reference.Floats(prefix + "att_shift", row)};
  const std::vector<float> state = reference.Floats(prefix + "wkv", row);
  for (auto head = state.begin(); head != state.end(); head += static_cast<ptrdiff_t>(dim * dim)) {
    const std::vector<float> turned = Transposed({head, head + static_cast<ptrdiff_t>(dim * dim)}, dim, dim);
    recorded.state.insert(recorded.state.end(), turned.begin(), turned.end());
  }
  return recorded;
}
// Those of RWKV-6 are [heads][keys, values].
inline RecordedState ReadState(const ReferenceTensors& reference, const RwkvDecayedTimeMix&, size_t layer, size_t row) {
  const std::string prefix = "state.layers." + std::to_string(layer) + ".";
  return {reference.Floats(prefix + "wkv", row), reference.Floats(prefix + "att_shift", row)};
}
inline RecordedState ReadState(const ReferenceTensors& reference, const LightningAttention&, size_t layer, size_t row) {
  return {reference.Floats("state.layers." + std::to_string(layer) + ".recurrent", row), {}};
}
inline RecordedState ReadState(const ReferenceTensors& reference, const RwkvChannelMix&, size_t layer, size_t row) {
  return {{}, reference.Floats("state.layers." + std::to_string(layer) + ".ffn_shift", row)};
}
inline RecordedState ReadState(const ReferenceTensors& reference, const Mamba& mamba, size_t layer, size_t row) {
  return ReadScan(reference, layer, row, 1, mamba.state_dim, mamba.inner_dim, mamba.conv_width);
}
inline RecordedState ReadState(const ReferenceTensors& reference, const Mamba2& mamba, size_t layer, size_t row) {
  const int channels = mamba.heads * mamba.head_dim + 2 * mamba.groups * mamba.state_dim;
  return ReadScan(reference, layer, row, mamba.heads, mamba.state_dim, channels, mamba.conv_width);
}

inline RecordedState ReadState(const ReferenceTensors& reference, const SelectiveMamba2& mamba, size_t layer,
                               size_t row) {
  return ReadScan(reference, layer, row, mamba.heads, mamba.state_dim, mamba.heads * mamba.head_dim, mamba.conv_width);
}

// Checks what every recurrent layer remembers of a prompt.
inline void CheckStates(const AnyModel& model, const ReferenceTensors& reference, size_t row,
                        const RuntimeConfig& runtime, float allowance) {
  Workspace workspace = *CreateWorkspace({.threads = 1});
  KVCache cache = *CreateKVCache(LayoutOf(model.spec()), runtime);
  const CacheLayout& layout = cache.pool()->layout();
  REQUIRE(model.Forward(cache, reference.Tokens("input_ids", row), workspace));
  size_t stateful = 0;
  for (const Block& block : model.spec().blocks) {
    CAPTURE(block.number);
    const LayerSpec& layer = block.layers[0];
    if (!layer.State()) continue;
    const LayerSlot slot = layout.layers()[stateful];
    for (const LayerSpec& beside : block.layers) stateful += beside.State().has_value();
    RecordedState recorded;
    if (const auto* lru = layer.As<RgLru>()) recorded = ReadState(reference, *lru, block.number, row);
    if (const auto* conv = layer.As<ShortConv>()) recorded = ReadState(reference, *conv, block.number, row);
    if (const auto* net = layer.As<GatedDeltaNet>()) recorded = ReadState(reference, *net, block.number, row);
    if (const auto* delta = layer.As<KimiDelta>()) recorded = ReadState(reference, *delta, block.number, row);
    if (const auto* mix = layer.As<RwkvTimeMix>()) recorded = ReadState(reference, *mix, block.number, row);
    if (const auto* mix = layer.As<RwkvDecayedTimeMix>()) recorded = ReadState(reference, *mix, block.number, row);
    if (const auto* mix = layer.As<RwkvChannelMix>()) recorded = ReadState(reference, *mix, block.number, row);
    if (const auto* mamba = layer.As<Mamba>()) recorded = ReadState(reference, *mamba, block.number, row);
    if (const auto* mamba = layer.As<Mamba2>()) recorded = ReadState(reference, *mamba, block.number, row);
    if (const auto* sums = layer.As<LightningAttention>()) recorded = ReadState(reference, *sums, block.number, row);
    if (const auto* mamba = layer.As<SelectiveMamba2>()) recorded = ReadState(reference, *mamba, block.number, row);
    if (recorded.state.empty() && recorded.conv.empty()) continue;  // attention
    const BlockGeometry& geometry = cache.pool()->geometry(slot.group);
    const std::byte* const bytes = cache.pool()->Resolve(slot.group, cache.table().groups[slot.group].blocks)[0];
    const float* const floats = reinterpret_cast<const float*>(bytes + geometry.StateOffset(slot.index));
    REQUIRE((recorded.state.size() + recorded.conv.size()) * sizeof(float) == geometry.state_bytes);
    const std::vector<float> state(floats, floats + recorded.state.size());
    CHECK(LargestDifference(state, recorded.state) <= allowance * Tolerance(model.spec(), recorded.state));
    const std::vector<float> conv(floats + state.size(), floats + state.size() + recorded.conv.size());
    CHECK(LargestDifference(conv, recorded.conv) <= allowance * Tolerance(model.spec(), recorded.conv));
  }
}

}  // namespace skald::testing

#endif  // SKALD_TESTS_GOLDEN_RECORDED_STATES_H_
