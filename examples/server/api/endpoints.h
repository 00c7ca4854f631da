// SPDX-License-Identifier: Apache-2.0
//
// The endpoints of the server: one function each. Each throws ApiError for a request that it does not answer.

#ifndef SKALD_EXAMPLES_SERVER_API_ENDPOINTS_H_
#define SKALD_EXAMPLES_SERVER_API_ENDPOINTS_H_

#include <memory>

#include "server/api/call.h"
#include "server/api/request/json_reader.h"

namespace skald::serve {

using Answer = std::unique_ptr<Exchange>;

inline Answer JsonAnswer(const Json& json, int status = 200) {
  return std::make_unique<WholeAnswer>(Dump(json), HttpHead{status});
}

// The same with the fields of the request that were not done.
inline Answer JsonAnswer(Json json, const RequestNotes& notes) {
  if (!notes.ignored().empty()) json["skald"]["ignored"] = notes.ignored();
  return JsonAnswer(json);
}

// OpenAI's API (platform.openai.com/docs/api-reference).
Answer ListModels(const Call& call);
Answer ShowModel(const Call& call);
Answer LoadModel(const Call& call);
Answer UnloadModel(const Call& call);
Answer ChatCompletions(const Call& call);
Answer CountChatTokens(const Call& call);
Answer Completions(const Call& call);
Answer Responses(const Call& call);
Answer CountInputTokens(const Call& call);
Answer ShowResponse(const Call& call);
Answer DeleteResponse(const Call& call);
Answer ListInputItems(const Call& call);
Answer CancelResponse(const Call& call);
Answer Embeddings(const Call& call);
Answer ListConversationItems(const Call& call);
Answer AddConversationItems(const Call& call);
Answer ShowConversationItem(const Call& call);
Answer DeleteConversationItem(const Call& call);

// Anthropic's API (docs.anthropic.com/en/api/messages).
Answer Messages(const Call& call);
Answer CountTokens(const Call& call);

// Ollama's API (docs.ollama.com/api).
Answer OllamaVersion(const Call& call);
Answer OllamaTags(const Call& call);
Answer OllamaPs(const Call& call);
Answer OllamaShow(const Call& call);
Answer OllamaPull(const Call& call);
Answer OllamaChat(const Call& call);
Answer OllamaGenerate(const Call& call);
Answer OllamaEmbed(const Call& call);
Answer OllamaEmbedding(const Call& call);

// llama.cpp's server (github.com/ggml-org/llama.cpp, tools/server/README.md).
Answer LlamaCppCompletion(const Call& call);
Answer LlamaCppInfill(const Call& call);
Answer LlamaCppProps(const Call& call);
Answer LlamaCppSlots(const Call& call);
Answer LlamaCppApplyTemplate(const Call& call);
Answer LlamaCppEmbedding(const Call& call);
Answer Tokenize(const Call& call);
Answer Detokenize(const Call& call);
Answer TokenizerInfo(const Call& call);

// Rankings, as Jina's and Cohere's APIs have them (api.jina.ai/redoc, docs.cohere.com/reference/rerank) and
// text-embeddings-inference (github.com/huggingface/text-embeddings-inference); embeddings of the last two.
Answer Rerank(const Call& call);
Answer CohereEmbed(const Call& call);
Answer TeiEmbed(const Call& call);
Answer TeiEmbedAll(const Call& call);
Answer TeiSimilarity(const Call& call);

// Our own.
Answer ListConversations(const Call& call);
Answer CreateConversation(const Call& call);
Answer ShowConversation(const Call& call);
Answer ChangeConversation(const Call& call);
Answer DeleteConversation(const Call& call);
Answer ForkConversation(const Call& call);
Answer RewindConversation(const Call& call);
Answer ExportConversation(const Call& call);
Answer ImportConversation(const Call& call);

}  // namespace skald::serve

#endif  // SKALD_EXAMPLES_SERVER_API_ENDPOINTS_H_
