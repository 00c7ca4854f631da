// SPDX-License-Identifier: Apache-2.0

#include "server/api/routing/endpoint_table.h"

#include <algorithm>
#include <utility>

namespace skald::serve {
namespace {

constexpr Endpoint kEndpoints[] = {
    {"GET", "/v1/models", ListModels},
    {"GET", "/v1/models/{}", ShowModel, Admission::Body::kInMemory, Endpoint::Parameter::kSegments},
    {"POST", "/v1/models/load", LoadModel},
    {"POST", "/v1/models/unload", UnloadModel},
    {"POST", "/v1/chat/completions", ChatCompletions},
    {"POST", "/v1/chat/completions/input_tokens", CountChatTokens},
    {"POST", "/v1/completions", Completions},
    {"POST", "/v1/responses", Responses},
    {"POST", "/v1/responses/input_tokens", CountInputTokens},
    {"GET", "/v1/responses/{}", ShowResponse},
    {"DELETE", "/v1/responses/{}", DeleteResponse},
    {"GET", "/v1/responses/{}/input_items", ListInputItems},
    {"POST", "/v1/responses/{}/cancel", CancelResponse},
    {"POST", "/v1/embeddings", Embeddings},
    {"POST", "/v1/rerank", Rerank},
    {"POST", "/rerank", Rerank},
    {"POST", "/v2/rerank", Rerank},
    {"POST", "/v1/reranking", Rerank},
    {"POST", "/v2/embed", CohereEmbed},
    {"POST", "/embed", TeiEmbed},
    {"POST", "/embed_all", TeiEmbedAll},
    {"POST", "/similarity", TeiSimilarity},
    {"POST", "/v1/messages", Messages},
    {"POST", "/v1/messages/count_tokens", CountTokens},
    {"GET", "/api/version", OllamaVersion},
    {"GET", "/api/tags", OllamaTags},
    {"GET", "/api/ps", OllamaPs},
    {"POST", "/api/show", OllamaShow},
    {"POST", "/api/pull", OllamaPull},
    {"POST", "/api/chat", OllamaChat},
    {"POST", "/api/generate", OllamaGenerate},
    {"POST", "/api/embed", OllamaEmbed},
    {"POST", "/api/embeddings", OllamaEmbedding},
    {"POST", "/completion", LlamaCppCompletion},
    {"POST", "/infill", LlamaCppInfill},
    {"GET", "/props", LlamaCppProps},
    {"GET", "/slots", LlamaCppSlots},
    {"POST", "/apply-template", LlamaCppApplyTemplate},
    {"POST", "/embedding", LlamaCppEmbedding},
    {"POST", "/tokenize", Tokenize},
    {"POST", "/detokenize", Detokenize},
    {"GET", "/tokenizer_info", TokenizerInfo},
    {"GET", "/v1/conversations", ListConversations},
    {"POST", "/v1/conversations", CreateConversation},
    {"POST", "/v1/conversations/import", ImportConversation, Admission::Body::kInFile},
    {"GET", "/v1/conversations/{}", ShowConversation},
    {"POST", "/v1/conversations/{}", ChangeConversation},
    {"DELETE", "/v1/conversations/{}", DeleteConversation},
    {"POST", "/v1/conversations/{}/fork", ForkConversation},
    {"POST", "/v1/conversations/{}/rewind", RewindConversation},
    {"GET", "/v1/conversations/{}/state", ExportConversation},
    {"GET", "/v1/conversations/{}/items", ListConversationItems},
    {"POST", "/v1/conversations/{}/items", AddConversationItems},
    {"GET", "/v1/conversations/{}/items/{}", ShowConversationItem},
    {"DELETE", "/v1/conversations/{}/items/{}", DeleteConversationItem},
};

bool IsEndpoint(std::string_view path) {
  return std::ranges::any_of(kEndpoints, [&](const Endpoint& one) { return MatchPath(one, path).has_value(); });
}

}  // namespace

std::span<const Endpoint> Endpoints() { return kEndpoints; }

std::optional<PathParameters> MatchPath(const Endpoint& endpoint, std::string_view path) {
  std::string_view pattern = endpoint.path;
  std::string found[2];
  size_t count = 0;
  for (size_t brace = pattern.find("{}"); brace != pattern.npos; brace = pattern.find("{}")) {
    if (!path.starts_with(pattern.substr(0, brace))) return std::nullopt;
    path.remove_prefix(brace);
    pattern.remove_prefix(brace + 2);
    const bool is_one = endpoint.parameter == Endpoint::Parameter::kSegment;
    const size_t end =
        is_one ? std::min(path.find('/'), path.size()) : path.size() - std::min(pattern.size(), path.size());
    if (end == 0) return std::nullopt;
    found[count++] = path.substr(0, end);
    path.remove_prefix(end);
  }
  if (path != pattern) return std::nullopt;
  return PathParameters{std::move(found[0]), std::move(found[1])};
}

std::string PathOfEndpoint(std::string path) {
  constexpr std::string_view kVersion = "/v1";
  while (path.starts_with("/v1/v1/")) path.erase(0, kVersion.size());
  if (IsEndpoint(path)) return path;
  const bool has_version = path.starts_with("/v1/");
  std::string other = has_version ? path.substr(kVersion.size()) : std::string(kVersion) + path;
  return IsEndpoint(other) ? other : path;
}

}  // namespace skald::serve
