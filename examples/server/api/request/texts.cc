// SPDX-License-Identifier: Apache-2.0

#include "server/api/request/texts.h"

#include <string>
#include <utility>

namespace skald::serve {
namespace {

std::vector<int32_t> TokensOf(const Json& text, JsonReader& reader, std::string_view name, const Call& call) {
  const ServedModel& model = call.service->model().served();
  const uint32_t context = call.service->model().context();
  std::vector<int32_t> ids;
  if (text.is_string()) {
    const size_t least = model.text.tokenizer.LeastIds(text.get_ref<const std::string&>());
    if (least > context) throw PromptTooLong(least, context, std::string(name));
    ids = Take(model.text.tokenizer.Encode(text.get<std::string>(), ParseSpecial::kNo, AddSpecial::kYes),
               std::string(name));
  } else if (text.is_array()) {
    for (const Json& id : text) {
      const bool is_id =
          id.is_number_integer() && id.get<int64_t>() >= 0 && id.get<int64_t>() < model.model.vocab_size();
      if (!is_id)
        reader.Fail(name, "texts, or lists of ids of tokens below " + std::to_string(model.model.vocab_size()));
      ids.push_back(id.get<int32_t>());
    }
  }
  if (ids.empty()) reader.Fail(name, "texts that are not empty, or lists of ids of tokens");
  return ids;
}

}  // namespace

std::vector<std::vector<int32_t>> ReadTexts(JsonReader& reader, std::string_view name, const Call& call, size_t most) {
  const Json* const field = reader.Any(name);
  if (field == nullptr) reader.Fail(name, "a text, the ids of its tokens, or a list of either");
  const bool is_list = field->is_array() && !field->empty() && !(*field)[0].is_number();
  if (!is_list) return {TokensOf(*field, reader, name, call)};
  if (field->size() > most) reader.Fail(name, "at most " + std::to_string(most) + " texts");
  std::vector<std::vector<int32_t>> texts;
  for (const Json& text : *field) {
    call.StopIfAbandoned();
    texts.push_back(TokensOf(text, reader, name, call));
  }
  return texts;
}

}  // namespace skald::serve
