// SPDX-License-Identifier: Apache-2.0
//
// Vectors of texts as Ollama's API has them: docs.ollama.com/api/embed.

#include <string>
#include <utility>

#include "server/api/answers/embedding.h"
#include "server/api/encoders/encoder_answer.h"
#include "server/api/endpoints.h"
#include "server/api/ollama/form.h"
#include "server/api/request/body_reader.h"

namespace skald::serve {
namespace {

class OllamaEmbeddings final : public EmbeddingDialect {
 public:
  // `is_one`: the older form, for one text.
  OllamaEmbeddings(std::string model, size_t dimensions, bool is_one, std::vector<std::string> ignored)
      : EmbeddingDialect(std::move(ignored)), model_(std::move(model)), dimensions_(dimensions), is_one_(is_one) {}

  Json ErrorJson(const ApiError& error) override { return OllamaErrorJson(error); }

  Json Whole(const std::vector<Choice>& choices) override {
    Json json = Vectors(choices);
    Json own = Json::object();
    TellIgnored(own);
    if (!own.empty()) json["skald"] = std::move(own);
    return json;
  }

 private:
  Json Vectors(const std::vector<Choice>& choices) const {
    if (is_one_) return {{"embedding", choices.empty() ? Json::array() : Json(UnitVector(choices[0].embedding, 0))}};
    Json vectors = Json::array();
    for (const Choice& choice : choices) vectors.push_back(UnitVector(choice.embedding, dimensions_));
    Json json = {{"model", model_}, {"embeddings", std::move(vectors)}};
    const Json took = DurationsJson(UsageOf(choices));
    for (const char* const name : {"total_duration", "load_duration", "prompt_eval_count"}) json[name] = took[name];
    return json;
  }

  const std::string model_;
  const size_t dimensions_;
  const bool is_one_;
};

// Of a model that embeds. Ollama cuts long texts unless it is told not to.
Answer EncoderEmbed(const Call& call, BodyReader& reader, const std::string& model, const char* field, bool is_one) {
  EmbedOptions options;
  options.long_text = ReadLongText(reader, "truncate", LongText::kCut);
  if (!is_one) options.dimension = ReadDimension(reader, call);
  auto work = ReadEncoderWork(reader, field, call, std::move(options));
  if (is_one && work->texts.size() > 1) reader.Fail(field, "one text");
  reader.Finish();
  const auto write = [model, is_one, ignored = reader.notes()->ignored()](const EncoderWork& done) {
    Json json = is_one ? Json{{"embedding", done.embeddings[0]}}
                       : Json{{"model", model}, {"embeddings", done.embeddings}, {"prompt_eval_count", TokensOf(done)}};
    Json own = Json::object();
    if (const Json cut = CutTexts(done); !cut.empty()) own["cut"] = cut;
    if (!ignored.empty()) own["ignored"] = ignored;
    if (!own.empty()) json["skald"] = std::move(own);
    return json;
  };
  return AnswerEncoderWork(call, std::move(work), write, OllamaErrorJson);
}

Answer Embed(const Call& call, const char* schema, const char* field, bool is_one) {
  BodyReader reader(call, schema);
  const NamedModel& model = ReadOllamaModel(reader, call);
  const Json* const wanted = reader.Any(field);
  if (call.encoder() != nullptr && wanted != nullptr && *wanted != "" && *wanted != Json::array()) {
    return EncoderEmbed(call, reader, TaggedName(model.name), field, is_one);
  }
  std::vector<std::vector<int32_t>> texts;
  const bool has_texts = wanted != nullptr && *wanted != "" && *wanted != Json::array();
  if (has_texts) texts = ReadEmbeddedTexts(reader, field, call);
  if (is_one && texts.size() > 1) reader.Fail(field, "one text");
  if (call.encoder() != nullptr) {  // a request without a text loads a model
    reader.Finish();
    return JsonAnswer(is_one ? Json{{"embedding", Json::array()}}
                             : Json{{"model", TaggedName(model.name)}, {"embeddings", Json::array()}});
  }
  const auto dimensions = is_one ? std::nullopt : reader.Integer("dimensions", 1, call.model().served().model_dim);
  reader.Finish();
  auto dialect = std::make_unique<OllamaEmbeddings>(TaggedName(model.name), static_cast<size_t>(dimensions.value_or(0)),
                                                    is_one, reader.notes()->ignored());
  // A request without a text loads a model.
  if (!has_texts) return JsonAnswer(dialect->Whole({}));
  return AnswerEmbeddings(call, std::move(texts), model, PromptEmbedding::kLast, std::move(dialect));
}

}  // namespace

Answer OllamaEmbed(const Call& call) { return Embed(call, "OllamaEmbedRequest", "input", /*is_one=*/false); }

Answer OllamaEmbedding(const Call& call) { return Embed(call, "OllamaEmbeddingRequest", "prompt", /*is_one=*/true); }

}  // namespace skald::serve
