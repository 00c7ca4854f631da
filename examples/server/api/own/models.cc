// SPDX-License-Identifier: Apache-2.0
//
// The list of models.

#include <string>
#include <utility>
#include <vector>

#include "server/api/answers/time_text.h"
#include "server/api/endpoints.h"
#include "server/api/request/json_reader.h"

namespace skald::serve {
namespace {

Json ModelJson(const Service& service, const NamedModel& model) {
  Json json = {{"id", model.name},
               {"object", "model"},
               {"created", service.started()},
               {"owned_by", "skald"},
               {"context_length", service.model().context()}};
  if (model.adapter != Sha256Digest{}) json["parent"] = service.model().served().name;
  return json;
}

// The same in Anthropic's form.
Json AnthropicModelJson(const Service& service, const NamedModel& model) {
  return {{"type", "model"},
          {"id", model.name},
          {"display_name", model.name},
          {"created_at", TimeText(service.started())},
          {"max_input_tokens", service.model().context()},
          {"max_tokens", service.model().context()}};
}

Json ModelJsonFor(const Call& call, const NamedModel& model) {
  const bool is_anthropic = !call.http.Header("anthropic-version").empty();
  return is_anthropic ? AnthropicModelJson(*call.service, model) : ModelJson(*call.service, model);
}

}  // namespace

Answer ListModels(const Call& call) {
  Json data = Json::array();
  const std::vector<NamedModel>& models = call.service->model().named_models();
  for (const NamedModel& model : models) data.push_back(ModelJsonFor(call, model));
  Json list = {{"object", "list"}, {"data", std::move(data)}};
  if (!call.http.Header("anthropic-version").empty()) {
    list.erase("object");
    list.update({{"has_more", false}, {"first_id", models.front().name}, {"last_id", models.back().name}});
  }
  return JsonAnswer(list);
}

Answer ShowModel(const Call& call) {
  if (const NamedModel* const model = call.service->FindModel(call.path.id)) {
    return JsonAnswer(ModelJsonFor(call, *model));
  }
  throw ApiError{404, "there is no model '" + call.path.id.substr(0, 128) + "' here", "model", "model_not_found"};
}

}  // namespace skald::serve
