// SPDX-License-Identifier: Apache-2.0
//
// State that outlives a run: conversations in files, and prompts in a folder. Without the libraries that skald::store
// needs the program is built without both, and says so.

#ifndef SKALD_EXAMPLES_SKALD_CONVERSATION_SAVED_STATE_H_
#define SKALD_EXAMPLES_SKALD_CONVERSATION_SAVED_STATE_H_

#include <filesystem>
#include <memory>

#include "command_line/options.h"
#include "skald/base/numbers/digest.h"
#include "skald/base/result.h"
#include "skald/cache/blocks/block_pool.h"
#include "skald/open/conversation.h"
#include "skald/open/token_session.h"
#include "skald/weights/opened/opened_model.h"

namespace skald::program {

// Which model and tokenizer saved state belongs to. Found out while the files are those that the model was loaded from:
// later another model may lie there.
struct StateOwner;

// Reads all of the weights, unless their digest is known from before. `adapter` is the digest of the one that
// conversations are for. Error: what cannot be read.
Result<std::shared_ptr<const StateOwner>> IdentifyOwner(const Options& options, const Sha256Digest& adapter);

// Writes a conversation to a file, which appears whole or not at all. Errors: the file's.
Result<void> SaveChat(const std::filesystem::path& file, const StateOwner& owner, const Conversation& chat);

// Fails as SaveChat would because of the file's folder. Writes nothing.
Result<void> CheckFolder(const std::filesystem::path& file);

// Goes on from a file; an error leaves the conversation as it was. Errors: the file's; another model, tokenizer or
// element type; a chat that is longer than the context.
Result<void> LoadChat(const std::filesystem::path& file, const StateOwner& owner, Conversation& chat);

// Opens the folder `options.prompt_cache`, which is made if it is not there. Errors: kInvalidArgument for what is no
// folder, kUnsupported in a program without skald::store; any other is one that a run can do without it for.
Result<std::unique_ptr<PromptMemory>> OpenPromptMemory(const Options& options, const OpenedModel& model,
                                                       const Sha256Digest& adapter,
                                                       const std::shared_ptr<BlockPool>& pool);

}  // namespace skald::program

#endif  // SKALD_EXAMPLES_SKALD_CONVERSATION_SAVED_STATE_H_
