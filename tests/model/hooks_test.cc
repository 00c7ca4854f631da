// SPDX-License-Identifier: Apache-2.0
//
// Hooks at places of a model: what they are shown, that watching changes nothing, what a change changes, and how they
// end a step.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <random>
#include <set>
#include <span>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

#include "doctest/doctest.h"
#include "skald/layers/model_weights.h"
#include "skald/layers/standard_layers.h"
#include "skald/model/any_model.h"
#include "skald/model/load.h"
#include "tests/support/check_error.h"
#include "tests/support/small_models.h"

namespace skald::testing {
namespace hooks_test {

constexpr size_t kTokens = 30;
// The second sequence's first ten rows are in the first pass of forty tokens, after the first one's thirty.
constexpr uint32_t kPass = 40;

// Values by place (of an expert its name, # and the number), sequence and position.
using Values = std::map<std::tuple<std::string, uint32_t, uint32_t>, std::vector<float>>;

// Keeps all rows, without the zeros of positions that a row does not see.
Hook Keeper(const std::string& place, Values& values) {
  return {place, [&values](const HookRows& rows) {
            for (size_t i = 0; i < rows.rows(); ++i) {
              const std::string expert = rows.experts.empty() ? "" : "#" + std::to_string(rows.experts[i]);
              auto& kept = values[{rows.place.name + expert, rows.sequences[i], rows.positions[i]}];
              CHECK(kept.empty());
              const size_t seen = rows.place.part_cols == 0 ? rows.positions[i] + 1 : rows.place.part_cols;
              for (size_t part = 0; part < rows.place.parts; ++part) {
                const std::span<const float> all = rows.part(i, part);
                kept.insert(kept.end(), all.begin(), all.begin() + static_cast<ptrdiff_t>(seen));
                for (const float unseen : all.subspan(seen)) CHECK(unseen == 0.0f);
              }
            }
          }};
}

// Two sequences, computed side by side.
struct Pair {
  explicit Pair(const SmallModel& small)
      : first(RandomTokens(small, 1, kTokens)),
        second(RandomTokens(small, 2, kTokens)),
        wants(kTokens, Want::kLogits) {}

  // The logits of all rows, those of the first sequence first.
  std::vector<std::vector<float>> Run(const RandomModel& model, const ForwardOptions& options, uint32_t threads = 1,
                                      const RuntimeConfig& runtime = {}) const {
    KVCache a = NewCache(model.small(), runtime), b = NewCache(model.small(), runtime);
    Workspace workspace = *CreateWorkspace({.threads = threads});
    const auto outputs = model.Forward(Batch().Add(a, first, wants).Add(b, second, wants), workspace, options);
    REQUIRE_MESSAGE(outputs, outputs.error().message);
    std::vector<std::vector<float>> rows;
    for (size_t i = 0; i < outputs->size(); ++i) rows.emplace_back((*outputs)[i].begin(), (*outputs)[i].end());
    return rows;
  }

  const std::vector<int32_t> first, second;
  const std::vector<Want> wants;
};

SKALD_LAW("watching every place changes no bit, and shows each row once", small) {
  const RandomModel model(small, 3);
  const Pair pair(small);
  Values values;
  const auto watched = pair.Run(model, {.pass_tokens = kPass, .hooks = {Keeper("*", values)}}, 2);
  CHECK(watched == pair.Run(model, {}));
  std::map<std::string, size_t> counts;
  const auto place_of = [](const std::string& name) { return name.substr(0, name.find('#')); };
  for (const auto& [where, row] : values) ++counts[place_of(std::get<0>(where))];
  for (const Place& place : model.any().Places()) {
    CAPTURE(place.name);
    // Of the passes the first has an end of both sequences, the second one of the second.
    const size_t rows = place.rows == PlaceRows::kSequences ? 3 : 2 * kTokens;
    if (place.rows == PlaceRows::kChoices) {
      CHECK(counts[place.name] % rows == 0);  // each row chose so many
      CHECK(counts[place.name] >= rows);
    } else {
      CHECK(counts[place.name] == rows);
    }
    for (const auto& [where, row] : values) {
      if (place_of(std::get<0>(where)) == place.name) CHECK(row.size() == place.cols(std::get<2>(where) + 1));
    }
  }
}

SKALD_LAW("values at places are those of a sequence alone, whatever else is watched", small) {
  const RandomModel model(small, 3);
  const Pair pair(small);
  Values alone;
  Workspace workspace = *CreateWorkspace({.threads = 1});
  KVCache cache = NewCache(small);
  REQUIRE(model.Forward(Batch().Add(cache, pair.second, pair.wants), workspace, {.hooks = {Keeper("*", alone)}}));
  std::minstd_rand random(7);
  for (size_t round = 0; round < 3; ++round) {
    std::vector<Hook> hooks;
    Values some;
    for (const Place& place : model.any().Places()) {
      if (random() % 4 == 0) hooks.push_back(Keeper(place.name, some));
    }
    pair.Run(model, {.pass_tokens = static_cast<uint32_t>(1 + random() % 50), .hooks = hooks}, 1 + random() % 2);
    for (const auto& [where, row] : some) {
      const auto& [name, sequence, position] = where;
      const auto same = alone.find({name, 0, position});
      if (sequence == 0 || same == alone.end()) continue;  // a state of another pass
      CAPTURE(name);
      CAPTURE(position);
      CHECK(row == same->second);
    }
  }
}

// Makes other probabilities of those that are not 0.
void ChangeProbabilities(const HookRows& rows) {
  for (size_t i = 0; i < rows.rows(); ++i) {
    for (float& probability : rows.row(i)) probability = probability > 0.0f ? 0.1f + 0.3f * probability : 0.0f;
  }
}

// `tolerance` is that of what heads give, over a cache of that type, with probabilities that hooks change or not.
void CheckBlocks(const SmallModel& small, DType kv_type, double tolerance, bool changes = false) {
  const RandomModel model(small, 3);
  Values values;
  std::vector<Hook> hooks = {Keeper("*", values)};
  const auto is_attention = [](const Place& place) { return place.what == "probabilities"; };
  if (changes && std::ranges::any_of(model.any().Places(), is_attention)) {
    hooks.insert(hooks.begin(), {"*.probabilities", ChangeProbabilities});
  }
  Pair(small).Run(model, {.hooks = hooks}, 1, {.kv_type = kv_type});
  const auto at = [&](const std::string& name, uint32_t position) { return values.at({name, 1, position}); };
  const std::vector<Block>& blocks = small.spec.blocks;
  for (size_t b = 0; b < blocks.size(); ++b) {
    CAPTURE(b);
    const std::string block = "block." + std::to_string(b) + ".";
    const bool is_beside = blocks[b].beside_previous || (b + 1 < blocks.size() && blocks[b + 1].beside_previous);
    const bool adds = !is_beside && !blocks[b].learned_scale && blocks[b].normed_multiplier == 0.0f;
    for (uint32_t p = 0; adds && p < kTokens; ++p) {
      std::vector<float> sum = at(StreamBefore(b), p);
      const std::vector<float> added = at(block + "added", p);
      for (size_t i = 0; i < sum.size(); ++i) sum[i] += added[i];
      CHECK(sum == at(StreamBefore(b + 1), p));
      const bool as_it_is = blocks[b].layers.size() == 1 && !blocks[b].post_norm && blocks[b].residual_multiplier == 1;
      if (as_it_is) CHECK(added == at(block + "output", p));
      if (!blocks[b].norm) CHECK(at(block + "input", p) == at(StreamBefore(b), p));
    }
    const auto* const attention = blocks[b].layers[0].As<Attention>();
    if (attention == nullptr || attention->shared_layer >= 0 || attention->output_gate) continue;
    const auto heads = static_cast<size_t>(attention->heads), dim = static_cast<size_t>(attention->head_dim);
    const size_t of_kv_head = heads / static_cast<size_t>(attention->kv_heads);
    for (uint32_t p = 0; p < kTokens; ++p) {
      const std::vector<float> probabilities = at(block + "probabilities", p), mixed = at(block + "mixed", p);
      for (size_t head = 0; head < heads; ++head) {
        std::vector<double> expected(dim, 0.0);
        double all = 0.0;
        for (uint32_t seen = 0; seen <= p; ++seen) {
          const double probability = probabilities[head * (p + 1) + seen];
          const std::vector<float> value = at(block + "values", seen);
          for (size_t d = 0; d < dim; ++d) expected[d] += probability * value[head / of_kv_head * dim + d];
          all += probability;
          if (attention->window > 0 && seen + static_cast<uint32_t>(attention->window) <= p) CHECK(probability == 0.0);
        }
        CHECK((changes || (attention->sinks ? all < 1.0 : std::abs(all - 1.0) < 1e-6)));
        for (size_t d = 0; d < dim; ++d) {
          CHECK(std::abs(mixed[head * dim + d] - expected[d]) < tolerance * (1.0 + std::abs(expected[d])));
        }
      }
    }
  }
}

SKALD_LAW("what a block adds makes the stream, and probabilities of values make what heads give", small) {
  CheckBlocks(small, DType::kF32, 2e-5);
  CheckBlocks(small, DType::kBF16, 2e-2);
  CheckBlocks(small, DType::kI8, 5e-2);
}

SKALD_LAW("heads whose probabilities are changed give what those make of the values", small) {
  CheckBlocks(small, DType::kF32, 2e-5, /*changes=*/true);
  CheckBlocks(small, DType::kBF16, 2e-2, /*changes=*/true);
  CheckBlocks(small, DType::kI8, 5e-2, /*changes=*/true);

  // Of every kind of attention they are twice as much where probabilities are.
  const RandomModel model(small, 3, DType::kF32);
  for (const Place& place : model.any().Places()) {
    if (place.what != "probabilities") continue;
    CAPTURE(place.name);
    const std::string mixed = place.name.substr(0, place.name.size() - place.what.size()) + "mixed";
    const auto twice = [](const HookRows& rows) {
      for (size_t i = 0; i < rows.rows(); ++i) {
        for (float& probability : rows.row(i)) probability *= 2.0f;
      }
    };
    Values plain, doubled;
    Pair(small).Run(model, {.hooks = {Keeper(mixed, plain)}}, 1, {.kv_type = DType::kF32});
    Pair(small).Run(model, {.hooks = {{place.name, twice}, Keeper(mixed, doubled)}}, 1, {.kv_type = DType::kF32});
    for (const auto& [where, row] : plain) {
      const std::vector<float>& there = doubled.at(where);
      for (size_t i = 0; i < row.size(); ++i) {
        CHECK(std::abs(there[i] - 2.0f * row[i]) < 1e-4f * (1.0f + std::abs(row[i])));
      }
    }
  }
}

TEST_CASE("gates, activations and router choices are what the layers compute with") {
  const SmallModel& small = SmallModelNamed("mixture");
  const RandomModel model(small, 3);
  Values values;
  Pair(small).Run(model, {.hooks = {Keeper("*", values)}});
  size_t mixtures = 0;
  for (size_t b = 0; b < small.spec.blocks.size(); ++b) {
    const auto* const mixture = small.spec.blocks[b].layers[0].As<MixtureOfExperts>();
    if (mixture == nullptr) continue;
    ++mixtures;
    const std::string block = "block." + std::to_string(b) + ".";
    for (uint32_t p = 0; p < kTokens; ++p) {
      const std::vector<float> scores = values.at({block + "router_scores", 0, p}),
                               weights = values.at({block + "expert_weights", 0, p});
      CHECK(std::ranges::count_if(weights, [](float weight) { return weight != 0.0f; }) == mixture->chosen);
      CHECK(weights[static_cast<size_t>(std::ranges::max_element(scores) - scores.begin())] ==
            *std::ranges::max_element(weights));
      std::vector<float> sum(static_cast<size_t>(small.spec.model_dim), 0.0f);
      for (size_t expert = 0; expert < weights.size(); ++expert) {
        const std::string number = "#" + std::to_string(expert);
        const auto given = values.find({block + "expert_outputs" + number, 0, p});
        REQUIRE((given == values.end()) == (weights[expert] == 0.0f));
        if (given == values.end()) continue;
        for (size_t i = 0; i < sum.size(); ++i) sum[i] += weights[expert] * given->second[i];
        CHECK(values.at({block + "expert_activations" + number, 0, p}).size() == static_cast<size_t>(mixture->width));
      }
      if (mixture->shared_width > 0) continue;
      for (size_t i = 0; i < sum.size(); ++i) {
        CHECK(std::abs(values.at({block + "output", 0, p})[i] - sum[i]) < 1e-5f * (1.0f + std::abs(sum[i])));
      }
    }
  }
  CHECK(mixtures > 0);

  const SmallModel& llama = SmallModelNamed("one-layer");
  Values of_llama;
  Pair(llama).Run(RandomModel(llama, 3), {.hooks = {Keeper("block.1.*", of_llama)}});
  for (uint32_t p = 0; p < kTokens; ++p) {
    const std::vector<float> gates = of_llama.at({"block.1.gates", 0, p}), up = of_llama.at({"block.1.up", 0, p});
    const std::vector<float> activations = of_llama.at({"block.1.activations", 0, p});
    for (size_t i = 0; i < gates.size(); ++i) {
      const double gate = gates[i], expected = gate / (1.0 + std::exp(-gate)) * double{up[i]};
      CHECK(std::abs(activations[i] - expected) <= 1e-5 * (1e-3 + std::abs(expected)));
    }
  }
}

SKALD_LAW("a change at any place changes its own sequence, from its position on, and no other", small) {
  const RandomModel model(small, 3);
  const Pair pair(small);
  const auto expected = pair.Run(model, {.pass_tokens = kPass});
  constexpr uint32_t kPosition = 9;  // the last of the second sequence in the first pass
  for (const Place& place : model.any().Places()) {
    CAPTURE(place.name);
    const auto steer = [](const HookRows& rows) {
      for (size_t i = 0; i < rows.rows(); ++i) {
        if (rows.sequences[i] != 1 || rows.positions[i] != kPosition) continue;
        const std::span<float> row = rows.row(i);
        if (rows.place.part_cols == 0) row[kPosition] += 5.0f;  // of probabilities that of itself
        // Of others each a little: most gates of a layer may be closed.
        for (size_t j = 0; rows.place.part_cols > 0 && j < row.size(); ++j) row[j] += 5.0f / static_cast<float>(1 + j);
      }
    };
    const auto steered = pair.Run(model, {.pass_tokens = kPass, .hooks = {{place.name, steer}}});
    const bool is_state = place.rows == PlaceRows::kSequences;
    const size_t changed = kTokens + kPosition + (is_state ? 1 : 0);
    for (size_t i = 0; i < steered.size(); ++i) {
      if (i < changed || !place.may_change) CHECK(steered[i] == expected[i]);
    }
    if (place.may_change) CHECK(steered[changed] != expected[changed]);
  }
}

TEST_CASE("layers whose output hooks set to zero are layers whose matrices are zeros") {
  const SmallModel& small = SmallModelNamed("one-layer");
  const Pair pair(small);
  const auto quiet = [](const HookRows& rows) { std::ranges::fill(rows.values(), 0.0f); };
  ModelWeights weights = *RandomWeights(small.spec, 3, DType::kBF16);
  ForEachArray(
      ParametersOf(weights),
      [&](const Matrix& matrix, size_t rows, size_t cols) {
        if (rows == 64 && cols == 64) std::memset(const_cast<std::byte*>(matrix.bytes()), 0, matrix.data.size());
      },
      [](const std::vector<float>&, size_t) {});
  const auto expected = pair.Run(RandomModel(small, std::move(weights)), {});
  for (const char* const place : {"block.0.mixed", "block.0.output", "block.0.added", "block.0.values"}) {
    CAPTURE(place);
    const auto changed = [&](const HookRows& rows) {
      for (size_t i = 0; i < rows.rows(); ++i) std::ranges::fill(rows.row(i), 0.0f);
    };
    CHECK(pair.Run(RandomModel(small, 3), {.hooks = {{place, changed}}}) == expected);
  }
  const auto unheeding = [](const HookRows& rows) {
    for (size_t i = 0; i < rows.rows(); ++i) std::ranges::fill(rows.row(i), 0.0f);
  };
  CHECK(pair.Run(RandomModel(small, 3), {.hooks = {{"block.0.probabilities", unheeding}}}) == expected);
  CHECK(pair.Run(RandomModel(small, 3), {.hooks = {{"block.0.input", quiet}}}) == expected);
}

SKALD_LAW("the head's logits of what a hook sees before it are those of Forward", small) {
  const RandomModel model(small, 3);
  const std::vector<int32_t> tokens = RandomTokens(small, 1, 20);
  Workspace lens = *CreateWorkspace({.threads = 1});
  std::vector<float> seen, early;
  const auto watch = [&](std::vector<float>& all) {
    return [&](const HookRows& stream) {
      const auto logits = model.Logits(stream.values(), lens);
      REQUIRE(logits);
      CHECK(logits->size() == tokens.size());
      for (size_t i = 0; i < logits->size(); ++i) all.insert(all.end(), (*logits)[i].begin(), (*logits)[i].end());
    };
  };
  const std::vector<Hook> hooks = {{"stream.1", watch(early)}, {StreamBefore(small.spec.blocks.size()), watch(seen)}};
  const std::vector<float> logits = AllLogits(model, tokens, {}, {.hooks = hooks});
  CHECK(seen == logits);
  CHECK(early.size() == logits.size());
  CHECK(early != logits);
  const auto odd = model.Logits(std::span(logits).first(7), lens);
  CHECK(odd.error().code == ErrorCode::kInvalidArgument);
  CHECK(odd.error().message.find("7 floats are no rows") != std::string::npos);
}

TEST_CASE("a hook that throws, fails, or uses the workspace of its call, fails the call and changes no cache") {
  const RandomModel model(SmallModelNamed("one-layer"), 3);
  Workspace workspace = *CreateWorkspace({.threads = 1});
  KVCache cache = NewCache(SmallModelNamed("one-layer"));
  const std::vector<int32_t> tokens = {1, 2, 3};
  for (const Place& place : model.any().Places()) {
    CAPTURE(place.name);
    const auto run = [&](const std::function<void(HookRows&)>& call) {
      return model.Forward(cache, tokens, workspace, {.hooks = {{place.name, call}}});
    };
    CheckError(run([](HookRows&) { throw std::runtime_error("enough"); }), ErrorCode::kFailedPrecondition, "enough");
    CheckError(run([](HookRows& rows) { rows.Fail("no more"); }), ErrorCode::kFailedPrecondition,
               "the hook at " + place.name + ": no more");
    CHECK(cache.size() == 0);
    bool is_refused = false;
    REQUIRE(run([&](const HookRows&) { is_refused = !model.Logits({}, workspace); }));
    CHECK(is_refused);
    CHECK(cache.size() == 3);
    REQUIRE(cache.Truncate(0));
  }
}

SKALD_LAW("a hook that stops ends the step there, and nothing is committed", small) {
  const RandomModel model(small, 3);
  Workspace workspace = *CreateWorkspace({.threads = 1});
  KVCache cache = NewCache(small);
  const std::vector<int32_t> tokens = RandomTokens(small, 1, 6), more = RandomTokens(small, 2, 5);
  REQUIRE(model.Forward(cache, tokens, workspace));
  for (const Place& place : model.any().Places()) {
    CAPTURE(place.name);
    std::vector<std::string> seen;
    const std::vector<Hook> hooks = {{place.name, [](HookRows& rows) { rows.Stop(); }},
                                     {"*", [&](const HookRows& rows) { seen.push_back(rows.place.name); }}};
    const auto stopped = model.Forward(Batch().Add(cache, more, Want::kLogits), workspace, {.hooks = hooks});
    REQUIRE(stopped);
    CHECK(stopped->stopped());
    CHECK(stopped->size() == 0);
    CHECK(cache.size() == tokens.size());
    std::vector<std::string> before;
    for (const Place& one : model.any().Places()) {
      if (&one == &place) break;
      before.push_back(one.name);
    }
    CHECK(std::set(seen.begin(), seen.end()) == std::set(before.begin(), before.end()));
  }
  const auto alone = model.Forward(cache, more, workspace, {.hooks = {{"stream.0", [](HookRows& r) { r.Stop(); }}}});
  REQUIRE(alone);
  CHECK(alone->empty());
  const auto after = model.Forward(cache, more, workspace);
  REQUIRE(after);
  const std::vector<float> logits(after->begin(), after->end());
  KVCache fresh = NewCache(small);
  REQUIRE(model.Forward(fresh, tokens, workspace));
  const auto expected = model.Forward(fresh, more, workspace);
  REQUIRE(expected);
  CHECK(std::ranges::equal(*expected, logits));
}

TEST_CASE("places that a model has not are refused by name, before anything is computed") {
  const RandomModel model(SmallModelNamed("one-layer"), 3);
  Workspace workspace = *CreateWorkspace({.threads = 1});
  KVCache cache = NewCache(SmallModelNamed("one-layer"));
  const std::vector<int32_t> tokens = {1, 2, 3};
  size_t calls = 0;
  const auto run = [&](const std::string& place) {
    const Hook first = {"stream.0", [&](HookRows&) { ++calls; }};
    return model.Forward(cache, tokens, workspace, {.hooks = {first, {place, [](HookRows&) {}}}});
  };
  CheckError(run("block.0.gates"), ErrorCode::kInvalidArgument,
             "the model has no place 'block.0.gates'; block.0 has input, queries_before_rope, keys_before_rope, "
             "queries, keys, values, probabilities, mixed, output, added");
  CheckError(run("stream.3"), ErrorCode::kInvalidArgument, "no place 'stream.3'; AnyModel::Places lists those");
  CheckError(run("block.7.*"), ErrorCode::kInvalidArgument, "no place 'block.7.*'");
  CheckError(run(""), ErrorCode::kInvalidArgument, "no place");
  CheckError(model.Forward(cache, tokens, workspace, {.hooks = {{"logits", {}}}}), ErrorCode::kInvalidArgument,
             "the hook at 'logits' does nothing");
  CHECK(calls == 0);
  CHECK(cache.size() == 0);
  CHECK(run("*.0.*ies"));  // queries
  CHECK(calls == 1);
}

}  // namespace hooks_test
}  // namespace skald::testing
