// SPDX-License-Identifier: Apache-2.0
//
// Gated delta net, Yang et al. 2024 (arXiv:2412.06464), as in Qwen3-Next: a matrix for each value head, which decays
// and in which each token replaces what its key stands for.

#ifndef SKALD_LAYERS_KINDS_RECURRENT_GATED_DELTA_NET_H_
#define SKALD_LAYERS_KINDS_RECURRENT_GATED_DELTA_NET_H_

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "skald/base/ranks/rank_share.h"
#include "skald/cache/form/layout.h"
#include "skald/layers/kinds/recurrent/causal_conv.h"
#include "skald/layers/norms/rms_norm.h"
#include "skald/layers/run/layer_run.h"
#include "skald/layers/spec/layer_spec.h"
#include "skald/weights/parameters.h"

namespace skald {

struct GatedDeltaNet {
  static constexpr std::string_view kName = "gated delta net";

  int key_heads = 0;  // of queries and keys; each serves value_heads / key_heads value heads, which are neighbours
  int value_heads = 0;
  int key_dim = 0;
  int value_dim = 0;
  int conv_width = 0;  // taps, the token itself included
  RmsNorm norm = {};   // of each value head, in front of its gate
  bool tiled = false;  // key heads serve value heads in turn, and so none that are neighbours, as in some GGUF files

  friend constexpr bool operator==(const GatedDeltaNet&, const GatedDeltaNet&) = default;

  template <class Self, class Visitor>
  static constexpr void VisitFields(Self& self, Visitor&& visit) {
    visit("key_heads", self.key_heads);
    visit("value_heads", self.value_heads);
    visit("key_dim", self.key_dim);
    visit("value_dim", self.value_dim);
    visit("conv_width", self.conv_width);
    visit("norm", self.norm);
    visit("tiled", self.tiled);
  }

  constexpr const char* WhyImpossible() const {
    if (key_heads <= 0 || value_heads <= 0 || key_dim <= 0 || value_dim <= 0) {
      return "Heads of a gated delta net and their sizes must be positive.";
    }
    if (value_heads % key_heads != 0) {
      return "A gated delta net's value heads must be a multiple of its key heads: each serves the same number of "
             "them.";
    }
    if (const char* why = norm.WhyImpossible()) return why;
    return CausalConv::WhyImpossible(conv_width);
  }

  constexpr CacheGroup State() const {
    const size_t floats = memory_floats() + conv().state_floats();
    const size_t inputs = conv().channels + rate_count();
    return {.state_floats = static_cast<uint32_t>(floats), .input_floats = InputsToReplay(floats, inputs)};
  }

  // With k = key_heads * key_dim and v = value_heads * value_dim:
  struct Weights {
    Matrix input;  // [2 * k + 2 * v, model_dim]: queries, keys, values, gates
    Matrix rates;  // [2 * value_heads, model_dim]: how much is replaced, time steps
    CausalConv::Weights conv;
    std::vector<float> decay;           // [value_heads], -exp(A_log)
    std::vector<float> time_step_bias;  // [value_heads]
    RmsNorm::Weights norm;              // [value_dim]
    Matrix output;                      // [model_dim, v]
  };

  void ListParameters(Weights& weights, size_t model_dim, ParameterList& list) const {
    const auto heads = static_cast<size_t>(value_heads);
    std::vector<DealtSection> inputs = ConvSections();
    AddValues(static_cast<size_t>(value_dim), inputs);
    list.AddMatrix(weights.input, model_dim, InputParts(), {.sections = std::move(inputs)});
    std::vector<DealtSection> of_heads;
    AddValues(1, of_heads);
    list.AddMatrix(weights.rates, model_dim, RateParts(), {.sections = Repeated(of_heads, 2)});
    conv().ListParameters(weights.conv, "linear_attn.conv1d", list, ConvSections());
    // As Mamba's.
    list.AddDecay(weights.decay, "linear_attn.A_log", heads, {-8.5f, 7.5f});
    list.DealVector(of_heads);
    list.AddVector(weights.time_step_bias, {{"linear_attn.dt_bias", heads}}, {-3.43f, 1.15f});
    list.DealVector(of_heads);
    norm.ListParameters(weights.norm, "linear_attn.norm", static_cast<size_t>(value_dim), list);
    list.AddMatrix(weights.output, values_dim(), {{"linear_attn.out_proj.weight", model_dim}},
                   {.input_units = units(), .input_tiles = tiles()});
    if (!tiled && key_heads != value_heads) list.Assume(Assumption::kHeadsInGroups);
  }

  // Key heads, each with the value heads that it serves.
  constexpr GatedDeltaNet OfRank(const RankShare& share) const {
    if (!AreDealt(units(), share.ranks)) return *this;
    GatedDeltaNet part = *this;
    part.key_heads = static_cast<int>(Deal(units(), share).size());
    part.value_heads = part.key_heads * (value_heads / key_heads);
    return part;
  }
  constexpr StateSections DealState() const {
    StateSections sections = {.state = {}, .inputs = ConvSections()};
    AddValues(static_cast<size_t>(key_dim) * static_cast<size_t>(value_dim), sections.state);
    for (const DealtSection& section : conv().DealState(ConvSections())) sections.state.push_back(section);
    for (int i = 0; i < 2; ++i) AddValues(1, sections.inputs);
    return sections;
  }

  // Projections; rates; the convolution's outputs; the memory's outputs; factors of keys and queries.
  std::array<size_t, 5> ScratchFloats(size_t rows, size_t /*model_dim*/) const {
    return {rows * projected_dim(), rows * rate_count(), rows * conv().channels, rows * values_dim(),
            2 * static_cast<size_t>(key_dim)};
  }

  void Run(const Weights& weights, const LayerRun& run) const {
    const size_t rows = run.state.rows(), v = values_dim();
    const Rows projected = {run.scratch[0], projected_dim()}, mixed = {run.scratch[3], v};
    const Rows rates = {run.scratch[1], rate_count()};
    run.ops.MatMul(weights.input, run.input, rows, {}, projected);
    run.ops.MatMul(weights.rates, run.input, rows, {}, rates);
    KeepInputs(run.state, projected, conv().channels);
    KeepInputs(run.state, rates, rate_count(), conv().channels);
    Recur(weights, run, projected, rates, mixed);
    for (size_t head = 0; head < static_cast<size_t>(value_heads); ++head) {
      const Rows columns = {mixed.data + head * static_cast<size_t>(value_dim), v};
      run.ops.Norm(columns, rows, static_cast<size_t>(value_dim), weights.norm, norm.epsilon, columns);
    }
    run.ops.Multiply(mixed, {projected.data + conv().channels, projected.stride}, rows, v, FactorFunction::kSilu);
    run.ops.MatMul(weights.output, mixed, rows, {}, run.output);
  }

  void Replay(const Weights& weights, const LayerRun& run) const {
    const Rows projected = {run.scratch[0], projected_dim()}, mixed = {run.scratch[3], values_dim()};
    const Rows rates = {run.scratch[1], rate_count()};
    TakeInputs(run.state, projected, conv().channels);
    TakeInputs(run.state, rates, rate_count(), conv().channels);
    Recur(weights, run, projected, rates, mixed);
  }

 private:
  constexpr size_t rate_count() const { return 2 * static_cast<size_t>(value_heads); }
  constexpr size_t keys_dim() const { return static_cast<size_t>(key_heads) * static_cast<size_t>(key_dim); }
  constexpr size_t values_dim() const { return static_cast<size_t>(value_heads) * static_cast<size_t>(value_dim); }
  constexpr size_t memory_floats() const { return values_dim() * static_cast<size_t>(key_dim); }
  constexpr size_t projected_dim() const { return conv().channels + values_dim(); }
  constexpr CausalConv conv() const {
    return {2 * keys_dim() + values_dim(), static_cast<size_t>(conv_width), /*silu=*/true, /*has_bias=*/false};
  }

  // What is dealt to ranks: key heads, each with its value heads, of which every tile has one where those are apart.
  constexpr size_t units() const { return static_cast<size_t>(key_heads); }
  constexpr size_t tiles() const { return tiled ? static_cast<size_t>(value_heads) / units() : 1; }
  // Adds what has `size` elements for each value head.
  constexpr void AddValues(size_t size, std::vector<DealtSection>& sections) const {
    const size_t all = static_cast<size_t>(value_heads) * size;
    for (size_t tile = 0; tile < tiles(); ++tile) sections.push_back({all / tiles(), units()});
  }
  // Queries, keys and values.
  constexpr std::vector<DealtSection> ConvSections() const {
    std::vector<DealtSection> sections = {{keys_dim(), units()}, {keys_dim(), units()}};
    AddValues(static_cast<size_t>(value_dim), sections);
    return sections;
  }

  // Some files have all of one kind of part in a tensor, others all kinds for one key head after the other.
  std::vector<Part> InputParts() const {
    const auto heads = static_cast<size_t>(key_heads), keys = static_cast<size_t>(key_dim);
    const size_t values = values_dim() / heads, all = projected_dim(), of_head = all / heads;
    std::vector<Part> parts;
    const auto add = [&](const char* name, size_t rows, size_t begin) {
      for (size_t head = 0; head < heads; ++head) parts.push_back({name, rows, 0, {}, {head * of_head + begin, all}});
    };
    add("linear_attn.in_proj_qkv.weight", keys, 0);
    add("linear_attn.in_proj_qkv.weight", keys, keys);
    add("linear_attn.in_proj_qkv.weight", values, 2 * keys);
    add("linear_attn.in_proj_z.weight", values, 2 * keys + values);
    return parts;
  }
  std::vector<Part> RateParts() const {
    const auto heads = static_cast<size_t>(key_heads), all = 2 * static_cast<size_t>(value_heads);
    const size_t of_head = all / heads / 2;
    std::vector<Part> parts;
    for (size_t head = 0; head < heads; ++head) {
      parts.push_back({"linear_attn.in_proj_b.weight", of_head, 0, {}, {2 * head * of_head, all}});
    }
    for (size_t head = 0; head < heads; ++head) {
      parts.push_back({"linear_attn.in_proj_a.weight", of_head, 0, {}, {(2 * head + 1) * of_head, all}});
    }
    return parts;
  }

  // mixed = what the memory gives for the rows, from the projection and the rates.
  void Recur(const Weights& weights, const LayerRun& run, Rows projected, Rows rates, Rows mixed) const {
    float* const convolved = run.scratch[2];
    conv().Run(weights.conv, run, projected, run.state.offset + memory_floats() * sizeof(float), convolved);
    NormalizeKeys(run, {convolved, conv().channels});
    Remember(weights, run, convolved, rates.data, mixed.data);
  }

  // Queries and keys become unit vectors, and queries are divided by the root of their size. To divide by the root of
  // the sum of squares plus epsilon is an RMSNorm: by the root of their mean plus a share of epsilon, times a constant.
  void NormalizeKeys(const LayerRun& run, Rows convolved) const {
    constexpr float kEpsilon = 1e-6f;
    const auto size = static_cast<size_t>(key_dim), heads = static_cast<size_t>(key_heads);
    const auto dim = static_cast<float>(key_dim);
    const std::span<float> of_queries(run.scratch[4], size), of_keys(run.scratch[4] + size, size);
    std::ranges::fill(of_queries, 1.0f / dim);
    std::ranges::fill(of_keys, 1.0f / std::sqrt(dim));
    for (size_t head = 0; head < 2 * heads; ++head) {
      const Rows columns = {convolved.data + head * size, convolved.stride};
      run.ops.Norm(columns, run.state.rows(), size, head < heads ? of_queries : of_keys, kEpsilon / dim, columns);
    }
  }

  void Remember(const Weights& weights, const LayerRun& run, const float* convolved, const float* rates,
                float* mixed) const {
    const size_t rows = run.state.rows(), runs = run.state.runs.size(), heads = static_cast<size_t>(value_heads);
    run.ops.DeltaNet({.input = convolved,
                      .rates = rates,
                      .time_step_bias = weights.time_step_bias.data(),
                      .decay = weights.decay.data(),
                      .output = mixed,
                      .key_heads = static_cast<size_t>(key_heads),
                      .value_heads = heads,
                      .key_dim = static_cast<size_t>(key_dim),
                      .value_dim = static_cast<size_t>(value_dim),
                      .tiled = tiled,
                      .runs = run.state.runs.data(),
                      .state_offset = run.state.offset,
                      .unit_begin = 0,
                      .unit_end = 0},
                     runs * heads, 2 * static_cast<size_t>(key_dim) * static_cast<size_t>(value_dim) * rows / runs);
  }
};

}  // namespace skald

#endif  // SKALD_LAYERS_KINDS_RECURRENT_GATED_DELTA_NET_H_
