// SPDX-License-Identifier: Apache-2.0
//
// Embeddings as Cohere's API has them: docs.cohere.com/reference/embed.

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "server/api/answers/answer.h"
#include "server/api/encoders/encoder_answer.h"
#include "server/api/encoders/form.h"
#include "server/api/encoders/written_rows.h"
#include "server/api/endpoints.h"
#include "server/api/request/body_reader.h"
#include "server/api/request/sampling.h"

namespace skald::serve {
namespace {

struct CohereForm {
  std::vector<std::pair<std::string, RowForm>> forms;
  std::vector<std::string> texts = {}, ignored = {};
};

// The model's prompt for such texts, if it has one.
std::string PromptNameFor(const std::string& input_type, const EncoderFacts& facts) {
  const std::string name = input_type == "search_query"      ? "query"
                           : input_type == "search_document" ? "document"
                                                             : input_type;
  const bool is_there =
      std::ranges::find(facts.prompts, name, &std::pair<std::string, std::string>::first) != facts.prompts.end();
  return is_there ? name : std::string();
}

std::vector<std::pair<std::string, RowForm>> ReadForms(JsonReader& reader) {
  std::vector<std::pair<std::string, RowForm>> forms;
  for (const std::string& name : reader.Strings("embedding_types")) {
    const auto form = RowFormNamed(name);
    if (!form) reader.Fail("embedding_types", "\"float\", \"base64\", \"int8\", \"binary\" or \"ubinary\"");
    if (std::ranges::find(forms, name, &std::pair<std::string, RowForm>::first) == forms.end()) {
      forms.emplace_back(name, *form);
    }
  }
  if (forms.empty()) forms.emplace_back("float", RowForm::kFloat);
  return forms;
}

Json CohereJson(const EncoderWork& work, const CohereForm& form) {
  Json embeddings = Json::object();
  for (const auto& [name, row_form] : form.forms) {
    Json& list = embeddings[name] = Json::array();
    for (const std::vector<float>& row : work.embeddings) list.push_back(WrittenRow(row, row_form));
  }
  Json json = {{"id", NewId("embed")},
               {"embeddings", std::move(embeddings)},
               {"texts", form.texts},
               {"response_type", "embeddings_by_type"},
               {"meta", {{"api_version", {{"version", "2"}}}, {"billed_units", {{"input_tokens", TokensOf(work)}}}}}};
  if (!form.ignored.empty()) json["skald"]["ignored"] = form.ignored;
  return json;
}

}  // namespace

Answer CohereEmbed(const Call& call) {
  BodyReader reader(call, "CohereEmbedRequest");
  (void)ReadModel(reader, call);
  NeedEncoder(call);
  EmbedOptions options;
  const auto input_type =
      reader.OneOf("input_type", {"search_query", "search_document", "classification", "clustering"});
  options.prompt_name = PromptNameFor(input_type.value_or(""), call.encoder()->encoder().facts());
  options.dimension = ReadDimension(reader, call, "output_dimension");
  // Cohere's API cuts unless it is told otherwise; what is cut of a text is its end.
  const auto truncate = reader.OneOf("truncate", {"NONE", "END"});
  options.long_text = truncate.value_or("END") == "END" ? LongText::kCut : LongText::kRefuse;
  CohereForm form = {ReadForms(reader)};
  auto work = ReadEncoderWork(reader, "texts", call, std::move(options));
  form.texts = reader.Strings("texts");
  reader.Finish();
  form.ignored = reader.notes()->ignored();
  return AnswerEncoderWork(
      call, std::move(work),
      [form = std::move(form)](const EncoderWork& done) {
        Json json = CohereJson(done, form);
        if (Json cut = CutTexts(done); !cut.empty()) json["skald"]["cut"] = std::move(cut);
        return json;
      },
      RerankErrorJson);
}

}  // namespace skald::serve
