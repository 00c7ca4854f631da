// SPDX-License-Identifier: Apache-2.0
//
// Embeddings without much around them: text-embeddings-inference's /embed, a list of lists, its /embed_all, with a list
// for each token, and /similarity; and llama.cpp's /embedding.

#include <string>
#include <utility>
#include <vector>

#include "server/api/encoders/encoder_answer.h"
#include "server/api/encoders/form.h"
#include "server/api/encoders/written_rows.h"
#include "server/api/endpoints.h"
#include "server/api/llama_cpp/form.h"
#include "server/api/request/body_reader.h"
#include "server/api/request/sampling.h"
#include "skald/open/encoders/embeddings.h"

namespace skald::serve {
namespace {

size_t DimensionOf(const EncoderWork& work, const Call& call) {
  return work.embed.dimension.value_or(static_cast<size_t>(call.encoder()->encoder().facts().dimension));
}

// The fields that all paths of text-embeddings-inference have.
EmbedOptions ReadTeiOptions(JsonReader& reader) {
  EmbedOptions options;
  options.prompt_name = reader.String("prompt_name").value_or("");
  options.long_text = ReadLongText(reader, "truncate");
  (void)reader.OneOf("truncation_direction", {"Right"});
  return options;
}

}  // namespace

Answer TeiEmbed(const Call& call) {
  BodyReader reader(call, "TeiEmbedRequest");
  (void)ReadModel(reader, call);
  NeedEncoder(call);
  EmbedOptions options = ReadTeiOptions(reader);
  options.normalise = reader.Bool("normalize").value_or(true);
  options.dimension = ReadDimension(reader, call);
  auto work = ReadEncoderWork(reader, "inputs", call, std::move(options));
  reader.Finish();
  return AnswerEncoderWork(
      call, std::move(work), [](const EncoderWork& done) { return Json(done.embeddings); }, TeiErrorJson,
      reader.notes()->ignored());
}

Answer TeiEmbedAll(const Call& call) {
  BodyReader reader(call, "TeiEmbedAllRequest");
  (void)ReadModel(reader, call);
  NeedEncoder(call);
  EmbedOptions options = ReadTeiOptions(reader);
  options.pooling = Pooling::kNone;
  options.normalise = false;
  auto work = ReadEncoderWork(reader, "inputs", call, std::move(options), OfTokens::kTake);
  reader.Finish();
  const auto write = [dimension = DimensionOf(*work, call)](const EncoderWork& done) {
    Json list = Json::array();
    for (const std::vector<float>& rows : done.embeddings) {
      list.push_back(WrittenRows(rows, dimension, RowForm::kFloat));
    }
    return list;
  };
  return AnswerEncoderWork(call, std::move(work), write, TeiErrorJson, reader.notes()->ignored());
}

Answer TeiSimilarity(const Call& call) {
  BodyReader reader(call, "TeiSimilarityRequest");
  (void)ReadModel(reader, call);
  NeedEncoder(call);
  auto inputs = reader.Object("inputs");
  if (!inputs) reader.Fail("inputs", "an object with 'source_sentence' and 'sentences'");
  std::vector<std::string> texts = {inputs->NeedString("source_sentence")};
  const std::vector<std::string> sentences = inputs->Strings("sentences");
  if (sentences.empty() || sentences.size() >= kMostEncodedTexts) {
    inputs->Fail("sentences", "1 to " + std::to_string(kMostEncodedTexts - 1) + " texts");
  }
  texts.insert(texts.end(), sentences.begin(), sentences.end());
  inputs->Finish();
  EmbedOptions options;
  if (auto parameters = reader.Object("parameters")) {
    options = ReadTeiOptions(*parameters);
    parameters->Finish();
  }
  auto work = WorkOfTexts(texts, "inputs", call, std::move(options));
  reader.Finish();
  const auto write = [](const EncoderWork& done) {
    Json list = Json::array();
    for (size_t i = 1; i < done.size(); ++i) list.push_back(Cosine(done.embeddings[0], done.embeddings[i]));
    return list;
  };
  return AnswerEncoderWork(call, std::move(work), write, TeiErrorJson, reader.notes()->ignored());
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
  auto work = ReadEncoderWork(reader, field, call, std::move(options), OfTokens::kTake);
  reader.Finish();
  // There is a list of rows, of pooled embeddings too.
  const auto write = [dimension = DimensionOf(*work, call)](const EncoderWork& done) {
    Json list = Json::array();
    for (size_t i = 0; i < done.size(); ++i) {
      list.push_back({{"index", i}, {"embedding", WrittenRows(done.embeddings[i], dimension, RowForm::kFloat)}});
    }
    return list;
  };
  return AnswerEncoderWork(call, std::move(work), write, LlamaCppErrorJson, reader.notes()->ignored());
}

}  // namespace skald::serve
