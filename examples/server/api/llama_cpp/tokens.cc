// SPDX-License-Identifier: Apache-2.0
//
// Texts as tokens, as llama.cpp's server has them, and vLLM's.

#include <string>
#include <utility>

#include "server/api/endpoints.h"
#include "server/api/openai/logprobs.h"
#include "server/api/request/body_reader.h"
#include "server/api/request/sampling.h"

namespace skald::serve {
namespace {

// A piece as its text, or as its bytes where these are no whole characters.
Json PieceJson(const Tokenizer& tokenizer, int32_t id) {
  const auto bytes = tokenizer.BytesOf(id);
  if (!bytes) return std::string(tokenizer.IdToPiece(id).value_or(""));
  if (IsWholeCharacters(*bytes)) return *bytes;
  Json list = Json::array();
  for (const char byte : *bytes) list.push_back(static_cast<unsigned char>(byte));
  return list;
}

}  // namespace

// llama.cpp's clients send `content`, vLLM's `prompt`, with other names for what is special.
Answer Tokenize(const Call& call) {
  BodyReader reader(call, "TokenizeRequest");
  const auto prompt = reader.String("prompt");
  const std::string text = prompt ? *prompt : reader.NeedString("content");
  const auto adds = reader.Bool("add_special"), adds_tokens = reader.Bool("add_special_tokens");
  const bool add_special = (prompt ? adds_tokens : adds).value_or(prompt.has_value());
  const bool parse_special = reader.Bool("parse_special").value_or(true);
  const bool with_pieces = reader.Bool("with_pieces").value_or(false);
  (void)ReadModel(reader, call);
  reader.Finish();
  const Tokenizer& tokenizer = call.model().served().text.tokenizer;
  const auto ids = Take(tokenizer.Encode(text, parse_special ? ParseSpecial::kYes : ParseSpecial::kNo,
                                         add_special ? AddSpecial::kYes : AddSpecial::kNo));
  Json tokens = Json::array();
  for (const int32_t id : ids) {
    tokens.push_back(with_pieces ? Json{{"id", id}, {"piece", PieceJson(tokenizer, id)}} : Json(id));
  }
  return JsonAnswer({{"tokens", std::move(tokens)}, {"count", ids.size()}, {"max_model_len", call.model().context()}},
                    *reader.notes());
}

Answer Detokenize(const Call& call) {
  BodyReader reader(call, "DetokenizeRequest");
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
  const Tokenizer& tokenizer = call.model().served().text.tokenizer;
  const std::string text = Take(tokenizer.Decode(ids, SkipSpecial::kNo), "tokens");
  return JsonAnswer({{"content", text}, {"prompt", text}}, *reader.notes());
}

// In the names of tokenizer_config.json, as vLLM tells it.
Answer TokenizerInfo(const Call& call) {
  (void)ModelOfQuery(call);
  const ModelText& text = call.model().served().text;
  Json json = {{"tokenizer_class", "skald"},
               {"model_max_length", call.model().context()},
               {"chat_template", text.chat_template.source()}};
  const std::pair<const char*, std::optional<int32_t>> tokens[] = {{"bos_token", text.tokenizer.bos_id()},
                                                                   {"eos_token", text.tokenizer.eos_id()},
                                                                   {"pad_token", text.tokenizer.pad_id()},
                                                                   {"unk_token", text.tokenizer.unk_id()}};
  for (const auto& [name, id] : tokens) {
    json[name] = id ? Json(std::string(text.tokenizer.IdToPiece(*id).value_or(""))) : Json();
  }
  return JsonAnswer(json);
}

}  // namespace skald::serve
