// SPDX-License-Identifier: Apache-2.0

#include "server/api/request/texts.h"

#include <algorithm>
#include <string>
#include <utility>

namespace skald::serve {
namespace {

bool IsNumber(const Json& json) { return json.is_number(); }

// The text of an object, as llama.cpp's clients send it: "prompt_string", or a "content" of parts.
Json TextIn(const Json& object, JsonReader& reader, std::string_view name) {
  const auto media = object.find("multimodal_data");
  if (media != object.end() && !media->empty()) reader.Fail(name, "no 'multimodal_data': texts alone are read");
  if (const auto text = object.find("prompt_string"); text != object.end() && text->is_string()) return *text;
  const auto content = object.find("content");
  std::string joined;
  bool is_text = content != object.end() && content->is_array();
  for (size_t i = 0; is_text && i < content->size(); ++i) {
    const Json& part = (*content)[i];
    is_text = part.is_object() && part.value("type", Json()) == "text" && part.value("text", Json()).is_string();
    if (is_text) joined += part["text"].get_ref<const std::string&>();
  }
  if (!is_text) reader.Fail(name, "texts, or objects with a text 'prompt_string' or a 'content' of texts");
  return joined;
}

// Adds the tokens of a text, an id, or a list of ids, in which there may be texts if special tokens are parsed. A text
// may be an object with it, as llama.cpp's clients send it.
void AddTokens(const Json& text, JsonReader& reader, std::string_view name, const Call& call,
               ParseSpecial parse_special, std::vector<int32_t>& ids) {
  const int64_t vocab_size = call.model().served().model.vocab_size();
  if (text.is_object()) {
    AddTokens(TextIn(text, reader, name), reader, name, call, parse_special, ids);
  } else if (text.is_string()) {
    const auto add_special = ids.empty() ? AddSpecial::kYes : AddSpecial::kNo;
    const auto more = TokensOfText(text.get_ref<const std::string&>(), name, call, parse_special, add_special);
    ids.insert(ids.end(), more.begin(), more.end());
  } else if (text.is_array()) {
    for (const Json& one : text) {
      if (one.is_string() && parse_special == ParseSpecial::kYes) {
        AddTokens(one, reader, name, call, parse_special, ids);
        continue;
      }
      const bool is_id = one.is_number_integer() && one.get<int64_t>() >= 0 && one.get<int64_t>() < vocab_size;
      if (!is_id) reader.Fail(name, "texts, or lists of ids of tokens below " + std::to_string(vocab_size));
      ids.push_back(one.get<int32_t>());
    }
  }
}

std::vector<int32_t> TokensOf(const Json& text, JsonReader& reader, std::string_view name, const Call& call,
                              ParseSpecial parse_special) {
  std::vector<int32_t> ids;
  AddTokens(text, reader, name, call, parse_special, ids);
  if (ids.empty()) reader.Fail(name, "texts that are not empty, or lists of ids of tokens");
  return ids;
}

}  // namespace

std::vector<int32_t> TokensOfText(const std::string& text, std::string_view name, const Call& call,
                                  ParseSpecial parse_special, AddSpecial add_special) {
  const Tokenizer& tokenizer = call.model().served().text.tokenizer;
  const uint32_t context = call.model().context();
  const size_t least = tokenizer.LeastIds(text);
  if (least > context) throw PromptTooLong(least, context, std::string(name));
  return Take(tokenizer.Encode(text, parse_special, add_special), std::string(name));
}

std::vector<std::vector<int32_t>> ReadTexts(JsonReader& reader, std::string_view name, const Call& call, size_t most,
                                            ParseSpecial parse_special) {
  const Json* const field = reader.Any(name);
  if (field == nullptr) reader.Fail(name, "a text, the ids of its tokens, or a list of either");
  const bool is_mixed =
      parse_special == ParseSpecial::kYes && field->is_array() && std::ranges::any_of(*field, IsNumber);
  const bool is_list = field->is_array() && !field->empty() && !IsNumber((*field)[0]) && !is_mixed;
  if (!is_list) return {TokensOf(*field, reader, name, call, parse_special)};
  if (field->size() > most) reader.Fail(name, "at most " + std::to_string(most) + " texts");
  std::vector<std::vector<int32_t>> texts;
  for (const Json& text : *field) {
    call.StopIfAbandoned();
    texts.push_back(TokensOf(text, reader, name, call, parse_special));
  }
  return texts;
}

}  // namespace skald::serve
