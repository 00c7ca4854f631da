// SPDX-License-Identifier: Apache-2.0
//
// State that outlives a run: conversations in files, and prompts in a folder. Without the libraries that skald::store
// needs the program is built without both, and says so.

#ifndef SKALD_EXAMPLES_SKALD_CONVERSATION_SAVED_STATE_H_
#define SKALD_EXAMPLES_SKALD_CONVERSATION_SAVED_STATE_H_

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "command_line/options.h"
#include "skald/base/numbers/digest.h"
#include "skald/base/result.h"
#include "skald/cache/blocks/block_pool.h"
#include "skald/cache/kv_cache.h"
#include "skald/sampling/settings.h"
#include "skald/weights/opened/opened_model.h"

namespace skald::program {

// Which model and tokenizer saved state belongs to. Found out while the files are those that the model was loaded from:
// later another model may lie there.
struct StateOwner;

// Reads all of the weights, unless their digest is known from before. `adapter` is the digest of the one that
// conversations are for. Error: what cannot be read.
Result<std::shared_ptr<const StateOwner>> IdentifyOwner(const Options& options, const Sha256Digest& adapter);

// A chat as it is written down.
struct SavedChat {
  KVCache cache;
  std::vector<int32_t> pending;  // sampled last and not yet in the cache
  std::vector<uint32_t> turns;   // where each one begins
  std::string messages;          // what was said, as JSON
  uint64_t questions = 0;        // messages so far, those taken back included
  SamplerSettings sampler;       // with the seed
};

// Writes a chat to a file, which appears whole or not at all. Errors: the file's.
Result<void> SaveChat(const std::filesystem::path& file, const StateOwner& owner, const SavedChat& chat);

// Fails as SaveChat would because of the file's folder. Writes nothing.
Result<void> CheckFolder(const std::filesystem::path& file);

// Reads it into blocks of `pool`. Errors: the file's; another model, tokenizer or element type; a chat longer than the
// pool allows.
Result<SavedChat> LoadChat(const std::filesystem::path& file, const StateOwner& owner,
                           const std::shared_ptr<BlockPool>& pool);

// Where a prompt's computation can begin.
struct PromptStart {
  KVCache cache;                          // holds the longest known beginning
  std::vector<float> logits;              // of its last token, if nothing is left to compute
  std::optional<Error> store_error = {};  // why it may be known better, but could not be looked up
};

// Prompts computed by this and earlier runs.
class PromptMemory {
 public:
  virtual ~PromptMemory() = default;
  virtual Result<PromptStart> Recall(std::span<const int32_t> prompt) = 0;
  virtual Result<void> Keep(const KVCache& cache, std::span<const float> logits) = 0;
};

// Opens the folder `options.prompt_cache`, which is made if it is not there. Errors: kInvalidArgument for what is no
// folder, kUnsupported in a program without skald::store; any other is one that a run can do without it for.
Result<std::unique_ptr<PromptMemory>> OpenPromptMemory(const Options& options, const OpenedModel& model,
                                                       const Sha256Digest& adapter,
                                                       const std::shared_ptr<BlockPool>& pool);

}  // namespace skald::program

#endif  // SKALD_EXAMPLES_SKALD_CONVERSATION_SAVED_STATE_H_
