// SPDX-License-Identifier: Apache-2.0
//
// Saved conversations: a snapshot of the cache (skald/store/snapshots/snapshot.h) with the messages, turns and seed. A
// conversation that is resumed goes on with the same bits, in another process and on another machine. Needs the
// libraries of skald/store/.

#ifndef SKALD_OPEN_SAVED_CONVERSATION_H_
#define SKALD_OPEN_SAVED_CONVERSATION_H_

#include <filesystem>
#include <optional>

#include "skald/base/numbers/digest.h"
#include "skald/base/numbers/numeric.h"
#include "skald/base/result.h"
#include "skald/open/conversation.h"
#include "skald/store/chunks/chunk_key.h"
#include "skald/store/chunks/chunk_store.h"
#include "skald/store/snapshots/byte_io.h"
#include "skald/store/snapshots/identity.h"
#include "skald/weights/opened/opened_model.h"

namespace skald {

/// Returns Identity::quantised_files of a model. Packed files, and files with tensors that are no floats, count as
/// such. Errors: those of reading.
Result<bool> MayHoldQuantised(const OpenedModel& model);

/// Returns the identity of the state of a model's conversations: digests of the files that it was opened from. Reads
/// all weights, unless their digest is known from before (CachedDigestOfWeights). `weight_type`: as LoadOptions::dtype;
/// `tokenizer`: in place of the model's own; `adapter`: Adapter::digest, or zeros. Find it out while the files are
/// those that were opened: later another model may be there. Safe for concurrent calls. Errors: those of reading.
Result<Identity> IdentityOfModel(const OpenedModel& model, DType weight_type,
                                 const std::optional<std::filesystem::path>& tokenizer = {},
                                 const Sha256Digest& adapter = {});

/// Writes a conversation, which does not change. Errors: those of SaveSnapshot.
Result<void> SaveConversation(const Conversation& conversation, const Identity& identity, ByteSinkRef sink);
/// The same to a store, which gets only the chunks that it lacks. Returns the key to resume by.
Result<ChunkKey> SaveConversation(const Conversation& conversation, const Identity& identity, ChunkStoreRef store);

/// Goes on from a saved conversation in place of what `conversation` holds; the system's message comes with it. An
/// error leaves it as it was. Errors: those of LoadSnapshot and Conversation::Restore; kUnsupported for a snapshot that
/// SaveConversation did not write.
Result<void> ResumeConversation(Conversation& conversation, const Identity& identity, ByteSourceRef source);
/// The same from a store.
Result<void> ResumeConversation(Conversation& conversation, const Identity& identity, ChunkStoreRef store,
                                const ChunkKey& key);

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/open/detail/saved_conversation.h"
#endif

#endif  // SKALD_OPEN_SAVED_CONVERSATION_H_
