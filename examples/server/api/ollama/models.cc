// SPDX-License-Identifier: Apache-2.0
//
// Models as Ollama's API has them: docs.ollama.com/api/tags and the pages beside it.

#include <algorithm>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

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

// `model` is null where it is not loaded: nothing is known of it then. `name` is its own or that of an adapter.
Json DetailsJson(const ModelAtWork* model, const std::string& own_name, const std::string& name) {
  const ModelFacts facts = model == nullptr ? ModelFacts() : model->facts;
  return {{"parent_model", name == own_name ? "" : TaggedName(own_name)},
          {"format", "skald"},
          {"family", facts.family},
          {"families", Json::array({facts.family})},
          {"parameter_size", model == nullptr ? "" : ShortNumber(facts.parameters)},
          {"quantization_level", model == nullptr ? "" : std::string(NameOf(facts.type))}};
}

// Tells the models of a server apart: of its weights and adapter if they were digested, else of its name.
Result<std::string> DigestOf(const ModelAtWork* model, const std::string& name) {
  Sha256Digest digest = {};
  if (model != nullptr && model->service != nullptr) {
    digest = model->service->FindModel(name)->adapter;
    if (digest == Sha256Digest{}) digest = model->service->served().identity.weights;
  }
  if (digest == Sha256Digest{}) {
    SKALD_ASSIGN(digest, Sha256().Update(name).Finish());
  }
  std::string digits;
  for (const std::byte byte : digest) {
    char text[3];
    std::snprintf(text, sizeof(text), "%02x", std::to_integer<unsigned>(byte));
    digits += text;
  }
  return digits;
}

// Of all models and adapters, or of those that are loaded.
Json ModelList(const Call& call, bool only_loaded) {
  Json list = Json::array();
  for (const ModelStatus& one : call.service->models().List()) {
    if (only_loaded && one.model == nullptr) continue;
    std::vector<std::string> names = {one.name};
    names.insert(names.end(), one.adapters.begin(), one.adapters.end());
    for (const std::string& name : names) {
      Json json = {{"name", TaggedName(name)}, {"model", TaggedName(name)}};
      if (!only_loaded) json["modified_at"] = TimeText(call.service->started());
      json["size"] = one.model == nullptr ? 0 : one.model->facts.bytes;
      json["digest"] = Take(DigestOf(one.model.get(), name));
      json["details"] = DetailsJson(one.model.get(), one.name, name);
      if (only_loaded) {
        json["expires_at"] = "9999-12-31T23:59:59Z";
        json["size_vram"] = 0;
        json["context_length"] = one.model->context();
      }
      list.push_back(std::move(json));
    }
  }
  return list;
}

Json CapabilitiesJson(const ModelText& text) {
  Json list = Json::array({"completion"});
  const OutputFormat& output = text.output;
  if (output.tools != ToolForm::kUnknown) list.push_back("tools");
  if (!output.think_begin.empty() || output.tools == ToolForm::kHarmony) list.push_back("thinking");
  if (FindInfillMarks(text.tokenizer)) list.push_back("insert");
  return list;
}

Answer ShowEncoder(const Call& call, const RequestNotes& notes) {
  const ModelAtWork& model = call.at_work();
  const ModelFacts& facts = model.facts;
  const Encoder& encoder = call.encoder()->encoder();
  return JsonAnswer({{"modelfile", "FROM " + TaggedName(model.name()) + "\n"},
                     {"parameters", ""},
                     {"template", ""},
                     {"details", DetailsJson(&model, model.name(), model.name())},
                     {"model_info",
                      {{"general.architecture", facts.family},
                       {"general.basename", model.name()},
                       {"general.parameter_count", facts.parameters},
                       {facts.family + ".context_length", model.context()},
                       {facts.family + ".embedding_length", encoder.facts().dimension}}},
                     {"capabilities", Json::array({"embedding"})},
                     {"modified_at", TimeText(call.service->started())}},
                    notes);
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

Answer OllamaTags(const Call& call) { return JsonAnswer({{"models", ModelList(call, /*only_loaded=*/false)}}); }

Answer OllamaPs(const Call& call) { return JsonAnswer({{"models", ModelList(call, /*only_loaded=*/true)}}); }

Answer OllamaShow(const Call& call) {
  BodyReader reader(call, "OllamaModelRequest");
  const NamedModel& model = ReadOllamaModel(reader, call);
  reader.Finish();
  if (call.encoder() != nullptr) return ShowEncoder(call, *reader.notes());
  const ServedModel& served = call.model().served();
  const ModelFacts& facts = call.at_work().facts;
  Json info = {{"general.architecture", facts.family},
               {"general.basename", served.name},
               {"general.parameter_count", facts.parameters},
               {facts.family + ".context_length", call.model().context()},
               {facts.family + ".embedding_length", served.model_dim},
               {facts.family + ".vocab_size", served.model.vocab_size()}};
  if (facts.trained_context > 0) info["skald.trained_context_length"] = facts.trained_context;
  return JsonAnswer({{"modelfile", "FROM " + TaggedName(model.name) + "\n"},
                     {"parameters", ParametersText(served.text.sampler)},
                     {"template", served.text.chat_template.source()},
                     {"details", DetailsJson(&call.at_work(), served.name, model.name)},
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
  const auto is_wanted = [&](const std::string& name) { return TaggedName(name) == TaggedName(wanted); };
  if (std::ranges::none_of(call.service->models().names(), is_wanted)) {
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
