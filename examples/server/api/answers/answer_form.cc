// SPDX-License-Identifier: Apache-2.0

#include "server/api/answers/answer_form.h"

#include <cstddef>
#include <utility>
#include <vector>

#include "skald/open/tools/answer_filter.h"

namespace skald::serve {
namespace {

// A grammar of nothing but these texts.
std::string GrammarOfChoices(const std::vector<std::string>& choices) {
  std::string grammar = "root ::= ";
  for (size_t i = 0; i < choices.size(); ++i) {
    grammar += i == 0 ? "\"" : " | \"";
    for (const char c : choices[i]) {
      if (c == '"' || c == '\\') grammar += '\\';
      if (c == '\n') {
        grammar += "\\n";
      } else if (c == '\r') {
        grammar += "\\r";
      } else {
        grammar += c;
      }
    }
    grammar += '"';
  }
  return grammar;
}

class FormReader {
 public:
  explicit FormReader(AnswerForm& form) : form_(form) {}

  void ReadSchema(JsonReader& reader, const char* name) {
    const Json* const schema = reader.Any(name);
    if (schema == nullptr || (schema->is_object() && schema->empty())) return;  // llama.cpp's clients send {}
    Json json = *schema;
    if (schema->is_string()) json = TryParseJson(schema->get_ref<const std::string&>()).value_or(Json());
    if (!json.is_object()) reader.Fail(name, "a JSON Schema");
    Claim(reader, name);
    form_.schema = std::move(json);
  }

  void ReadGrammar(JsonReader& reader, const char* name) {
    auto grammar = reader.String(name);
    if (!grammar || grammar->empty()) return;
    Claim(reader, name);
    form_.grammar = *std::move(grammar);
  }

  void ReadChoice(JsonReader& reader, const char* name) {
    const Json* const list = reader.Array(name);
    if (list == nullptr) return;
    const std::vector<std::string> choices = reader.Strings(name);
    if (choices.empty()) reader.Fail(name, "at least one text");
    Claim(reader, name);
    form_.grammar = GrammarOfChoices(choices);
  }

  void Claim(const JsonReader& reader, std::string_view name) {
    const std::string field = reader.PathOf(name);
    if (!form_.is_any()) {
      throw ApiError{400, "'" + field + "' and '" + form_.field + "' both say which form the answer has", field};
    }
    form_.field = field;
  }

 private:
  AnswerForm& form_;
};

}  // namespace

AnswerForm ReadAnswerForm(JsonReader& request) {
  AnswerForm form;
  FormReader reader(form);
  reader.ReadGrammar(request, "grammar");
  reader.ReadSchema(request, "json_schema");
  reader.ReadSchema(request, "guided_json");
  reader.ReadGrammar(request, "guided_grammar");
  reader.ReadChoice(request, "guided_choice");
  auto outputs = request.Object("structured_outputs");
  if (!outputs) return form;
  reader.ReadSchema(*outputs, "json");
  reader.ReadGrammar(*outputs, "grammar");
  reader.ReadChoice(*outputs, "choice");
  if (outputs->Bool("json_object").value_or(false)) {
    reader.Claim(*outputs, "json_object");
    form.schema = Json();
  }
  outputs->Finish();
  return form;
}

void ReadResponseFormat(JsonReader& reader, std::string_view name, AnswerForm& form) {
  auto format = reader.Object(name);
  if (!format) return;
  const auto type = format->OneOf("type", {"text", "json_object", "json_schema"}).value_or("text");
  if (type != "text") FormReader(form).Claim(reader, name);
  if (type == "json_object") {
    auto schema = format->Object("schema");  // llama.cpp's wish
    form.schema = schema && !schema->json().empty() ? schema->json() : Json();
  }
  if (type == "json_schema") {
    // Chat completions have the schema in an object of its own, responses beside the type.
    auto nested = format->Object("json_schema");
    JsonReader& holder = nested ? *nested : *format;
    auto schema = holder.Object("schema");
    if (!schema) holder.Fail("schema", "a JSON Schema");
    form.schema = schema->json();
    if (nested) nested->Finish();
  }
  format->Finish();
}

std::shared_ptr<const TokenFilter> FilterOfForm(const Call& call, const AnswerForm& form, const Request& request) {
  if (form.grammar) return Take(call.model().FilterOfGrammar(*form.grammar), form.field);
  if (!form.schema) return nullptr;
  const AnswerRules rules = {.schema = form.schema->is_null() ? std::string() : Dump(*form.schema)};
  return Take(call.model().FilterOf(rules, request), form.field);
}

}  // namespace skald::serve
