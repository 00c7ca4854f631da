// SPDX-License-Identifier: Apache-2.0
//
// Embeddings: platform.openai.com/docs/api-reference/embeddings. The vector of a text is the hidden state after the
// final norm, normalised to length 1: that of the last token, or the mean over all tokens.

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "server/api/answers/answer.h"
#include "server/api/endpoints.h"
#include "server/api/openai/form.h"
#include "server/api/request/sampling.h"
#include "server/api/request/texts.h"

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

class EmbeddingDialect final : public Dialect {
 public:
  struct Form {
    std::string model;
    size_t dimensions;  // 0: all
    bool is_base64;
    std::vector<std::string> ignored = {};  // fields of the request
  };

  explicit EmbeddingDialect(Form form) : Dialect(form.ignored), form_(std::move(form)) {}

  // There are no streams of vectors.
  std::string Add(const ChoiceNews&) override { return {}; }
  std::string EndChoice(uint32_t, const Choice&) override { return {}; }
  std::string End(const std::vector<Choice>&) override { return {}; }

  Json ErrorJson(const ApiError& error) override { return OpenAiErrorJson(error); }

  Json Whole(const std::vector<Choice>& choices) override {
    Json data = Json::array();
    for (size_t i = 0; i < choices.size(); ++i) {
      data.push_back({{"object", "embedding"}, {"index", i}, {"embedding", Written(choices[i].embedding)}});
    }
    const uint64_t tokens = UsageOf(choices).prompt_tokens;
    Json json = {{"object", "list"},
                 {"data", std::move(data)},
                 {"model", form_.model},
                 {"usage", {{"prompt_tokens", tokens}, {"total_tokens", tokens}}}};
    if (!form_.ignored.empty()) TellIgnored(json["skald"]);
    return json;
  }

 private:
  Json Written(std::vector<float> vector) const {
    if (form_.dimensions > 0) vector.resize(form_.dimensions);
    double sum = 0.0;
    for (const float value : vector) sum += static_cast<double>(value) * value;
    const double length = std::sqrt(sum);
    for (float& value : vector) value = static_cast<float>(length > 0.0 ? value / length : 0.0);
    if (!form_.is_base64) return vector;
    return Base64({reinterpret_cast<const char*>(vector.data()), vector.size() * sizeof(float)});
  }

  const Form form_;
};

// An empty text has no vector, even if the tokenizer puts a token before it.
void RefuseEmptyTexts(JsonReader& reader) {
  const Json* const input = reader.Any("input");
  const auto is_empty = [](const Json& text) { return text.is_string() && text.get_ref<const std::string&>().empty(); };
  if (input == nullptr) return;
  if (is_empty(*input) || (input->is_array() && std::any_of(input->begin(), input->end(), is_empty))) {
    reader.Fail("input", "texts that are not empty");
  }
}

}  // namespace

Answer Embeddings(const Call& call) {
  constexpr size_t kMostInputs = 2048;
  const Json body = ParseJson(call.http.body);
  RequestNotes notes(call.fields);
  JsonReader reader(body, "", "EmbeddingRequest", &notes);
  const NamedModel& model = ReadModel(reader, call);
  RefuseEmptyTexts(reader);
  std::vector<std::vector<int32_t>> inputs = ReadTexts(reader, "input", call, kMostInputs);
  const auto pooling = reader.OneOf("pooling", {"last", "mean"}).value_or("last");
  const auto dimensions = reader.Integer("dimensions", 1, call.service->model().served().model_dim);
  const auto format = reader.OneOf("encoding_format", {"float", "base64"}).value_or("float");
  reader.Finish();
  std::vector<Request> requests;
  for (std::vector<int32_t>& input : inputs) {
    Request& request = requests.emplace_back();
    request.prompt = std::move(input);
    request.embedding = pooling == "mean" ? Pooling::kMean : Pooling::kLast;
    request.adapter = model.adapter;
  }
  auto dialect = std::make_unique<EmbeddingDialect>(EmbeddingDialect::Form{
      model.name, static_cast<size_t>(dimensions.value_or(0)), format == "base64", notes.ignored()});
  return BeginAnswer(call, std::move(requests), {}, /*is_stream=*/false, std::move(dialect));
}

}  // namespace skald::serve
