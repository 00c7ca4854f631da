// SPDX-License-Identifier: Apache-2.0
//
// Embeddings: platform.openai.com/docs/api-reference/embeddings.

#include <string>
#include <utility>

#include "server/api/answers/embedding.h"
#include "server/api/encoders/encoder_answer.h"
#include "server/api/endpoints.h"
#include "server/api/openai/form.h"
#include "server/api/request/body_reader.h"
#include "server/api/request/sampling.h"

namespace skald::serve {
namespace {

// Base64 (RFC 4648) of bytes, as OpenAI's clients ask for it.
std::string Base64(std::string_view bytes) {
  constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (size_t i = 0; i < bytes.size(); i += 3) {
    uint32_t group = 0;
    for (size_t k = 0; k < 3; ++k)
      group = group << 8 | (i + k < bytes.size() ? static_cast<unsigned char>(bytes[i + k]) : 0);
    for (size_t k = 0; k < 4; ++k) text += i + k <= bytes.size() ? kDigits[group >> (18 - 6 * k) & 63] : '=';
  }
  return text;
}

Json WrittenVector(const std::vector<float>& vector, bool is_base64) {
  if (!is_base64) return vector;
  return Base64({reinterpret_cast<const char*>(vector.data()), vector.size() * sizeof(float)});
}

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
    bool is_base64;
    std::vector<std::string> ignored = {};  // fields of the request
  };

  explicit OpenAiEmbeddings(Form form) : EmbeddingDialect(form.ignored), form_(std::move(form)) {}

  Json ErrorJson(const ApiError& error) override { return OpenAiErrorJson(error); }

  Json Whole(const std::vector<Choice>& choices) override {
    Json json = EmbeddingsJson(choices.size(), form_.model, UsageOf(choices).prompt_tokens, [&](size_t i) {
      return WrittenVector(UnitVector(choices[i].embedding, form_.dimensions), form_.is_base64);
    });
    if (!form_.ignored.empty()) TellIgnored(json["skald"]);
    return json;
  }

 private:
  const Form form_;
};

// Of a model that embeds.
Answer EncoderEmbeddings(const Call& call, BodyReader& reader, const std::string& model) {
  EmbedOptions options = ReadEmbedOptions(reader, call);
  const bool is_base64 = reader.OneOf("encoding_format", {"float", "base64"}).value_or("float") == "base64";
  auto work = ReadEncoderWork(reader, "input", call, std::move(options));
  reader.Finish();
  const auto write = [model, is_base64, ignored = reader.notes()->ignored()](const EncoderWork& done) {
    Json json = EmbeddingsJson(done.size(), model, TokensOf(done),
                               [&](size_t i) { return WrittenVector(done.embeddings[i], is_base64); });
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
  const auto format = reader.OneOf("encoding_format", {"float", "base64"}).value_or("float");
  reader.Finish();
  auto dialect = std::make_unique<OpenAiEmbeddings>(OpenAiEmbeddings::Form{
      model.name, static_cast<size_t>(dimensions.value_or(0)), format == "base64", reader.notes()->ignored()});
  return AnswerEmbeddings(call, std::move(inputs), model,
                          pooling == "mean" ? PromptEmbedding::kMean : PromptEmbedding::kLast, std::move(dialect));
}

}  // namespace skald::serve
