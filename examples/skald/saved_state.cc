// SPDX-License-Identifier: Apache-2.0

#include "saved_state.h"

#include <string>
#include <utility>

#ifdef SKALD_HAS_STORE
#include "identify_model.h"
#include "skald/base/byte_codec.h"
#include "skald/base/fd_io.h"
#include "skald/store/cached_digest.h"
#include "skald/store/directory_store.h"
#include "skald/store/identity.h"
#include "skald/store/prompt_cache.h"
#include "skald/store/snapshot.h"
#endif

namespace skald::program {

#ifdef SKALD_HAS_STORE
namespace {

// Version of what the program adds to a snapshot.
constexpr uint32_t kChatVersion = 1;

Result<Identity> IdentityOf(const Options& options) {
  Identity identity;
  identity.weight_type = options.weight_type.value_or(DType::kBF16);
  const auto weights = CachedDigestOfWeights(options.model);
  if (!weights) return Failure(weights.error());
  identity.weights = *weights;
  const auto tokenizer = options.tokenizer.value_or(FolderOfModel(options.model) / "tokenizer.model");
  if (std::error_code ignored; std::filesystem::exists(tokenizer, ignored)) {
    const auto digest = DigestOfFile(tokenizer);
    if (!digest) return Failure(digest.error());
    identity.tokenizer = *digest;
  }
  return identity;
}

class StoredPromptMemory : public PromptMemory {
 public:
  explicit StoredPromptMemory(std::unique_ptr<DirectoryStore> store) : store_(std::move(store)) {}

  Result<void> Open(const Options& options, const std::shared_ptr<BlockPool>& pool) {
    const auto identity = IdentityOf(options);
    if (!identity) return Failure(identity.error());
    auto prompts = PromptCache::Create(pool, *identity, {}, {*store_});
    if (!prompts) return Failure(prompts.error());
    prompts_ = std::move(*prompts);
    return {};
  }

  Result<PromptStart> Recall(std::span<const int32_t> prompt) override {
    auto prefix = prompts_->Lookup(prompt);
    if (!prefix) return Failure(prefix.error());
    if (prefix->store_error) return Failure(*prefix->store_error);
    return PromptStart{std::move(prefix->cache), std::move(prefix->logits)};
  }

  Result<void> Keep(const KVCache& cache, std::span<const float> logits) override {
    return prompts_->Insert(cache, logits);
  }

 private:
  std::unique_ptr<DirectoryStore> store_;
  std::unique_ptr<PromptCache> prompts_;
};

}  // namespace

Result<void> SaveChat(const std::filesystem::path& file, const Options& options, const SavedChat& chat) {
  const auto identity = IdentityOf(options);
  if (!identity) return Failure(identity.error());
  ByteWriter writer;
  writer.Put(kChatVersion);
  writer.PutList(std::span<const int32_t>(chat.pending));
  writer.PutList(std::span<const uint32_t>(chat.turns));
  writer.Put(chat.questions);
  SnapshotNotes notes = {.sampler = SavedSampler{options.sampler, {}}, .user = writer.bytes()};
  notes.sampler->settings.random.seed = chat.seed;
  auto sink = FileSink::Create(file);
  if (!sink) return Failure(sink.error());
  if (auto saved = SaveSnapshot(chat.cache, *identity, notes, ByteSinkRef(*sink)); !saved) return saved;
  return sink->Commit();
}

Result<SavedChat> LoadChat(const std::filesystem::path& file, const Options& options,
                           const std::shared_ptr<BlockPool>& pool) {
  const auto identity = IdentityOf(options);
  if (!identity) return Failure(identity.error());
  auto source = FileSource::Open(file);
  if (!source) return Failure(source.error());
  auto snapshot = LoadSnapshot(ByteSourceRef(*source), *identity, pool);
  if (!snapshot) return Annotate(file.string(), snapshot);
  SavedChat chat{std::move(snapshot->cache), {}, {}, 0, 0};
  ByteReader reader(snapshot->notes.user);
  const auto version = reader.Get<uint32_t>();
  chat.pending = reader.GetList<int32_t>();
  chat.turns = reader.GetList<uint32_t>();
  chat.questions = reader.Get<uint64_t>();
  if (!reader.Finished() || version != kChatVersion || !snapshot->notes.sampler) {
    return Fail(ErrorCode::kUnsupported, file.string() + ": it holds a conversation, but not one of 'skald chat'");
  }
  chat.seed = snapshot->notes.sampler->settings.random.seed;
  return chat;
}

Result<std::unique_ptr<PromptMemory>> OpenPromptMemory(const Options& options, const std::shared_ptr<BlockPool>& pool) {
  auto store = DirectoryStore::Open(*options.prompt_cache);
  if (!store) return Failure(store.error());
  auto memory = std::make_unique<StoredPromptMemory>(std::move(*store));
  if (auto opened = memory->Open(options, pool); !opened) return Failure(opened.error());
  return memory;
}

#else

namespace {
Failure NotBuiltIn() {
  return Fail(ErrorCode::kUnsupported,
              "this program was built without OpenSSL, zstd or xxHash, so it cannot save conversations or prompts");
}
}  // namespace

Result<void> SaveChat(const std::filesystem::path&, const Options&, const SavedChat&) { return NotBuiltIn(); }
Result<SavedChat> LoadChat(const std::filesystem::path&, const Options&, const std::shared_ptr<BlockPool>&) {
  return NotBuiltIn();
}
Result<std::unique_ptr<PromptMemory>> OpenPromptMemory(const Options&, const std::shared_ptr<BlockPool>&) {
  return NotBuiltIn();
}

#endif

}  // namespace skald::program
