// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/open/saved_conversation.h.

#ifndef SKALD_OPEN_DETAIL_SAVED_CONVERSATION_H_
#define SKALD_OPEN_DETAIL_SAVED_CONVERSATION_H_

#include "skald/open/saved_conversation.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "skald/base/files/file_calls.h"
#include "skald/base/files/path_text.h"
#include "skald/base/inline.h"
#include "skald/base/json/json_value.h"
#include "skald/base/json/json_value_tree.h"
#include "skald/base/no_throw.h"
#include "skald/base/numbers/byte_codec.h"
#include "skald/open/chat.h"
#include "skald/store/snapshots/cached_digest.h"
#include "skald/store/snapshots/manifest.h"
#include "skald/store/snapshots/snapshot.h"
#include "skald/tokenizers/tokenizer_file.h"
#include "skald/weights/files/checkpoint.h"
#include "skald/weights/files/tensor_view.h"
#include "skald/weights/quantised/quantisation.h"

namespace skald {

SKALD_INLINE Result<bool> MayHoldQuantised(const OpenedModel& model) {
  return NoThrow(PathText(model.path()), [&]() -> Result<bool> {
    if (model.packed() != nullptr) return true;
    if (model.gguf() == nullptr) {
      SKALD_ASSIGN(const auto quantisation, QuantisationAt(model.path()));
      if (quantisation) return true;
    }
    SKALD_ASSIGN(const auto checkpoint, model.checkpoint());
    return std::ranges::any_of(checkpoint->tensors(), [](const TensorView& tensor) { return !tensor.dtype; });
  });
}

SKALD_INLINE Result<Identity> IdentityOfModel(const OpenedModel& model, DType weight_type,
                                              const std::optional<std::filesystem::path>& tokenizer,
                                              const Sha256Digest& adapter) {
  return NoThrow(PathText(model.path()), [&]() -> Result<Identity> {
    Identity identity = {.weight_type = weight_type, .adapter = adapter};
    SKALD_ASSIGN(identity.weights, CachedDigestOfWeights(model.path()));
    SKALD_ASSIGN(identity.quantised_files, MayHoldQuantised(model));
    // The tokenizer of a GGUF or packed file is among its weights.
    const bool is_file = tokenizer && !internal::IsFolder(*tokenizer);
    const auto file = is_file ? *tokenizer : TokenizerFileIn(tokenizer.value_or(model.folder()));
    if (file) {
      SKALD_ASSIGN(identity.tokenizer, DigestOfFile(*file));
    }
    return identity;
  });
}

namespace internal {

// Version of what a conversation adds to a snapshot.
inline constexpr uint32_t kConversationVersion = 2;

inline std::vector<std::byte> NotesOf(const ConversationState& state) {
  ByteWriter writer;
  writer.Put(kConversationVersion);
  writer.PutList(std::span<const int32_t>(state.tokens.pending));
  writer.PutList(std::span<const uint32_t>(state.turns));
  const std::string messages = Chat(state.messages).messages.Text();
  writer.PutList(std::span<const char>(messages));
  writer.Put(state.questions);
  return writer.bytes();
}

// Calls save(cache, notes).
template <class Save>
auto SaveConversationBy(const Conversation& conversation, Save save)
    -> decltype(save(std::declval<const KVCache&>(), std::declval<const SnapshotNotes&>())) {
  return NoThrow("SaveConversation", [&]() -> decltype(save(std::declval<const KVCache&>(), SnapshotNotes())) {
    SKALD_ASSIGN(const auto state, conversation.State());
    return save(state.tokens.cache, SnapshotNotes{.sampler = SavedSampler{state.sampler, {}}, .user = NotesOf(state)});
  });
}

// Reads what Chat writes for messages of nothing but text.
inline Result<std::vector<Message>> MessagesOf(std::string_view text) {
  SKALD_ASSIGN(const auto list, JsonValue::Parse(text));
  const auto string_of = [](const nlohmann::ordered_json& message, const char* name) {
    const auto found = message.is_object() ? message.find(name) : message.end();
    return found != message.end() && found->is_string() ? found->get<std::string>() : std::string();
  };
  std::vector<Message> messages;
  for (const nlohmann::ordered_json& message : TreeOf(list)) {
    const std::string role = string_of(message, "role");
    if (role != "system" && role != "user" && role != "assistant") {
      return Fail(ErrorCode::kDataLoss, "a message of a saved conversation has no author");
    }
    messages.push_back({role == "system" ? Role::kSystem
                        : role == "user" ? Role::kUser
                                         : Role::kAssistant,
                        string_of(message, "content"), string_of(message, "reasoning_content")});
  }
  return messages;
}

inline Result<void> ResumeFrom(Conversation& conversation, Result<Snapshot> snapshot) {
  if (!snapshot) return Failure(std::move(snapshot).error());
  return NoThrow("ResumeConversation", [&]() -> Result<void> {
    ConversationState state{{std::move(snapshot->cache), {}}};
    ByteReader reader(snapshot->notes.user);
    const auto version = reader.Get<uint32_t>();
    state.tokens.pending = reader.GetList<int32_t>();
    state.turns = reader.GetList<uint32_t>();
    const std::string_view messages = reader.GetText();
    state.questions = reader.Get<uint64_t>();
    if (!reader.Finished() || version != kConversationVersion || !snapshot->notes.sampler) {
      return Fail(ErrorCode::kUnsupported, "it holds a conversation, but not one of 'skald chat' or SaveConversation");
    }
    state.sampler = snapshot->notes.sampler->settings;
    SKALD_ASSIGN(state.messages, MessagesOf(messages));
    return conversation.Restore(std::move(state));
  });
}

}  // namespace internal

SKALD_INLINE Result<void> SaveConversation(const Conversation& conversation, const Identity& identity,
                                           ByteSinkRef sink) {
  return internal::SaveConversationBy(conversation, [&](const KVCache& cache, const SnapshotNotes& notes) {
    return SaveSnapshot(cache, identity, notes, sink);
  });
}

SKALD_INLINE Result<ChunkKey> SaveConversation(const Conversation& conversation, const Identity& identity,
                                               ChunkStoreRef store) {
  return internal::SaveConversationBy(conversation, [&](const KVCache& cache, const SnapshotNotes& notes) {
    return SaveSnapshot(cache, identity, notes, store);
  });
}

SKALD_INLINE Result<void> ResumeConversation(Conversation& conversation, const Identity& identity,
                                             ByteSourceRef source) {
  return internal::ResumeFrom(conversation, LoadSnapshot(source, identity, conversation.session().pool()));
}

SKALD_INLINE Result<void> ResumeConversation(Conversation& conversation, const Identity& identity, ChunkStoreRef store,
                                             const ChunkKey& key) {
  return internal::ResumeFrom(conversation, LoadSnapshot(store, key, identity, conversation.session().pool()));
}

}  // namespace skald

#endif  // SKALD_OPEN_DETAIL_SAVED_CONVERSATION_H_
