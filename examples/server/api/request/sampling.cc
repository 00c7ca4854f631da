// SPDX-License-Identifier: Apache-2.0

#include "server/api/request/sampling.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "server/api/request/least_tokens.h"
#include "server/api/request/query_reader.h"

namespace skald::serve {
namespace {

constexpr int64_t kMostSamples = 128, kMostStops = 16;
constexpr size_t kMostStopBytes = 4096;  // in all; each token of an answer is compared with them

void CheckStops(const std::vector<std::string>& stops, std::string_view name, const JsonReader& reader) {
  if (stops.size() > kMostStops) reader.Fail(name, "at most " + std::to_string(kMostStops) + " texts");
  size_t bytes = 0;
  for (const std::string& stop : stops) {
    if (stop.empty()) reader.Fail(name, "texts that are not empty");
    bytes += stop.size();
  }
  if (bytes > kMostStopBytes) {
    reader.Fail(name, "texts of " + std::to_string(kMostStopBytes) + " bytes in all, not " + std::to_string(bytes));
  }
}

// Pairs as llama.cpp's clients send them: a token's id, or a text whose tokens are meant, and a number, or false where
// they may never come.
void ReadBiasPairs(const Json& pairs, const JsonReader& reader, const Call& call, SamplerSettings& sampler) {
  const ServedModel& served = call.model().served();
  std::map<int32_t, float> biases;  // where a token has several, the last
  for (const Json& pair : pairs) {
    const bool is_pair = pair.is_array() && pair.size() == 2;
    const bool is_never = is_pair && pair[1].is_boolean() && !pair[1].get<bool>();
    const double value = is_never ? 0 : is_pair && pair[1].is_number() ? pair[1].get<double>() : 1000.0;
    if (value < -100 || value > 100) reader.Fail("logit_bias", "pairs with a number from -100 to 100, or false");
    std::vector<int32_t> ids;
    if (pair[0].is_string()) {
      ids = Take(served.text.tokenizer.Encode(pair[0].get<std::string>(), ParseSpecial::kYes, AddSpecial::kNo));
    } else if (pair[0].is_number_integer() && pair[0].get<int64_t>() >= 0 &&
               pair[0].get<int64_t>() < served.model.vocab_size()) {
      ids = {pair[0].get<int32_t>()};
    } else {
      reader.Fail("logit_bias",
                  "pairs with a text, or an id of a token below " + std::to_string(served.model.vocab_size()));
    }
    const float bias = is_never ? -std::numeric_limits<float>::infinity() : static_cast<float>(value);
    for (const int32_t id : ids) biases[id] = bias;
  }
  for (const auto& [id, bias] : biases) sampler.logit_bias.push_back({id, bias});
}

void ReadLogitBias(JsonReader& reader, const Call& call, SamplerSettings& sampler) {
  const Json* const given = reader.Any("logit_bias");
  if (given == nullptr) return;
  if (given->is_array()) return ReadBiasPairs(*given, reader, call, sampler);
  auto biases = reader.Object("logit_bias");
  const auto vocab_size = call.model().served().model.vocab_size();
  for (auto bias = biases->json().begin(); bias != biases->json().end(); ++bias) {
    const std::string& name = bias.key();
    int32_t id = -1;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), id);
    if (error != std::errc() || end != name.data() + name.size() || id < 0 || id >= vocab_size) {
      throw ApiError{
          400,
          "'logit_bias' has '" + name.substr(0, 64) + "', expected ids of tokens below " + std::to_string(vocab_size),
          "logit_bias"};
    }
    // Not by its name: that would be a search through all of them for each.
    const double value = bias->is_number() ? bias->get<double>() : bias->is_null() ? 0.0 : 1000.0;
    if (value < -100 || value > 100) biases->Fail(name, "a number from -100 to 100");
    sampler.logit_bias.push_back({id, static_cast<float>(value)});
  }
}

// The penalties, in OpenAI's names and in those of llama.cpp.
void ReadPenalties(JsonReader& reader, const Call& call, SamplerSettings& sampler) {
  constexpr double kMost = std::numeric_limits<float>::max();
  const auto set = [&](const char* name, float& value, double least, double most) {
    if (const auto number = reader.Number(name, least, most)) value = static_cast<float>(*number);
  };
  set("repeat_penalty", sampler.repetition_penalty, 1e-6, kMost);
  set("repetition_penalty", sampler.repetition_penalty, 1e-6, kMost);
  set("presence_penalty", sampler.presence_penalty, -2, 2);
  set("frequency_penalty", sampler.frequency_penalty, -2, 2);
  sampler.penalty_window = call.model().context();
  const auto window = reader.Integer("repeat_last_n", -1, 1 << 30);
  if (window && *window >= 0) sampler.penalty_window = static_cast<size_t>(*window);
}

// The tokens that end an answer.
void ReadEndTokens(JsonReader& reader, const Call& call, Request& request) {
  constexpr size_t kMostEnds = 256;
  const ServedModel& served = call.model().served();
  request.end_tokens = served.text.stop_ids;
  if (reader.Bool("ignore_eos").value_or(false)) {
    for (const int32_t id : request.end_tokens) {
      request.sampler.logit_bias.push_back({id, -std::numeric_limits<float>::infinity()});
    }
  }
  const Json* const ids = reader.Array("stop_token_ids");
  if (ids == nullptr) return;
  if (ids->size() > kMostEnds) reader.Fail("stop_token_ids", "at most " + std::to_string(kMostEnds) + " ids");
  for (const Json& id : *ids) {
    if (!id.is_number_integer() || id.get<int64_t>() < 0 || id.get<int64_t>() >= served.model.vocab_size()) {
      reader.Fail("stop_token_ids", "ids of tokens below " + std::to_string(served.model.vocab_size()));
    }
    request.end_tokens.push_back(id.get<int32_t>());
  }
}

}  // namespace

uint32_t ReadSampling(JsonReader& reader, const Call& call, Request& request, std::string_view stop_name) {
  SamplerSettings& sampler = request.sampler = call.model().served().text.sampler;
  if (const auto temperature = reader.Number("temperature", 0, 100)) {
    sampler.temperature = static_cast<float>(*temperature);
  }
  if (const auto top_p = reader.Number("top_p", 0, 1)) {
    // Of no probability at all the likeliest token is left.
    sampler.top_p = std::max(static_cast<float>(*top_p), std::numeric_limits<float>::min());
  }
  if (const auto min_p = reader.Number("min_p", 0, 1)) sampler.min_p = static_cast<float>(*min_p);
  if (const auto top_k = reader.Integer("top_k", -1, 1 << 30))
    sampler.top_k = *top_k < 0 ? 0 : static_cast<size_t>(*top_k);
  ReadPenalties(reader, call, sampler);
  ReadLogitBias(reader, call, sampler);
  const auto seed = reader.Integer("seed", std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max());
  sampler.random.seed = seed ? static_cast<uint64_t>(*seed) : call.service->seed().value_or(std::random_device{}());
  request.samples = static_cast<uint32_t>(reader.Integer("n", 1, kMostSamples).value_or(1));
  request.stop_strings = reader.Strings(stop_name);
  CheckStops(request.stop_strings, stop_name, reader);
  request.priority =
      static_cast<int32_t>(reader.Integer("priority", -kMostPriority, call.tenant.max_priority).value_or(0));
  ReadEndTokens(reader, call, request);
  request.special_text = !reader.Bool("skip_special_tokens").value_or(true);
  return static_cast<uint32_t>(reader.Integer("min_tokens", 0, kMostRequestTokens).value_or(0));
}

std::optional<MostTokens> ReadMostTokens(JsonReader& reader, std::initializer_list<const char*> names) {
  std::optional<MostTokens> first;
  for (const char* const name : names) {
    const auto number = reader.Integer(name, -1, kMostRequestTokens);
    if (!number || first) continue;
    first.emplace();
    if (*number >= 0) first->tokens = static_cast<uint32_t>(*number);
  }
  return first;
}

void SetLeastTokens(uint32_t tokens, const Call& call, Request& request) {
  if (tokens == 0 || request.end_tokens.empty()) return;
  const auto vocab_size = static_cast<size_t>(call.model().served().model.vocab_size());
  request.filter = std::make_shared<LeastTokensFilter>(tokens, request.end_tokens, vocab_size, request.filter);
}

void SetMostTokens(std::optional<MostTokens> wanted, const Call& call, Request& request) {
  if (wanted) request.max_tokens = wanted->tokens;
  if (call.tenant.max_tokens < request.max_tokens.value_or(std::numeric_limits<uint32_t>::max())) {
    request.max_tokens = call.tenant.max_tokens;
  }
}

const NamedModel& ReadModel(JsonReader& reader, const Call& call) {
  call.StopIfAbandoned();  // the first thing that is done with JSON that was parsed
  return ModelNamed(reader.String("model").value_or(""), call);
}

const NamedModel& ModelNamed(const std::string& name, const Call& call) {
  if (const auto served = call.service->NameOf(name)) return *call.Use(*served).FindModel(*served);
  throw NoSuchModel(name, call);
}

const NamedModel& ReadModelAfter(Conversations& kept, const std::optional<std::string>& id, JsonReader& reader,
                                 const Call& call) {
  if (!id || !reader.String("model").value_or("").empty()) return ReadModel(reader, call);
  call.StopIfAbandoned();
  const auto found = kept.Find(call.tenant.name, *id);
  const bool is_served = found && call.service->models().Has(found->model);
  return ModelNamed(is_served ? found->model : std::string(), call);
}

const NamedModel& ModelOfQuery(const Call& call) {
  const Json query = QueryJson(call.http.query);
  const auto model = query.find("model");
  if (model == query.end()) return ModelNamed("", call);
  return ModelNamed(model->is_string() ? model->get<std::string>() : Dump(*model), call);
}

ApiError NoSuchModel(const std::string& name, const Call& call) {
  std::string list;
  for (const std::string& one : call.service->models().names()) list += (list.empty() ? "'" : ", '") + one + "'";
  return {404, "there is no model '" + name.substr(0, 128) + "' here; this server runs " + list, "model",
          "model_not_found"};
}

}  // namespace skald::serve
