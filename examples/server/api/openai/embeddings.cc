// SPDX-License-Identifier: Apache-2.0
//
// Embeddings: platform.openai.com/docs/api-reference/embeddings.

#include <string>
#include <utility>
#include <vector>

#include "server/api/answers/embedding.h"
#include "server/api/encoders/encoder_answer.h"
#include "server/api/encoders/written_rows.h"
#include "server/api/endpoints.h"
#include "server/api/openai/form.h"
#include "server/api/request/body_reader.h"
#include "server/api/request/sampling.h"

namespace skald::serve {
namespace {

// `write(i)` gives embedding i.
template <class Write>
Json EmbeddingsJson(size_t count, const std::string& model, uint64_t tokens, Write write) {
  Json data = Json::array();
  for (size_t i = 0; i < count; ++i) {
    data.push_back({{"object", "embedding"}, {"index", i}, {"embedding", write(i)}});
  }
  return {{"object", "list"},
          {"data", std::move(data)},
          {"model", model},
          {"usage", {{"prompt_tokens", tokens}, {"total_tokens", tokens}}}};
}

class OpenAiEmbeddings final : public EmbeddingDialect {
 public:
  struct Form {
    std::string model;
    size_t dimensions;  // 0: all
    RowForm row_form;
    std::vector<std::string> ignored = {};  // fields of the request
  };

  explicit OpenAiEmbeddings(Form form) : EmbeddingDialect(form.ignored), form_(std::move(form)) {}

  Json ErrorJson(const ApiError& error) override { return OpenAiErrorJson(error); }

  Json Whole(const std::vector<Choice>& choices) override {
    Json json = EmbeddingsJson(choices.size(), form_.model, UsageOf(choices).prompt_tokens, [&](size_t i) {
      const std::vector<float> vector = UnitVector(choices[i].embedding, form_.dimensions);
      return WrittenRow(vector, form_.row_form);
    });
    if (!form_.ignored.empty()) TellIgnored(json["skald"]);
    return json;
  }

 private:
  const Form form_;
};

// Jina's API has another name for the form.
RowForm ReadRowForm(JsonReader& reader) {
  for (const char* const name : {"encoding_format", "embedding_type"}) {
    const auto given = reader.OneOf(name, {"float", "base64", "int8", "binary", "ubinary"});
    if (given) return *RowFormNamed(*given);
  }
  return RowForm::kFloat;
}

// Of a model that embeds. One that has an embedding for each token has a list of them for each text.
Answer EncoderEmbeddings(const Call& call, BodyReader& reader, const std::string& model) {
  EmbedOptions options = ReadEmbedOptions(reader, call);
  const RowForm form = ReadRowForm(reader);
  auto work = ReadEncoderWork(reader, "input", call, std::move(options), OfTokens::kTake);
  reader.Finish();
  const bool of_tokens = IsOfTokens(*work, call);
  const size_t dimension =
      work->embed.dimension.value_or(static_cast<size_t>(call.encoder()->encoder().facts().dimension));
  const auto write = [=, ignored = reader.notes()->ignored()](const EncoderWork& done) {
    Json json = EmbeddingsJson(done.size(), model, TokensOf(done), [&](size_t i) {
      const std::vector<float>& rows = done.embeddings[i];
      return of_tokens ? WrittenRows(rows, dimension, form) : WrittenRow(rows, form);
    });
    if (!ignored.empty()) json["skald"]["ignored"] = ignored;
    return json;
  };
  return AnswerEncoderWork(call, std::move(work), write, OpenAiErrorJson);
}

}  // namespace

Answer Embeddings(const Call& call) {
  BodyReader reader(call, "EmbeddingRequest");
  const NamedModel& model = ReadModel(reader, call);
  if (call.encoder() != nullptr) return EncoderEmbeddings(call, reader, model.name);
  std::vector<std::vector<int32_t>> inputs = ReadEmbeddedTexts(reader, "input", call);
  const auto pooling = reader.OneOf("pooling", {"last", "mean"}).value_or("last");
  const auto dimensions = reader.Integer("dimensions", 1, call.model().served().model_dim);
  const RowForm row_form = ReadRowForm(reader);
  reader.Finish();
  auto dialect = std::make_unique<OpenAiEmbeddings>(OpenAiEmbeddings::Form{
      model.name, static_cast<size_t>(dimensions.value_or(0)), row_form, reader.notes()->ignored()});
  return AnswerEmbeddings(call, std::move(inputs), model,
                          pooling == "mean" ? PromptEmbedding::kMean : PromptEmbedding::kLast, std::move(dialect));
}

}  // namespace skald::serve
