// SPDX-License-Identifier: Apache-2.0
//
// Vectors of texts. The vector of a text is the hidden state after the final norm: that of the last token, or the mean
// over all tokens.

#ifndef SKALD_EXAMPLES_SERVER_API_ANSWERS_EMBEDDING_H_
#define SKALD_EXAMPLES_SERVER_API_ANSWERS_EMBEDDING_H_

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "server/api/answers/answer.h"

namespace skald::serve {

// There are no streams of vectors.
class EmbeddingDialect : public Dialect {
 public:
  using Dialect::Dialect;
  std::string Add(const ChoiceNews&) override { return {}; }
  std::string EndChoice(uint32_t, const Choice&) override { return {}; }
  std::string End(const std::vector<Choice>&) override { return {}; }
};

// The first `dimensions` elements, all if that is 0, normalised to length 1.
std::vector<float> UnitVector(std::vector<float> vector, size_t dimensions);

// Reads the texts of a field, or the ids of their tokens: the tokens of each. Thrown: what ReadTexts throws, and texts
// that are empty, which have no vector, even if the tokenizer puts a token before them.
std::vector<std::vector<int32_t>> ReadEmbeddedTexts(JsonReader& reader, std::string_view name, const Call& call);

// Computes the vectors: Choice::embedding, in the order of the texts.
std::unique_ptr<Exchange> AnswerEmbeddings(const Call& call, std::vector<std::vector<int32_t>> texts,
                                           const NamedModel& model, PromptEmbedding pooling,
                                           std::unique_ptr<EmbeddingDialect> dialect);

}  // namespace skald::serve

#endif  // SKALD_EXAMPLES_SERVER_API_ANSWERS_EMBEDDING_H_
