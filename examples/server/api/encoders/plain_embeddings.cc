// SPDX-License-Identifier: Apache-2.0
//
// Embeddings without much around them: text-embeddings-inference's /embed, a list of lists, and llama.cpp's /embedding.

#include <string>
#include <utility>

#include "server/api/encoders/encoder_answer.h"
#include "server/api/encoders/form.h"
#include "server/api/endpoints.h"
#include "server/api/llama_cpp/form.h"
#include "server/api/request/body_reader.h"
#include "server/api/request/sampling.h"

namespace skald::serve {
namespace {

// Thrown: 400 for a model that writes.
void NeedEncoder(const Call& call) {
  if (call.encoder() != nullptr) return;
  throw ApiError{400,
                 "the model '" + call.at_work().name() +
                     "' writes texts: this path is for models that embed them, and /v1/embeddings for both",
                 "model"};
}

}  // namespace

Answer TeiEmbed(const Call& call) {
  BodyReader reader(call, "TeiEmbedRequest");
  (void)ReadModel(reader, call);
  NeedEncoder(call);
  EmbedOptions options;
  options.normalise = reader.Bool("normalize").value_or(true);
  options.dimension = ReadDimension(reader, call);
  options.prompt_name = reader.String("prompt_name").value_or("");
  options.long_text = ReadLongText(reader, "truncate");
  (void)reader.OneOf("truncation_direction", {"Right"});
  auto work = ReadEncoderWork(reader, "inputs", call, std::move(options));
  reader.Finish();
  return AnswerEncoderWork(
      call, std::move(work), [](const EncoderWork& done) { return Json(done.embeddings); }, TeiErrorJson,
      reader.notes()->ignored());
}

Answer LlamaCppEmbedding(const Call& call) {
  BodyReader reader(call, "LlamaCppEmbeddingRequest");
  (void)ReadModel(reader, call);
  NeedEncoder(call);
  EmbedOptions options;
  const auto norm = reader.Integer("embd_normalize", -1, 2);
  if (norm && *norm != -1 && *norm != 2) reader.Fail("embd_normalize", "2, for the length 1, or -1, for none");
  options.normalise = norm.value_or(2) == 2;
  const char* const field = reader.Any("content") != nullptr ? "content" : "input";
  auto work = ReadEncoderWork(reader, field, call, std::move(options));
  reader.Finish();
  const auto write = [](const EncoderWork& done) {
    Json list = Json::array();
    for (size_t i = 0; i < done.size(); ++i) {
      list.push_back({{"index", i}, {"embedding", Json::array({done.embeddings[i]})}});
    }
    return list;
  };
  return AnswerEncoderWork(call, std::move(work), write, LlamaCppErrorJson, reader.notes()->ignored());
}

}  // namespace skald::serve
