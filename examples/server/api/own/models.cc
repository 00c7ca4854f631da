// SPDX-License-Identifier: Apache-2.0
//
// The list of models, and texts as tokens.

#include <chrono>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "server/api/endpoints.h"
#include "server/api/request/json_reader.h"
#include "server/api/request/sampling.h"

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
  const std::chrono::sys_seconds started{std::chrono::seconds(service.started())};
  char text[sizeof("2000-01-01T00:00:00Z")];
  const std::chrono::year_month_day day{std::chrono::floor<std::chrono::days>(started)};
  const std::chrono::hh_mm_ss time{started - std::chrono::floor<std::chrono::days>(started)};
  std::snprintf(text, sizeof(text), "%04d-%02u-%02uT%02d:%02d:%02dZ", static_cast<int>(day.year()),
                static_cast<unsigned>(day.month()), static_cast<unsigned>(day.day()),
                static_cast<int>(time.hours().count()), static_cast<int>(time.minutes().count()),
                static_cast<int>(time.seconds().count()));
  return {{"type", "model"},
          {"id", model.name},
          {"display_name", model.name},
          {"created_at", text},
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
  if (const NamedModel* const model = call.service->FindModel(call.parameter)) {
    return JsonAnswer(ModelJsonFor(call, *model));
  }
  throw ApiError{404, "there is no model '" + call.parameter.substr(0, 128) + "' here", "model", "model_not_found"};
}

Answer Tokenize(const Call& call) {
  const Json body = ParseJson(call.http.body);
  RequestNotes notes(call.fields);
  JsonReader reader(body, "", "TokenizeRequest", &notes);
  const std::string text = reader.NeedString("content");
  const bool add_special = reader.Bool("add_special").value_or(false);
  const bool parse_special = reader.Bool("parse_special").value_or(false);
  const bool with_pieces = reader.Bool("with_pieces").value_or(false);
  (void)ReadModel(reader, call);
  reader.Finish();
  const Tokenizer& tokenizer = call.service->model().served().text.tokenizer;
  const auto ids = Take(tokenizer.Encode(text, parse_special ? ParseSpecial::kYes : ParseSpecial::kNo,
                                         add_special ? AddSpecial::kYes : AddSpecial::kNo));
  Json tokens = Json::array();
  for (const int32_t id : ids) {
    tokens.push_back(with_pieces ? Json{{"id", id}, {"piece", std::string(tokenizer.IdToPiece(id).value_or(""))}}
                                 : Json(id));
  }
  return JsonAnswer({{"tokens", std::move(tokens)}}, notes);
}

Answer Detokenize(const Call& call) {
  const Json body = ParseJson(call.http.body);
  RequestNotes notes(call.fields);
  JsonReader reader(body, "", "DetokenizeRequest", &notes);
  const Json& tokens = reader.NeedArray("tokens");
  (void)ReadModel(reader, call);
  reader.Finish();
  std::vector<int32_t> ids;
  for (const Json& id : tokens) {
    if (!id.is_number_integer() || id.get<int64_t>() != static_cast<int32_t>(id.get<int64_t>())) {
      reader.Fail("tokens", "a list of ids of tokens");
    }
    ids.push_back(id.get<int32_t>());
  }
  return JsonAnswer({{"content", Take(call.service->model().served().text.tokenizer.Decode(ids), "tokens")}}, notes);
}

}  // namespace skald::serve
