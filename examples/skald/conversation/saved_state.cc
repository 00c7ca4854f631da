// SPDX-License-Identifier: Apache-2.0

#include "conversation/saved_state.h"

#include <string>
#include <system_error>
#include <utility>

#ifdef SKALD_HAS_STORE
#include "conversation/state_identity.h"
#include "skald/base/files/fd_io.h"
#include "skald/open/saved_conversation.h"
#include "skald/store/backends/directory_store.h"
#include "skald/store/prompts/prompt_cache.h"
#include "skald/store/snapshots/byte_io.h"
#include "skald/store/snapshots/identity.h"
#endif

namespace skald::program {

#ifdef SKALD_HAS_STORE

struct StateOwner {
  Identity identity;
};

namespace {

class StoredPromptMemory : public PromptMemory {
 public:
  explicit StoredPromptMemory(std::unique_ptr<DirectoryStore> store) : store_(std::move(store)) {}

  Result<void> Open(const Identity& identity, const std::shared_ptr<BlockPool>& pool) {
    SKALD_ASSIGN(auto prompts, PromptCache::Create(pool, identity, {}, {*store_}));
    prompts_ = std::move(prompts);
    return {};
  }

  Result<Start> Recall(std::span<const int32_t> prompt) override {
    SKALD_ASSIGN(auto prefix, prompts_->Lookup(prompt));
    return Start{std::move(prefix.cache), std::move(prefix.logits), std::move(prefix.store_error)};
  }

  Result<void> Keep(const KVCache& cache, std::span<const float> logits) override {
    return prompts_->Insert(cache, logits);
  }

 private:
  std::unique_ptr<DirectoryStore> store_;
  std::unique_ptr<PromptCache> prompts_;
};

}  // namespace

Result<std::shared_ptr<const StateOwner>> IdentifyOwner(const Options& options, const Sha256Digest& adapter) {
  SKALD_ASSIGN(const auto model, OpenedModel::Open(options.model));
  SKALD_ASSIGN(auto identity, IdentityOf(options, model, adapter));
  return std::make_shared<const StateOwner>(std::move(identity));
}

Result<void> CheckFolder(const std::filesystem::path& file) {
  const auto sink = FileSink::Create(file);
  return sink ? Result<void>() : Failure(sink.error());
}

Result<void> SaveChat(const std::filesystem::path& file, const StateOwner& owner, const Conversation& chat) {
  SKALD_ASSIGN(auto sink, FileSink::Create(file));
  SKALD_TRY(SaveConversation(chat, owner.identity, ByteSinkRef(sink)));
  return sink.Commit();
}

Result<void> LoadChat(const std::filesystem::path& file, const StateOwner& owner, Conversation& chat) {
  std::error_code ignored;                        // what cannot be asked cannot be opened either
  if (std::filesystem::is_fifo(file, ignored)) {  // opening it would wait for a writer
    return Fail(ErrorCode::kInvalidArgument, file.string() + ": expected a regular file");
  }
  SKALD_ASSIGN(auto source, FileSource::Open(file));
  const auto resumed = ResumeConversation(chat, owner.identity, ByteSourceRef(source));
  return resumed ? resumed : Annotate(file.string(), resumed);
}

Result<std::unique_ptr<PromptMemory>> OpenPromptMemory(const Options& options, const OpenedModel& model,
                                                       const Sha256Digest& adapter,
                                                       const std::shared_ptr<BlockPool>& pool) {
  const std::filesystem::path& folder = *options.prompt_cache;
  std::error_code ignored;  // what cannot be asked cannot be opened either
  if (std::filesystem::exists(folder, ignored) && !std::filesystem::is_directory(folder, ignored)) {
    return Fail(ErrorCode::kInvalidArgument, folder.string() + ": expected a folder");
  }
  SKALD_ASSIGN(auto store, DirectoryStore::Open(folder));
  SKALD_ASSIGN(const auto identity, IdentityOf(options, model, adapter));
  auto memory = std::make_unique<StoredPromptMemory>(std::move(store));
  SKALD_TRY(memory->Open(identity, pool));
  return memory;
}

#else

namespace {
Failure NotBuiltIn() {
  return Fail(ErrorCode::kUnsupported,
              "this program was built without OpenSSL, zstd or xxHash, so it cannot save conversations or prompts");
}
}  // namespace

struct StateOwner {};

Result<std::shared_ptr<const StateOwner>> IdentifyOwner(const Options&, const Sha256Digest&) { return NotBuiltIn(); }
Result<void> CheckFolder(const std::filesystem::path&) { return NotBuiltIn(); }
Result<void> SaveChat(const std::filesystem::path&, const StateOwner&, const Conversation&) { return NotBuiltIn(); }
Result<void> LoadChat(const std::filesystem::path&, const StateOwner&, Conversation&) { return NotBuiltIn(); }
Result<std::unique_ptr<PromptMemory>> OpenPromptMemory(const Options&, const OpenedModel&, const Sha256Digest&,
                                                       const std::shared_ptr<BlockPool>&) {
  return NotBuiltIn();
}

#endif

}  // namespace skald::program
