// SPDX-License-Identifier: Apache-2.0
//
// Requests for embeddings and rankings to models that are for them: how their texts are read, and their answers.

#ifndef SKALD_EXAMPLES_SERVER_API_ENCODERS_ENCODER_ANSWER_H_
#define SKALD_EXAMPLES_SERVER_API_ENCODERS_ENCODER_ANSWER_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "server/api/call.h"
#include "server/api/request/json_reader.h"
#include "server/service/encoders/encoder_service.h"

namespace skald::serve {

// The most of one request: texts or documents, and tokens of all of them.
inline constexpr size_t kMostEncodedTexts = 2048;
inline constexpr uint64_t kMostEncodedTokens = uint64_t{1} << 20;
// The most numbers of one answer.
inline constexpr uint64_t kMostEncodedNumbers = uint64_t{1} << 24;

// Thrown: 400 for a model that writes.
void NeedEncoder(const Call& call);

// The treatment of long texts that a request chooses: true cuts, false refuses, "windows" takes pieces, "cut" and
// "error" are the same in words; `otherwise` if the field is absent. Thrown: anything else.
LongText ReadLongText(JsonReader& reader, std::string_view name, LongText otherwise = LongText::kRefuse);

// Reads the elements of an embedding that are asked for. Thrown: more than it has.
std::optional<size_t> ReadDimension(JsonReader& reader, const Call& call, std::string_view name = "dimensions");

// Reads the fields of embeddings that OpenAI's API and others like it have: "dimensions", "pooling", "normalize",
// "prompt_name", "prompt" and "truncate". Thrown: values that the model does not take.
EmbedOptions ReadEmbedOptions(JsonReader& reader, const Call& call);

// The treatment of a model that has an embedding for each token.
enum class OfTokens : uint8_t { kRefuse, kTake };

// Reads a field with a text, the ids of its tokens, or a list of either, as work for the request's model, which must
// have an encoder. Thrown: texts that are empty, ids that are none, prompts that there are not, more than a request may
// have, texts that are too long if they are refused, embeddings of tokens if `of_tokens` refuses them.
std::shared_ptr<EncoderWork> ReadEncoderWork(JsonReader& reader, std::string_view name, const Call& call,
                                             EmbedOptions options, OfTokens of_tokens = OfTokens::kRefuse);

// The same of texts that were read.
std::shared_ptr<EncoderWork> WorkOfTexts(const std::vector<std::string>& texts, std::string_view name, const Call& call,
                                         EmbedOptions options);

// Whether the work gives an embedding for each token.
bool IsOfTokens(const EncoderWork& work, const Call& call);

// The tokens that were computed, or are to be.
uint64_t TokensOf(const EncoderWork& work);

// The numbers of texts that were cut.
Json CutTexts(const EncoderWork& work);

// Submits the work and answers when it is done: `write` makes the answer of it, `write_error` that of an error. The
// `ignored` fields of a request, whose answer has no place for them, are told in the header X-Skald-Ignored. Thrown: as
// BeginAnswer, with each text as an answer.
std::unique_ptr<Exchange> AnswerEncoderWork(const Call& call, std::shared_ptr<EncoderWork> work,
                                            std::function<Json(const EncoderWork&)> write,
                                            std::function<Json(const ApiError&)> write_error,
                                            const std::vector<std::string>& ignored = {});

}  // namespace skald::serve

#endif  // SKALD_EXAMPLES_SERVER_API_ENCODERS_ENCODER_ANSWER_H_
