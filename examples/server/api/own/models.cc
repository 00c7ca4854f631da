// SPDX-License-Identifier: Apache-2.0
//
// The list of models, and texts as tokens.

#include <string>
#include <utility>

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

}  // namespace

Answer ListModels(const Call& call) {
  Json data = Json::array();
  for (const NamedModel& model : call.service->model().named_models()) data.push_back(ModelJson(*call.service, model));
  return JsonAnswer({{"object", "list"}, {"data", std::move(data)}});
}

Answer ShowModel(const Call& call) {
  if (const NamedModel* const model = call.service->model().FindModel(call.parameter)) {
    return JsonAnswer(ModelJson(*call.service, *model));
  }
  throw ApiError{404, "there is no model '" + call.parameter + "' here", "model", "model_not_found"};
}

Answer Tokenize(const Call& call) {
  const Json body = ParseJson(call.http.body);
  JsonReader reader(body);
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
  return JsonAnswer({{"tokens", std::move(tokens)}});
}

Answer Detokenize(const Call& call) {
  const Json body = ParseJson(call.http.body);
  JsonReader reader(body);
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
  return JsonAnswer({{"content", Take(call.service->model().served().text.tokenizer.Decode(ids), "tokens")}});
}

}  // namespace skald::serve
