// SPDX-License-Identifier: Apache-2.0

#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "bind.h"
#include "skald/sampling/logprobs.h"
#include "skald/sampling/penalties.h"
#include "skald/sampling/sampler.h"
#include "skald/sampling/settings.h"
#include "values/errors.h"
#include "values/token_ids.h"

namespace skald::python {

namespace {

using AllowedWords = nb::ndarray<const uint64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

std::span<const float> SpanOf(const FloatVector& logits) { return {logits.data(), logits.size()}; }

std::vector<LogitBias> BiasesOf(const std::map<int32_t, float>& given) {
  std::vector<LogitBias> biases;
  for (const auto& [token, bias] : given) biases.push_back({token, bias});
  return biases;
}

void InitSettings(SamplerSettings* self, float temperature, size_t top_k, float top_p, float min_p,
                  size_t penalty_window, float repetition_penalty, float presence_penalty, float frequency_penalty,
                  const std::map<int32_t, float>& logit_bias, uint64_t seed, uint64_t stream,
                  std::optional<size_t> num_logprobs) {
  new (self) SamplerSettings{.temperature = temperature,
                             .top_k = top_k,
                             .top_p = top_p,
                             .min_p = min_p,
                             .penalty_window = penalty_window,
                             .repetition_penalty = repetition_penalty,
                             .presence_penalty = presence_penalty,
                             .frequency_penalty = frequency_penalty,
                             .logit_bias = BiasesOf(logit_bias),
                             .random = {.seed = seed, .stream = stream},
                             .num_logprobs = num_logprobs};
}

void BindSettings(nb::module_& m) {
  static const SamplerSettings defaults;
  nb::class_<SamplerSettings>(m, "SamplerSettings", Doc("SamplerSettings"))
      .def("__init__", &InitSettings, nb::kw_only(), "temperature"_a = defaults.temperature, "top_k"_a = defaults.top_k,
           "top_p"_a = defaults.top_p, "min_p"_a = defaults.min_p, "penalty_window"_a = defaults.penalty_window,
           "repetition_penalty"_a = defaults.repetition_penalty, "presence_penalty"_a = defaults.presence_penalty,
           "frequency_penalty"_a = defaults.frequency_penalty, "logit_bias"_a = std::map<int32_t, float>(),
           "seed"_a = defaults.random.seed, "stream"_a = defaults.random.stream, "num_logprobs"_a = nb::none())
      .def_rw("temperature", &SamplerSettings::temperature, Doc("SamplerSettings::temperature"))
      .def_rw("top_k", &SamplerSettings::top_k, Doc("SamplerSettings::top_k"))
      .def_rw("top_p", &SamplerSettings::top_p, Doc("SamplerSettings::top_p"))
      .def_rw("min_p", &SamplerSettings::min_p, Doc("SamplerSettings::min_p"))
      .def_rw("penalty_window", &SamplerSettings::penalty_window, Doc("SamplerSettings::penalty_window"))
      .def_rw("repetition_penalty", &SamplerSettings::repetition_penalty, Doc("SamplerSettings::repetition_penalty"))
      .def_rw("presence_penalty", &SamplerSettings::presence_penalty, Doc("SamplerSettings::presence_penalty"))
      .def_rw("frequency_penalty", &SamplerSettings::frequency_penalty, Doc("SamplerSettings::frequency_penalty"))
      .def_prop_rw(
          "logit_bias",
          [](const SamplerSettings& self) {
            std::map<int32_t, float> biases;
            for (const LogitBias& one : self.logit_bias) biases[one.token] += one.bias;
            return biases;
          },
          [](SamplerSettings& self, const std::map<int32_t, float>& given) { self.logit_bias = BiasesOf(given); },
          Doc("SamplerSettings::logit_bias"))
      .def_prop_rw(
          "seed", [](const SamplerSettings& self) { return self.random.seed; },
          [](SamplerSettings& self, uint64_t seed) { self.random.seed = seed; }, Doc("RandomStream::seed"))
      .def_prop_rw(
          "stream", [](const SamplerSettings& self) { return self.random.stream; },
          [](SamplerSettings& self, uint64_t stream) { self.random.stream = stream; }, Doc("RandomStream::stream"))
      .def_rw("num_logprobs", &SamplerSettings::num_logprobs, Doc("SamplerSettings::num_logprobs"))
      .def(
          "validate", [](const SamplerSettings& self, size_t vocab_size) { Take(ValidateSettings(self, vocab_size)); },
          "vocab_size"_a, Doc("ValidateSettings"));
}

}  // namespace

void BindSampling(nb::module_& m) {
  BindSettings(m);
  nb::class_<TokenLogprob>(m, "TokenLogprob", Doc("TokenLogprob"))
      .def_ro("id", &TokenLogprob::id, Doc("TokenLogprob::id"))
      .def_ro("logprob", &TokenLogprob::logprob, Doc("TokenLogprob::logprob"));
  nb::class_<SampledToken>(m, "SampledToken", Doc("SampledToken"))
      .def(
          "__init__",
          [](SampledToken* self, int32_t id) { new (self) SampledToken{.id = id, .logprob = {}, .top_logprobs = {}}; },
          "id"_a)
      .def_ro("id", &SampledToken::id, Doc("SampledToken::id"))
      .def_ro("logprob", &SampledToken::logprob, Doc("SampledToken::logprob"))
      .def_ro("top_logprobs", &SampledToken::top_logprobs, Doc("SampledToken::top_logprobs"));
  nb::class_<SamplerState>(m, "SamplerState", Doc("SamplerState"))
      .def(nb::init<>())
      .def_ro("recent_tokens", &SamplerState::recent_tokens, Doc("SamplerState::recent_tokens"))
      .def(
          "observe",
          [](SamplerState& self, const SamplerSettings& settings, TokenIds tokens) {
            Take(ObserveTokens(settings, tokens.Read(), self));
          },
          "settings"_a, "tokens"_a, Doc("ObserveTokens"));
  m.def(
      "sample",
      [](const FloatVector& logits, const SamplerSettings& settings, uint64_t position, const SamplerState* state,
         const std::optional<AllowedWords>& allowed) {
        static const SamplerState none;
        SamplerScratch scratch;
        std::optional<std::span<const uint64_t>> words;
        if (allowed) words.emplace(allowed->data(), allowed->size());
        return Take(Sample(SpanOf(logits), settings, state == nullptr ? none : *state, position, scratch, words));
      },
      nb::arg("logits").noconvert(), "settings"_a, "position"_a, "state"_a = nb::none(),
      nb::arg("allowed").noconvert() = nb::none(), Doc("Sample"));
  m.def(
      "score",
      [](const FloatVector& logits, int32_t id, size_t num_top) {
        if (id < 0 || static_cast<size_t>(id) >= logits.size()) {
          Raise(ErrorCode::kInvalidArgument, "score: token id " + std::to_string(id) + " is not one of the " +
                                                 std::to_string(logits.size()) + " of the logits");
        }
        SamplerScratch scratch;
        return Take(Score(SpanOf(logits), id, num_top, scratch));
      },
      nb::arg("logits").noconvert(), "id"_a, "num_top"_a = 0, Doc("Score"));
}

}  // namespace skald::python
