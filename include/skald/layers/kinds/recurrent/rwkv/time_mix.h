// SPDX-License-Identifier: Apache-2.0
//
// Time mix of RWKV-7, Peng et al. 2025 (arXiv:2503.14456, section 4.1): a matrix for each head, whose rows decay each
// at a rate of its own, and in which each token replaces a part of what its key stands for. Layers but the first mix
// their values with those of the first one, which it carries to them.

#ifndef SKALD_LAYERS_KINDS_RECURRENT_RWKV_TIME_MIX_H_
#define SKALD_LAYERS_KINDS_RECURRENT_RWKV_TIME_MIX_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "skald/base/message.h"
#include "skald/base/ranks/rank_share.h"
#include "skald/base/visit_unless.h"
#include "skald/cache/form/layout.h"
#include "skald/kernels/args.h"
#include "skald/layers/kinds/recurrent/rwkv/token_shift.h"
#include "skald/layers/run/layer_run.h"
#include "skald/layers/spec/layer_spec.h"
#include "skald/weights/parameters.h"

namespace skald {

struct RwkvTimeMix {
  static constexpr std::string_view kName = "RWKV-7 time mix";

  int heads = 0;
  int head_dim = 0;
  // Ranks of the matrices that give decays, rates of replacement, gates, and how much of the first layer's values is
  // taken. A layer without the last one gives its values to those behind it.
  int decay_rank = 0, rate_rank = 0, gate_rank = 0, value_rank = 0;
  float norm_epsilon = 64e-5f;  // of LayerNorm over each head
  int input_dim = 0;            // the model's width where it is not that of all heads: in a rank's part

  friend constexpr bool operator==(const RwkvTimeMix&, const RwkvTimeMix&) = default;

  template <class Self, class Visitor>
  static constexpr void VisitFields(Self& self, Visitor&& visit) {
    visit("heads", self.heads);
    visit("head_dim", self.head_dim);
    visit("decay_rank", self.decay_rank);
    visit("rate_rank", self.rate_rank);
    visit("gate_rank", self.gate_rank);
    visit("value_rank", self.value_rank);
    visit("norm_epsilon", self.norm_epsilon);
    VisitUnless(0, "input_dim", self.input_dim, visit);
  }

  constexpr const char* WhyImpossible() const {
    if (heads <= 0 || head_dim <= 0) return "Heads of a time mix and their size must be positive.";
    if (head_dim > static_cast<int>(kMaxHeadDim)) return "A time mix has heads of at most 576 elements.";
    if (decay_rank <= 0 || rate_rank <= 0 || gate_rank <= 0 || value_rank < 0) {
      return "Ranks of a time mix must be positive, but for that of values, which the first layer does without.";
    }
    if (input_dim < 0) return "The width of a time mix's input must not be negative.";
    return norm_epsilon > 0.0f ? nullptr : "The epsilon of a time mix's norm must be positive.";
  }

  constexpr int InputDim() const { return input_dim > 0 ? input_dim : heads * head_dim; }
  constexpr std::optional<CarriedRows> Carried() const {
    return CarriedRows{.width = heads * head_dim, .gives = gives_values()};
  }
  constexpr CacheGroup State() const {
    return {.state_floats = static_cast<uint32_t>(memory_floats() + shift().state_floats())};
  }

  // up(function(down(x))) + bias, of few numbers between.
  struct LowRank {
    Matrix down;              // [rank, channels]
    Matrix up;                // [channels, rank]
    std::vector<float> bias;  // [channels], or empty
  };
  // With channels = heads * head_dim:
  struct Weights {
    std::vector<float> mix;         // [6, channels]: of r, w, k, v, rates, gates
    Matrix receptance, key, value;  // [channels, channels]
    LowRank decay, rate, gate;
    LowRank blend;                       // of the first layer's values; empty in the first layer
    std::vector<float> key_scale;        // k_k [channels]
    std::vector<float> rate_scale;       // k_a [channels]
    std::vector<float> bonus;            // r_k [channels]
    std::vector<float> norm, norm_bias;  // [channels]
    Matrix output;                       // [channels, channels]
  };

  void ListParameters(Weights& weights, size_t model_dim, ParameterList& list) const {
    const size_t c = channels();
    std::vector<ArrayPart> mixes;
    for (const char* name : {"attn.x_r", "attn.x_w", "attn.x_k", "attn.x_v", "attn.x_a", "attn.x_g"}) {
      mixes.push_back({name, {1, 1, model_dim}});
    }
    list.AddArray(weights.mix, mixes, TokenShift::kRandom);
    list.AddMatrix(weights.receptance, model_dim, {{"attn.r_proj.weight", c}}, {.output_units = units()});
    list.AddMatrix(weights.key, model_dim, {{"attn.k_proj.weight", c}}, {.output_units = units()});
    list.AddMatrix(weights.value, model_dim, {{"attn.v_proj.weight", c}}, {.output_units = units()});
    ListLowRank(weights.decay, "attn.w_lora", decay_rank, model_dim, list);
    ListLowRank(weights.rate, "attn.a_lora", rate_rank, model_dim, list);
    ListLowRank(weights.gate, "attn.g_lora", gate_rank, model_dim, list, /*has_bias=*/false);
    if (!gives_values()) {
      ListLowRank(weights.blend, "attn.v_lora", value_rank, model_dim, list);
    } else {  // some files have them all the same
      for (const char* name : {"attn.v_lora.lora.0.weight", "attn.v_lora.lora.2.weight", "attn.v_lora.lora.2.bias"}) {
        list.AllowUnused(name);
      }
    }
    list.AddDealtVector(weights.key_scale, {{"attn.k_k", c}}, units(), {.center = 1.0f});
    list.AddDealtVector(weights.rate_scale, {{"attn.k_a", c}}, units(), {.center = 1.0f});
    list.AddArray(weights.bonus, {{"attn.r_k", {static_cast<size_t>(heads), static_cast<size_t>(head_dim)}}}, {});
    list.DealVector({{c, units()}});
    list.AddDealtVector(weights.norm, {{"attn.g_norm.weight", c}}, units(), {.center = 1.0f});
    list.AddDealtVector(weights.norm_bias, {{"attn.g_norm.bias", c}}, units());
    list.AddMatrix(weights.output, c, {{"attn.o_proj.weight", model_dim}}, {.input_units = units()});
  }

  // Heads; every rank has the row before.
  constexpr RwkvTimeMix OfRank(const RankShare& share) const {
    if (!AreDealt(units(), share.ranks)) return *this;
    RwkvTimeMix part = *this;
    part.heads = static_cast<int>(Deal(units(), share).size());
    part.input_dim = InputDim();
    return part;
  }
  constexpr StateSections DealState() const {
    return {.state = {{memory_floats(), units()}, {shift().state_floats()}}};
  }

  // Mixes; what they are projected to; what lies within a low-rank projection; how values blend; what heads give.
  std::array<size_t, 5> ScratchFloats(size_t rows, size_t model_dim) const {
    const auto widest = static_cast<size_t>(std::max({decay_rank, rate_rank, gate_rank, value_rank}));
    return {rows * kMixes * model_dim, rows * kMixes * channels(), rows * widest, rows * channels(), rows * channels()};
  }

  void Run(const Weights& weights, const LayerRun& run) const {
    const size_t rows = run.state.rows(), c = channels();
    float* const blend = run.scratch[3];
    float* const mixed = run.scratch[4];
    const auto shifted = [&](size_t mix) { return Rows{run.scratch[0] + mix * run.model_dim, kMixes * run.model_dim}; };
    const auto projected = [&](size_t mix) { return Rows{run.scratch[1] + mix * c, kMixes * c}; };
    shift().Run(weights.mix, run, run.state.offset + memory_floats() * sizeof(float), run.scratch[0]);
    run.ops.MatMul(weights.receptance, shifted(kReceptance), rows, {}, projected(kReceptance));
    run.ops.MatMul(weights.key, shifted(kKey), rows, {}, projected(kKey));
    run.ops.MatMul(weights.value, shifted(kValue), rows, {}, projected(kValue));
    Project(weights.decay, FactorFunction::kTanh, run, shifted(kDecay), projected(kDecay));
    Project(weights.rate, FactorFunction::kNone, run, shifted(kRate), projected(kRate));
    Project(weights.gate, FactorFunction::kSigmoid, run, shifted(kGate), projected(kGate));
    if (gives_values()) {
      run.ops.Copy(projected(kValue), rows, c, run.carried);
    } else {
      Project(weights.blend, FactorFunction::kNone, run, shifted(kValue), {blend, c});
    }
    Mix(weights, run, blend, mixed);
    run.ops.MatMul(weights.output, {mixed, c}, rows, {}, run.output);
  }

 private:
  // In the order in which the kernel wants what they become.
  enum Mixes : size_t { kReceptance, kDecay, kKey, kValue, kRate, kGate, kMixes };

  constexpr bool gives_values() const { return value_rank == 0; }
  constexpr size_t units() const { return static_cast<size_t>(heads); }  // that are dealt to ranks
  constexpr size_t channels() const { return static_cast<size_t>(heads) * static_cast<size_t>(head_dim); }
  constexpr size_t memory_floats() const { return channels() * static_cast<size_t>(head_dim); }
  constexpr TokenShift shift() const { return {.channels = static_cast<size_t>(InputDim()), .mixes = kMixes}; }

  void ListLowRank(LowRank& weights, std::string_view name, int rank, size_t model_dim, ParameterList& list,
                   bool has_bias = true) const {
    const auto between = static_cast<size_t>(rank);
    list.AddMatrix(weights.down, model_dim, {{Concat({name, ".lora.0.weight"}), between}});
    list.AddMatrix(weights.up, between, {{Concat({name, ".lora.2.weight"}), channels()}}, {.output_units = units()});
    if (has_bias) list.AddDealtVector(weights.bias, {{Concat({name, ".lora.2.bias"}), channels()}}, units());
  }

  void Project(const LowRank& weights, FactorFunction function, const LayerRun& run, Rows input, Rows output) const {
    const size_t rows = run.state.rows(), rank = weights.down.outputs();
    float* const between = run.scratch[2];
    run.ops.MatMul(weights.down, input, rows, {}, {between, rank});
    if (function != FactorFunction::kNone) run.ops.Apply(function, between, rows * rank);
    run.ops.MatMul(weights.up, {between, rank}, rows, weights.bias, output);
  }

  void Mix(const Weights& weights, const LayerRun& run, const float* blend, float* mixed) const {
    const size_t rows = run.state.rows(), runs = run.state.runs.size(), dim = static_cast<size_t>(head_dim);
    run.ops.TimeMix({.input = run.scratch[1],
                     .first_values = gives_values() ? nullptr : run.carried.data,
                     .first_stride = run.carried.stride,
                     .blend = gives_values() ? nullptr : blend,
                     .key_scale = weights.key_scale.data(),
                     .rate_scale = weights.rate_scale.data(),
                     .bonus = weights.bonus.data(),
                     .norm_weight = weights.norm.data(),
                     .norm_bias = weights.norm_bias.data(),
                     .norm_epsilon = norm_epsilon,
                     .output = mixed,
                     .heads = static_cast<size_t>(heads),
                     .head_dim = dim,
                     .runs = run.state.runs.data(),
                     .state_offset = run.state.offset,
                     .unit_begin = 0,
                     .unit_end = 0},
                    runs * static_cast<size_t>(heads), 2 * dim * dim * rows / runs);
  }
};

}  // namespace skald

#endif  // SKALD_LAYERS_KINDS_RECURRENT_RWKV_TIME_MIX_H_
