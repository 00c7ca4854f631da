// SPDX-License-Identifier: Apache-2.0
//
// The list of models, in OpenAI's form with the state of each as llama.cpp's server tells it, or in Anthropic's;
// loading and putting away.

#include <string>
#include <utility>
#include <vector>

#include "server/api/answers/time_text.h"
#include "server/api/endpoints.h"
#include "server/api/request/body_reader.h"
#include "server/api/request/sampling.h"

namespace skald::serve {
namespace {

Json StatusJson(const ModelStatus& model) {
  Json json = {{"value", StateName(model.state)}};
  if (model.failure) json.update({{"failed", true}, {"error", model.failure->message}});
  return json;
}

// `name` is the model's own or that of one of its adapters. Facts that are not known before it is loaded are left out.
Json ModelJson(const Service& service, const ModelStatus& model, const std::string& name) {
  Json json = {{"id", name}, {"object", "model"}, {"created", service.started()}, {"owned_by", "skald"}};
  if (model.model != nullptr) json["context_length"] = model.model->context();
  if (name != model.name) json["parent"] = model.name;
  json["status"] = StatusJson(model);
  return json;
}

// The same in Anthropic's form.
Json AnthropicModelJson(const Service& service, const ModelStatus& model, const std::string& name) {
  const Json context = model.model == nullptr ? Json() : Json(model.model->context());
  return {{"type", "model"},
          {"id", name},
          {"display_name", name},
          {"created_at", TimeText(service.started())},
          {"max_input_tokens", context},
          {"max_tokens", context}};
}

bool IsAnthropic(const Call& call) { return !call.http.Header("anthropic-version").empty(); }

// All models and their adapters, under their names.
std::vector<std::pair<std::string, Json>> ModelsOf(const Call& call) {
  std::vector<std::pair<std::string, Json>> list;
  for (const ModelStatus& model : call.service->models().List()) {
    std::vector<std::string> names = {model.name};
    names.insert(names.end(), model.adapters.begin(), model.adapters.end());
    for (std::string& name : names) {
      Json json =
          IsAnthropic(call) ? AnthropicModelJson(*call.service, model, name) : ModelJson(*call.service, model, name);
      list.emplace_back(std::move(name), std::move(json));
    }
  }
  return list;
}

// The name of the model that a request to load or unload it names.
std::string ReadServedName(JsonReader& reader, const Call& call) {
  const std::string name = reader.NeedString("model");
  reader.Finish();
  const auto served = call.service->NameOf(name);
  if (!served) throw NoSuchModel(name, call);
  return *served;
}

// That a model was loaded or unloaded.
Answer ModelAnswer(const std::string& name, const RequestNotes& notes) {
  Json json = {{"success", true}};
  if (!notes.ignored().empty()) json["skald"]["ignored"] = notes.ignored();
  HttpHead head;
  head.target = name;
  return std::make_unique<WholeAnswer>(Dump(json), std::move(head));
}

}  // namespace

Answer ListModels(const Call& call) {
  const auto models = ModelsOf(call);
  Json data = Json::array();
  for (const auto& [name, json] : models) data.push_back(json);
  Json list = {{"object", "list"}, {"data", std::move(data)}};
  if (IsAnthropic(call)) {
    list.erase("object");
    list.update({{"has_more", false}, {"first_id", models.front().first}, {"last_id", models.back().first}});
  }
  return JsonAnswer(list);
}

Answer ShowModel(const Call& call) {
  const auto served = call.service->NameOf(call.path.id);
  for (auto& [name, json] : ModelsOf(call)) {
    if (served && name == *served) return JsonAnswer(json);
  }
  throw NoSuchModel(call.path.id, call);
}

// The answer comes when the model is loaded.
Answer LoadModel(const Call& call) {
  BodyReader reader(call, "ModelChoice");
  const std::string name = ReadServedName(reader, call);
  call.NeedAdmin();
  (void)call.Use(name, /*tries_again=*/true);
  return ModelAnswer(name, *reader.notes());
}

// The answer comes at once: until all answers of the model are at their ends, its state is "unloading".
Answer UnloadModel(const Call& call) {
  BodyReader reader(call, "ModelChoice");
  const std::string name = ReadServedName(reader, call);
  call.NeedAdmin();
  if (auto begun = call.service->models().Unload(name); !begun) throw ApiErrorOf(begun.error());
  return ModelAnswer(name, *reader.notes());
}

}  // namespace skald::serve
