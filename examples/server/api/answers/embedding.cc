// SPDX-License-Identifier: Apache-2.0

#include "server/api/answers/embedding.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "server/api/request/texts.h"

namespace skald::serve {

std::vector<float> UnitVector(std::vector<float> vector, size_t dimensions) {
  if (dimensions > 0) vector.resize(dimensions);
  double sum = 0.0;
  for (const float value : vector) sum += static_cast<double>(value) * value;
  const double length = std::sqrt(sum);
  for (float& value : vector) value = static_cast<float>(length > 0.0 ? value / length : 0.0);
  return vector;
}

std::vector<std::vector<int32_t>> ReadEmbeddedTexts(JsonReader& reader, std::string_view name, const Call& call) {
  constexpr size_t kMostTexts = 2048;
  const Json* const input = reader.Any(name);
  const auto is_empty = [](const Json& text) { return text.is_string() && text.get_ref<const std::string&>().empty(); };
  if (input != nullptr &&
      (is_empty(*input) || (input->is_array() && std::any_of(input->begin(), input->end(), is_empty)))) {
    reader.Fail(name, "texts that are not empty");
  }
  return ReadTexts(reader, name, call, kMostTexts);
}

std::unique_ptr<Exchange> AnswerEmbeddings(const Call& call, std::vector<std::vector<int32_t>> texts,
                                           const NamedModel& model, PromptEmbedding pooling,
                                           std::unique_ptr<EmbeddingDialect> dialect) {
  std::vector<Request> requests;
  for (std::vector<int32_t>& text : texts) {
    Request& request = requests.emplace_back();
    request.prompt = std::move(text);
    request.embedding = pooling;
    request.adapter = model.adapter;
  }
  return BeginAnswer(call, std::move(requests), {}, /*is_stream=*/false, std::move(dialect));
}

}  // namespace skald::serve
