// SPDX-License-Identifier: Apache-2.0
//
// Rankings. A request with "documents" is Jina's or Cohere's, and llama.cpp's; one with "texts" is
// text-embeddings-inference's. Results come in the order of their scores, equal ones in that of the documents.

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "server/api/answers/answer.h"
#include "server/api/encoders/encoder_answer.h"
#include "server/api/encoders/form.h"
#include "server/api/endpoints.h"
#include "server/api/request/body_reader.h"
#include "server/api/request/sampling.h"
#include "skald/open/encoders/ranking.h"
#include "skald/tokenizers/encoder_input.h"

namespace skald::serve {
namespace {

// A document may be an object with a "text".
std::string TextOfDocument(const Json& document, JsonReader& reader, std::string_view name) {
  const Json* text = &document;
  if (document.is_object()) {
    const auto found = document.find("text");
    if (found != document.end()) text = &*found;
  }
  if (!text->is_string()) reader.Fail(name, "texts, or objects with a 'text'");
  return text->get<std::string>();
}

std::vector<std::string> ReadDocuments(JsonReader& reader, std::string_view name) {
  const Json& list = reader.NeedArray(name);
  if (list.empty() || list.size() > kMostEncodedTexts) {
    reader.Fail(name, "1 to " + std::to_string(kMostEncodedTexts) + " documents");
  }
  std::vector<std::string> documents;
  for (const Json& document : list) documents.push_back(TextOfDocument(document, reader, name));
  return documents;
}

// Tokens of a ranking: the query counts with each document.
uint64_t TokensOfRanking(const Call& call, const EncoderWork& work) {
  const Tokenizer* const tokenizer = call.encoder()->encoder().tokenizer();
  if (tokenizer == nullptr) throw ApiError{400, "the model has no tokenizer, and ranks no texts", "model"};
  const size_t query = Take(tokenizer->Encode(work.query, ParseSpecial::kYes), "query").size();
  const size_t around = TokensAroundPair(*tokenizer).value_or(2 * TokensAroundText(*tokenizer));
  uint64_t tokens = 0;
  for (const std::string& document : work.documents) {
    call.StopIfAbandoned();
    tokens += query + around + Take(tokenizer->Encode(document, ParseSpecial::kYes)).size();
    if (tokens > kMostEncodedTokens) {
      throw ApiError{
          400, "the query and the documents have more than " + std::to_string(kMostEncodedTokens) + " tokens in all"};
    }
  }
  return tokens;
}

// Fields of the answer, and what it tells of documents.
struct RerankForm {
  std::string model;
  bool is_tei = false, returns_texts = false;
  size_t top = 0;  // results; 0: all
  uint64_t tokens = 0;
  std::string version;  // of Cohere's API
  std::vector<std::string> ignored;
};

Json ResultsJson(const EncoderWork& work, const RerankForm& form) {
  Json results = Json::array();
  for (const size_t index : OrderOfScores(work.scores, form.top)) {
    Json one = {{"index", index}, {form.is_tei ? "score" : "relevance_score", work.scores[index]}};
    if (form.returns_texts && form.is_tei) one["text"] = work.documents[index];
    if (form.returns_texts && !form.is_tei) one["document"] = {{"text", work.documents[index]}};
    results.push_back(std::move(one));
  }
  return results;
}

Json RankingJson(const EncoderWork& work, const RerankForm& form) {
  if (form.is_tei) return ResultsJson(work, form);
  Json json = {{"id", NewId("rerank")},
               {"object", "list"},
               {"model", form.model},
               {"results", ResultsJson(work, form)},
               {"usage", {{"prompt_tokens", form.tokens}, {"total_tokens", form.tokens}}},
               {"meta",
                {{"api_version", {{"version", form.version}}},
                 {"billed_units", {{"search_units", 1}}},
                 {"tokens", {{"input_tokens", form.tokens}}}}}};
  if (!form.ignored.empty()) json["skald"]["ignored"] = form.ignored;
  return json;
}

}  // namespace

Answer Rerank(const Call& call) {
  BodyReader reader(call, "RerankRequest");
  RerankForm form = {.model = ReadModel(reader, call).name,
                     .is_tei = reader.Any("texts") != nullptr,
                     .version = call.http.path.starts_with("/v2") ? "2" : "1"};
  if (call.encoder() == nullptr) {
    throw ApiError{400, "the model '" + form.model + "' writes texts: rankings need one that embeds or ranks them",
                   "model"};
  }
  auto work = std::make_shared<EncoderWork>();
  work->query = reader.NeedString("query");
  if (work->query.empty()) reader.Fail("query", "a text that is not empty");
  work->documents = ReadDocuments(reader, form.is_tei ? "texts" : "documents");
  work->rank.instruction = reader.String("instruction").value_or("");
  work->rank.raw = reader.Bool("raw_scores").value_or(false);
  work->rank.long_text = ReadLongText(reader, "truncate");
  form.top = static_cast<size_t>(reader.Integer("top_n", 1, int64_t{1} << 31).value_or(0));
  const bool returns_texts = reader.Bool(form.is_tei ? "return_text" : "return_documents").value_or(false);
  form.returns_texts = returns_texts;
  reader.Finish();
  form.tokens = TokensOfRanking(call, *work);
  form.ignored = reader.notes()->ignored();
  const auto write_error = form.is_tei ? TeiErrorJson : RerankErrorJson;
  return AnswerEncoderWork(
      call, std::move(work), [form](const EncoderWork& done) { return RankingJson(done, form); }, write_error,
      form.is_tei ? form.ignored : std::vector<std::string>());
}

}  // namespace skald::serve
