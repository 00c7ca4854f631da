// SPDX-License-Identifier: Apache-2.0
//
// The C interface: conversations.

#ifndef SKALD_C_DETAIL_CONVERSATIONS_H_
#define SKALD_C_DETAIL_CONVERSATIONS_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>

#include "skald/base/inline.h"
#include "skald/c/detail/handles.h"
#include "skald/c/detail/types.h"
#include "skald/c/skald.h"
#include "skald/open/conversation.h"

namespace skald::internal {

inline skald_conversation_options ConversationDefaults() {
  return {.size = sizeof(skald_conversation_options),
          .system = nullptr,
          .sampling = nullptr,
          .max_tokens = 0,
          .threads = 0,
          .runtime = nullptr};
}

inline Result<ConversationOptions> ConversationOptionsOf(const skald_conversation_options* given) {
  SKALD_ASSIGN(const auto known, Known("skald_conversation_options", ConversationDefaults(), given));
  ConversationOptions options;
  if (known.system != nullptr) options.system = known.system;
  if (known.sampling != nullptr) {
    SKALD_ASSIGN(options.sampler, SettingsOf(known.sampling));
  }
  if (known.max_tokens > 0) options.max_tokens = known.max_tokens;
  if (known.runtime != nullptr) {
    SKALD_ASSIGN(options.runtime, RuntimeOf(known.runtime));
  }
  options.workspace.threads = ThreadsOf(known.threads);
  return options;
}

}  // namespace skald::internal

SKALD_INLINE void skald_conversation_options_init(skald_conversation_options* options) {
  if (options != nullptr) *options = skald::internal::ConversationDefaults();
}

SKALD_INLINE skald_code skald_conversation_create(const skald_model* model, const skald_conversation_options* options,
                                                  skald_conversation** conversation, skald_error* error) {
  using namespace skald;
  using namespace skald::internal;
  return Call("skald_conversation_create", error, [&]() -> Result<void> {
    SKALD_TRY(Need("skald_conversation_create", model, conversation));
    SKALD_ASSIGN(auto known, ConversationOptionsOf(options));
    SKALD_ASSIGN(auto created, Conversation::Create(model->model(), std::move(known)));
    *conversation = new skald_conversation{model->shared, std::move(created)};
    return {};
  });
}

SKALD_INLINE void skald_conversation_free(skald_conversation* conversation) { delete conversation; }

SKALD_INLINE skald_code skald_conversation_say(skald_conversation* conversation, const char* message, size_t bytes,
                                               skald_piece_sink sink, void* user, skald_error* error) {
  using namespace skald;
  using namespace skald::internal;
  return Call("skald_conversation_say", error, [&]() -> Result<void> {
    SKALD_TRY(Need("skald_conversation_say", conversation));
    const auto take = [&](std::string_view piece) {
      return sink == nullptr || sink(piece.data(), piece.size(), user) != 0;
    };
    SKALD_ASSIGN(auto reply, conversation->conversation.Say(TextOf(message, bytes), take));
    conversation->answer = std::move(reply.text);
    return {};
  });
}

SKALD_INLINE const char* skald_conversation_answer(const skald_conversation* conversation, size_t* bytes) {
  const std::string_view answer = conversation == nullptr ? std::string_view("") : conversation->answer;
  if (bytes != nullptr) *bytes = answer.size();
  return answer.data();
}

SKALD_INLINE skald_code skald_conversation_take_back(skald_conversation* conversation, size_t turns,
                                                     skald_error* error) {
  using namespace skald;
  using namespace skald::internal;
  return Call("skald_conversation_take_back", error, [&]() -> Result<void> {
    SKALD_TRY(Need("skald_conversation_take_back", conversation));
    return conversation->conversation.TakeBack(turns);
  });
}

SKALD_INLINE skald_code skald_conversation_fork(const skald_conversation* conversation, skald_conversation** fork,
                                                skald_error* error) {
  using namespace skald;
  using namespace skald::internal;
  return Call("skald_conversation_fork", error, [&]() -> Result<void> {
    SKALD_TRY(Need("skald_conversation_fork", conversation, fork));
    SKALD_ASSIGN(auto second, conversation->conversation.Fork());
    *fork = new skald_conversation{conversation->model, std::move(second), conversation->answer};
    return {};
  });
}

SKALD_INLINE uint32_t skald_conversation_size(const skald_conversation* conversation) {
  return conversation == nullptr ? 0 : conversation->conversation.session().size();
}

#endif  // SKALD_C_DETAIL_CONVERSATIONS_H_
