// SPDX-License-Identifier: Apache-2.0
//
// Models as Ollama's API has them: docs.ollama.com/api/tags and the pages beside it.

#include <algorithm>
#include <cstdio>
#include <string>
#include <utility>

#include "server/api/answers/time_text.h"
#include "server/api/endpoints.h"
#include "server/api/llama_cpp/infill.h"
#include "server/api/ollama/form.h"
#include "server/api/request/body_reader.h"
#include "skald/base/numbers/sha256.h"

namespace skald::serve {
namespace {

// A number as people write it: 1.5B.
std::string ShortNumber(uint64_t number) {
  const bool is_billions = number >= 1'000'000'000;
  char text[32];
  std::snprintf(text, sizeof(text), is_billions ? "%.1fB" : "%.2fM",
                static_cast<double>(number) / (is_billions ? 1e9 : 1e6));
  return text;
}

Json DetailsJson(const Call& call, const NamedModel& model) {
  const ModelFacts& facts = call.service->facts();
  const bool is_adapted = model.adapter != Sha256Digest{};
  return {{"parent_model", is_adapted ? TaggedName(call.service->model().served().name) : ""},
          {"format", "skald"},
          {"family", facts.family},
          {"families", Json::array({facts.family})},
          {"parameter_size", ShortNumber(facts.parameters)},
          {"quantization_level", NameOf(facts.type)}};
}

// Tells the models of a server apart: of its weights and adapter if they were digested, else of its name.
Result<std::string> DigestOf(const Call& call, const NamedModel& model) {
  Sha256Digest weights =
      model.adapter != Sha256Digest{} ? model.adapter : call.service->model().served().identity.weights;
  if (weights == Sha256Digest{}) {
    SKALD_ASSIGN(weights, Sha256().Update(model.name).Finish());
  }
  std::string digits;
  for (const std::byte byte : weights) {
    char text[3];
    std::snprintf(text, sizeof(text), "%02x", std::to_integer<unsigned>(byte));
    digits += text;
  }
  return digits;
}

Json ModelJson(const Call& call, const NamedModel& model) {
  return {{"name", TaggedName(model.name)},
          {"model", TaggedName(model.name)},
          {"modified_at", TimeText(call.service->started())},
          {"size", call.service->facts().bytes},
          {"digest", Take(DigestOf(call, model))},
          {"details", DetailsJson(call, model)}};
}

Json CapabilitiesJson(const ModelText& text) {
  Json list = Json::array({"completion"});
  const OutputFormat& output = text.output;
  if (output.tools != ToolForm::kUnknown) list.push_back("tools");
  if (!output.think_begin.empty() || output.tools == ToolForm::kHarmony) list.push_back("thinking");
  if (FindInfillMarks(text.tokenizer)) list.push_back("insert");
  return list;
}

// Lines of a Modelfile.
std::string ParametersText(const SamplerSettings& sampler) {
  char text[160];
  std::snprintf(text, sizeof(text), "temperature %g\ntop_k %zu\ntop_p %g\nmin_p %g\nrepeat_penalty %g",
                static_cast<double>(sampler.temperature), sampler.top_k, static_cast<double>(sampler.top_p),
                static_cast<double>(sampler.min_p), static_cast<double>(sampler.repetition_penalty));
  return text;
}

}  // namespace

Answer OllamaVersion(const Call&) { return JsonAnswer({{"version", kOllamaVersion}}); }

Answer OllamaTags(const Call& call) {
  Json models = Json::array();
  for (const NamedModel& model : call.service->model().named_models()) models.push_back(ModelJson(call, model));
  return JsonAnswer({{"models", std::move(models)}});
}

// All models are always loaded.
Answer OllamaPs(const Call& call) {
  Json models = Json::array();
  for (const NamedModel& model : call.service->model().named_models()) {
    Json json = ModelJson(call, model);
    json.erase("modified_at");
    json["expires_at"] = "9999-12-31T23:59:59Z";
    json["size_vram"] = 0;
    json["context_length"] = call.service->model().context();
    models.push_back(std::move(json));
  }
  return JsonAnswer({{"models", std::move(models)}});
}

Answer OllamaShow(const Call& call) {
  BodyReader reader(call, "OllamaModelRequest");
  const NamedModel& model = ReadOllamaModel(reader, call);
  reader.Finish();
  const ServedModel& served = call.service->model().served();
  const ModelFacts& facts = call.service->facts();
  Json info = {{"general.architecture", facts.family},
               {"general.basename", served.name},
               {"general.parameter_count", facts.parameters},
               {facts.family + ".context_length", call.service->model().context()},
               {facts.family + ".embedding_length", served.model_dim},
               {facts.family + ".vocab_size", served.model.vocab_size()}};
  if (facts.trained_context > 0) info["skald.trained_context_length"] = facts.trained_context;
  return JsonAnswer({{"modelfile", "FROM " + TaggedName(model.name) + "\n"},
                     {"parameters", ParametersText(served.text.sampler)},
                     {"template", served.text.chat_template.source()},
                     {"details", DetailsJson(call, model)},
                     {"model_info", std::move(info)},
                     {"capabilities", CapabilitiesJson(served.text)},
                     {"modified_at", TimeText(call.service->started())}},
                    *reader.notes());
}

// The models are here already: nothing is loaded over the network.
Answer OllamaPull(const Call& call) {
  BodyReader reader(call, "OllamaPullRequest");
  const auto older = reader.String("name");
  const std::string wanted = reader.String("model").value_or(older.value_or(""));
  if (wanted.empty()) reader.Fail("model", "the name of a model");
  const bool is_stream = reader.Bool("stream").value_or(true);
  reader.Finish();
  // Any name may mean the one model that is served, but not where another one is asked for.
  const auto is_wanted = [&](const NamedModel& one) { return TaggedName(one.name) == TaggedName(wanted); };
  if (std::ranges::none_of(call.service->model().named_models(), is_wanted)) {
    throw ApiError{404,
                   "there is no model '" + wanted.substr(0, 128) +
                       "' here, and this server downloads none: 'skald pull' does, and 'skald serve' serves it",
                   "model", "model_not_found"};
  }
  const Json success = {{"status", "success"}};
  if (!is_stream) return JsonAnswer(success, *reader.notes());
  const Json begun = {{"status", "pulling manifest"}};
  return std::make_unique<WholeAnswer>(Dump(begun) + "\n" + Dump(success) + "\n",
                                       HttpHead{200, "application/x-ndjson"});
}

}  // namespace skald::serve
