// SPDX-License-Identifier: Apache-2.0
//
// The functions of skald/c/skald.h, in terms of the library.

#ifndef SKALD_C_DETAIL_FUNCTIONS_H_
#define SKALD_C_DETAIL_FUNCTIONS_H_

#include "skald/c/skald.h"

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "skald/base/files/path_text.h"
#include "skald/base/inline.h"
#include "skald/c/detail/handles.h"
#include "skald/cache/create.h"
#include "skald/sampling/sampler.h"

#define SKALD_C_TEXT_OF(word) #word
#define SKALD_C_TEXT(word) SKALD_C_TEXT_OF(word)

extern "C" {

SKALD_INLINE uint32_t skald_c_version(void) { return SKALD_C_VERSION; }

SKALD_INLINE const char* skald_version(void) {
  return SKALD_C_TEXT(SKALD_VERSION_MAJOR) "." SKALD_C_TEXT(SKALD_VERSION_MINOR) "." SKALD_C_TEXT(SKALD_VERSION_PATCH);
}

SKALD_INLINE skald_model* skald_model_open(const char* path, skald_error* error) {
  using namespace skald;
  return internal::OrFailed<skald_model*>("skald_model_open", nullptr, error, [&]() -> Result<skald_model*> {
    if (path == nullptr) return internal::IsNull("skald_model_open: the path");
    SKALD_ASSIGN(auto model, OpenModel(PathOfText(path)));
    return new skald_model{std::move(model)};
  });
}

SKALD_INLINE void skald_model_free(skald_model* model) { delete model; }

SKALD_INLINE int32_t skald_model_vocab_size(const skald_model* model) {
  return model == nullptr ? 0 : model->value.model.spec().vocab_size;
}

SKALD_INLINE int32_t skald_model_dim(const skald_model* model) {
  return model == nullptr ? 0 : model->value.model.spec().model_dim;
}

SKALD_INLINE int skald_model_is_stop(const skald_model* model, int32_t token) {
  if (model == nullptr) return 0;
  const auto& ids = model->value.text.stop_ids;
  return std::ranges::find(ids, token) != ids.end() ? 1 : 0;
}

SKALD_INLINE int64_t skald_encode(const skald_model* model, const char* text, size_t bytes, int add_special,
                                  int32_t* ids, size_t capacity, skald_error* error) {
  using namespace skald;
  return internal::OrFailed<int64_t>("skald_encode", -1, error, [&]() -> Result<int64_t> {
    if (model == nullptr || (text == nullptr && bytes > 0)) return internal::IsNull("skald_encode: the model or text");
    SKALD_ASSIGN(const auto found,
                 model->value.text.tokenizer.Encode(std::string_view(text, bytes), ParseSpecial::kNo,
                                                    add_special != 0 ? AddSpecial::kYes : AddSpecial::kNo));
    if (ids != nullptr) std::copy_n(found.begin(), std::min(capacity, found.size()), ids);
    return static_cast<int64_t>(found.size());
  });
}

SKALD_INLINE int64_t skald_decode(const skald_model* model, const int32_t* ids, size_t count, char* text,
                                  size_t capacity, skald_error* error) {
  using namespace skald;
  return internal::OrFailed<int64_t>("skald_decode", -1, error, [&]() -> Result<int64_t> {
    if (model == nullptr || (ids == nullptr && count > 0)) return internal::IsNull("skald_decode: the model or ids");
    SKALD_ASSIGN(const auto found, model->value.text.tokenizer.Decode({ids, count}));
    if (text != nullptr) std::copy_n(found.begin(), std::min(capacity, found.size()), text);
    return static_cast<int64_t>(found.size());
  });
}

SKALD_INLINE skald_workspace* skald_workspace_create(uint32_t threads, skald_error* error) {
  using namespace skald;
  return internal::OrFailed<skald_workspace*>("skald_workspace_create", nullptr, error,
                                              [&]() -> Result<skald_workspace*> {
                                                WorkspaceOptions options;
                                                if (threads != 0) options.threads = threads;
                                                SKALD_ASSIGN(auto workspace, CreateWorkspace(options));
                                                return new skald_workspace{std::move(workspace)};
                                              });
}

SKALD_INLINE void skald_workspace_free(skald_workspace* workspace) { delete workspace; }

SKALD_INLINE skald_cache* skald_cache_create(const skald_model* model, const skald_runtime* runtime,
                                             skald_error* error) {
  using namespace skald;
  return internal::OrFailed<skald_cache*>("skald_cache_create", nullptr, error, [&]() -> Result<skald_cache*> {
    if (model == nullptr) return internal::IsNull("skald_cache_create: the model");
    const skald_runtime given = internal::Known(runtime);
    RuntimeConfig config;
    if (given.max_tokens != 0) config.max_tokens = given.max_tokens;
    if (given.cache_bytes != 0) config.cache_bytes = given.cache_bytes;
    config.resume_point_every = given.resume_point_every;
    SKALD_ASSIGN(auto cache, CreateKVCache(model->value.model.layout(), config));
    return new skald_cache{std::move(cache)};
  });
}

SKALD_INLINE void skald_cache_free(skald_cache* cache) { delete cache; }

SKALD_INLINE uint32_t skald_cache_size(const skald_cache* cache) { return cache == nullptr ? 0 : cache->value.size(); }

SKALD_INLINE skald_cache* skald_cache_fork(const skald_cache* cache, skald_error* error) {
  using namespace skald;
  return internal::OrFailed<skald_cache*>("skald_cache_fork", nullptr, error, [&]() -> Result<skald_cache*> {
    if (cache == nullptr) return internal::IsNull("skald_cache_fork: the cache");
    SKALD_ASSIGN(auto fork, cache->value.Fork());
    return new skald_cache{std::move(fork)};
  });
}

SKALD_INLINE int skald_cache_truncate(skald_cache* cache, uint32_t tokens, skald_error* error) {
  using namespace skald;
  return internal::OrFailed<int>("skald_cache_truncate", -1, error, [&]() -> Result<int> {
    if (cache == nullptr) return internal::IsNull("skald_cache_truncate: the cache");
    SKALD_TRY(cache->value.Truncate(tokens));
    return 0;
  });
}

SKALD_INLINE int64_t skald_forward(const skald_model* model, const skald_request* requests, size_t count,
                                   skald_workspace* workspace, const float** rows, size_t capacity,
                                   skald_error* error) {
  using namespace skald;
  return internal::OrFailed<int64_t>("skald_forward", -1, error, [&]() -> Result<int64_t> {
    if (model == nullptr || workspace == nullptr || (requests == nullptr && count > 0)) {
      return internal::IsNull("skald_forward: the model, the workspace or the requests");
    }
    Batch batch;
    for (const skald_request& request : std::span(requests, count)) {
      if (request.cache == nullptr || (request.tokens == nullptr && request.count > 0)) {
        return internal::IsNull("skald_forward: the cache or the tokens of a request");
      }
      const std::span<const int32_t> tokens(request.tokens, request.count);
      if (request.wants == nullptr) {
        batch.Add(request.cache->value, tokens);
        continue;
      }
      std::vector<Want> wants;
      for (const uint8_t want : std::span(request.wants, request.count)) {
        if (want > SKALD_HIDDEN) {
          return Fail(ErrorCode::kInvalidArgument,
                      "skald_forward: a token wants " + std::to_string(want) + ", which is no skald_want");
        }
        wants.push_back(static_cast<Want>(want));
      }
      batch.Add(request.cache->value, tokens, wants);
    }
    SKALD_ASSIGN(const Outputs outputs, model->value.model.Forward(batch, workspace->value));
    for (size_t i = 0; rows != nullptr && i < std::min(capacity, outputs.size()); ++i) rows[i] = outputs[i].data();
    return static_cast<int64_t>(outputs.size());
  });
}

SKALD_INLINE int32_t skald_sample(const float* logits, size_t count, const skald_sampler* sampler, uint64_t position,
                                  skald_error* error) {
  using namespace skald;
  return internal::OrFailed<int32_t>("skald_sample", -1, error, [&]() -> Result<int32_t> {
    if (logits == nullptr) return internal::IsNull("skald_sample: the pointer to logits");
    SKALD_ASSIGN(const auto drawn,
                 Sample({logits, count}, internal::SettingsOf(internal::Known(sampler)), SamplerState(), position));
    return drawn.id;
  });
}

SKALD_INLINE skald_conversation* skald_conversation_create(const skald_model* model, const char* system,
                                                           const skald_sampler* sampler, uint64_t max_tokens,
                                                           skald_error* error) {
  using namespace skald;
  return internal::OrFailed<skald_conversation*>(
      "skald_conversation_create", nullptr, error, [&]() -> Result<skald_conversation*> {
        if (model == nullptr) return internal::IsNull("skald_conversation_create: the model");
        ConversationOptions options;
        if (system != nullptr) options.system = system;
        if (sampler != nullptr) options.sampler = internal::SettingsOf(internal::Known(sampler));
        if (max_tokens != 0) options.max_tokens = static_cast<size_t>(max_tokens);
        SKALD_ASSIGN(auto conversation, Conversation::Create(model->value, std::move(options)));
        return new skald_conversation{std::move(conversation)};
      });
}

SKALD_INLINE void skald_conversation_free(skald_conversation* conversation) { delete conversation; }

SKALD_INLINE int64_t skald_conversation_say(skald_conversation* conversation, const char* message, size_t bytes,
                                            skald_sink sink, void* user, skald_error* error) {
  using namespace skald;
  return internal::OrFailed<int64_t>("skald_conversation_say", -1, error, [&]() -> Result<int64_t> {
    if (conversation == nullptr || (message == nullptr && bytes > 0)) {
      return internal::IsNull("skald_conversation_say: the conversation or the message");
    }
    const PieceSink pieces(
        [&](std::string_view piece) { return sink == nullptr || sink(piece.data(), piece.size(), user) != 0; });
    SKALD_ASSIGN(const auto reply, conversation->value.Say(std::string_view(message, bytes), pieces));
    return static_cast<int64_t>(reply.tokens.size());
  });
}

SKALD_INLINE skald_conversation* skald_conversation_fork(const skald_conversation* conversation, skald_error* error) {
  using namespace skald;
  return internal::OrFailed<skald_conversation*>(
      "skald_conversation_fork", nullptr, error, [&]() -> Result<skald_conversation*> {
        if (conversation == nullptr) return internal::IsNull("skald_conversation_fork: the conversation");
        SKALD_ASSIGN(auto fork, conversation->value.Fork());
        return new skald_conversation{std::move(fork)};
      });
}

SKALD_INLINE int skald_conversation_take_back(skald_conversation* conversation, size_t turns, skald_error* error) {
  using namespace skald;
  return internal::OrFailed<int>("skald_conversation_take_back", -1, error, [&]() -> Result<int> {
    if (conversation == nullptr) return internal::IsNull("skald_conversation_take_back: the conversation");
    SKALD_TRY(conversation->value.TakeBack(turns));
    return 0;
  });
}

}  // extern "C"

#endif  // SKALD_C_DETAIL_FUNCTIONS_H_
