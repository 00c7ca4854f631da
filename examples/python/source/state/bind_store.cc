// SPDX-License-Identifier: Apache-2.0

#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstddef>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "bind.h"
#include "skald/open/open_model.h"
#include "skald/open/saved_conversation.h"
#include "skald/store/backends/directory_store.h"
#include "skald/store/backends/memory_store.h"
#include "skald/store/prompts/prompt_cache.h"
#include "skald/store/snapshots/cached_digest.h"
#include "skald/store/snapshots/snapshot.h"
#include "state/objects.h"
#include "state/stores.h"
#include "text/conversations.h"
#include "values/arrays.h"
#include "values/errors.h"
#include "values/token_ids.h"
#if defined(SKALD_HAS_REDIS)
#include "skald/store/backends/redis_store.h"
#include "skald/store/backends/redis_url.h"
#endif

namespace skald::python {

namespace {

// A ByteSink that grows.
struct GrowingSink {
  Result<void> Write(std::span<const std::byte> more) {
    bytes.insert(bytes.end(), more.begin(), more.end());
    return {};
  }
  std::vector<std::byte> bytes;
};

nb::bytes BytesOf(std::span<const std::byte> bytes) { return nb::bytes(bytes.data(), bytes.size()); }

std::span<const std::byte> SpanOf(const nb::bytes& bytes) {
  return {static_cast<const std::byte*>(bytes.data()), bytes.size()};
}

ChunkKey KeyOf(const std::string& hex) { return Take(ChunkKey::FromHex(hex)); }

void BindIdentity(nb::module_& m) {
  nb::class_<Identity>(m, "Identity", "Names the model, adapter, tokenizer and tenant that state belongs to.")
      .def_prop_ro(
          "weights", [](const Identity& self) { return BytesOf(self.weights); }, Doc("Identity::weights"))
      .def_prop_ro(
          "adapter", [](const Identity& self) { return BytesOf(self.adapter); }, "The digest of the adapter, or zeros.")
      .def_rw("salt", &Identity::salt, Doc("Identity::salt"));
  nb::borrow<nb::class_<LanguageModel>>(m.attr("LanguageModel"))
      .def(
          "identity",
          [](const LanguageModel& self, const Adapter* adapter, std::string salt) {
            nb::gil_scoped_release release;
            Identity identity = Take(IdentityOfModel(self.info.model, self.info.weight_type, {},
                                                     adapter == nullptr ? Sha256Digest{} : adapter->digest));
            identity.salt = std::move(salt);
            return identity;
          },
          "adapter"_a = nb::none(), "salt"_a = "", Doc("IdentityOfModel"));
  m.def(
      "identity_of_weights",
      [](const std::filesystem::path& path, DType weight_type, const Adapter* adapter, std::string salt) {
        nb::gil_scoped_release release;
        return Identity{.weights = Take(CachedDigestOfWeights(path)),
                        .weight_type = weight_type,
                        .quantised_files = Take(MayHoldQuantised(Take(OpenedModel::Open(path)))),
                        .adapter = adapter == nullptr ? Sha256Digest{} : adapter->digest,
                        .salt = std::move(salt)};
      },
      "path"_a, nb::kw_only(), "weight_type"_a = DType::kBF16, "adapter"_a = nb::none(), "salt"_a = "",
      "The identity of the state of a model without a tokenizer, as `load_model` gives it.");
}

void BindStores(nb::module_& m) {
  nb::class_<Store>(m, "ChunkStore", Doc("ChunkStoreRef"))
      .def(
          "keys",
          [](Store& self) {
            std::vector<std::string> keys;
            nb::gil_scoped_release release;
            for (const ChunkKey& key : Take(self.ref().List())) keys.push_back(key.ToHex());
            return keys;
          },
          "All keys, in hexadecimal digits.")
      .def(
          "has",
          [](Store& self, const std::string& key) {
            nb::gil_scoped_release release;
            return Take(self.ref().Has(KeyOf(key)));
          },
          "key"_a, "Whether there is a value.")
      .def(
          "drop",
          [](Store& self, const std::string& key) {
            nb::gil_scoped_release release;
            Take(self.ref().Drop(KeyOf(key)));
          },
          "key"_a, "Removes a value, if there is one.");
  nb::class_<StoreOf<MemoryStore>, Store>(m, "MemoryStore", "Chunks in memory.")
      .def(nb::new_([](uint64_t max_bytes) {
             return std::make_shared<StoreOf<MemoryStore>>(std::make_unique<MemoryStore>(max_bytes));
           }),
           "max_bytes"_a);
  nb::class_<StoreOf<DirectoryStore>, Store>(m, "DirectoryStore", "Chunks in a folder.")
      .def(nb::new_([](const std::filesystem::path& path, std::optional<uint64_t> max_bytes) {
             DirectoryStoreOptions options;
             if (max_bytes) options.max_bytes = *max_bytes;
             return std::make_shared<StoreOf<DirectoryStore>>(Take(DirectoryStore::Open(path, options)));
           }),
           "path"_a, "max_bytes"_a = nb::none(), Doc("DirectoryStore::Open"));
#if defined(SKALD_HAS_REDIS)
  nb::class_<StoreOf<RedisStore>, Store>(m, "RedisStore", "Chunks in a Redis server.")
      .def(nb::new_([](const std::string& address, const std::string& key_prefix) {
             RedisOptions options = Take(ParseRedisAddress(address));
             options.key_prefix = key_prefix;
             nb::gil_scoped_release release;
             return std::make_shared<StoreOf<RedisStore>>(
                 std::make_unique<RedisStore>(Take(RedisStore::Connect(options))));
           }),
           "address"_a, nb::kw_only(), "key_prefix"_a = RedisOptions().key_prefix, Doc("RedisStore::Connect"));
#endif
}

void BindSnapshots(nb::module_& m) {
  nb::borrow<nb::class_<Cache>>(m.attr("KVCache"))
      .def(
          "save",
          [](Cache& self, const Identity& identity) {
            const OneUser use = self.Use();
            GrowingSink sink;
            {
              nb::gil_scoped_release release;
              Take(SaveSnapshot(self.value, identity, SnapshotNotes(), sink));
            }
            return BytesOf(sink.bytes);
          },
          "identity"_a, "Returns the conversation as bytes.")
      .def(
          "save",
          [](Cache& self, const Identity& identity, Store& store) {
            const OneUser use = self.Use();
            nb::gil_scoped_release release;
            return Take(SaveSnapshot(self.value, identity, SnapshotNotes(), store.ref())).ToHex();
          },
          "identity"_a, "store"_a, "Writes what `store` lacks of the conversation, and returns the key to load it by.")
      .def_static(
          "load",
          [](std::shared_ptr<BlockPool> pool, const Identity& identity, const nb::bytes& bytes) {
            nb::gil_scoped_release release;
            return std::make_shared<Cache>(Take(LoadSnapshot(SpanOf(bytes), identity, std::move(pool))).cache);
          },
          "pool"_a, "identity"_a, "bytes"_a, "Goes on from what `save` returned, with the same bits.")
      .def_static(
          "load",
          [](std::shared_ptr<BlockPool> pool, const Identity& identity, Store& store, const std::string& key) {
            nb::gil_scoped_release release;
            return std::make_shared<Cache>(
                Take(LoadSnapshot(store.ref(), KeyOf(key), identity, std::move(pool))).cache);
          },
          "pool"_a, "identity"_a, "store"_a, "key"_a, Doc("LoadSnapshot"));
  nb::borrow<nb::class_<Talk>>(m.attr("Conversation"))
      .def(
          "save",
          [](Talk& self, const Identity& identity) {
            const OneUser use = self.Use();
            GrowingSink sink;
            {
              nb::gil_scoped_release release;
              Take(SaveConversation(self.value, identity, sink));
            }
            return BytesOf(sink.bytes);
          },
          "identity"_a, Doc("SaveConversation"))
      .def(
          "save",
          [](Talk& self, const Identity& identity, Store& store) {
            const OneUser use = self.Use();
            nb::gil_scoped_release release;
            return Take(SaveConversation(self.value, identity, store.ref())).ToHex();
          },
          "identity"_a, "store"_a, "The same to a store; returns the key to resume by.")
      .def(
          "resume",
          [](Talk& self, const Identity& identity, const nb::bytes& bytes) {
            const OneUser use = self.Use();
            BufferSource source(SpanOf(bytes));
            nb::gil_scoped_release release;
            Take(ResumeConversation(self.value, identity, source));
          },
          "identity"_a, "bytes"_a, Doc("ResumeConversation"))
      .def(
          "resume",
          [](Talk& self, const Identity& identity, Store& store, const std::string& key) {
            const OneUser use = self.Use();
            nb::gil_scoped_release release;
            Take(ResumeConversation(self.value, identity, store.ref(), KeyOf(key)));
          },
          "identity"_a, "store"_a, "key"_a, "The same from a store.");
}

// A PromptPrefix in Python.
struct Prefix {
  std::shared_ptr<Cache> cache;
  uint32_t matched;
  std::vector<float> logits;
  std::optional<Error> store_error;
};

void BindPrompts(nb::module_& m) {
  nb::class_<Prefix>(m, "PromptPrefix", "The longest known beginning of a prompt.")
      .def_ro("cache", &Prefix::cache, Doc("PromptPrefix::cache"))
      .def_ro("matched", &Prefix::matched, Doc("PromptPrefix::matched"))
      .def_prop_ro(
          "logits",
          [](const Prefix& self) -> std::optional<Array<float>> {
            if (self.logits.empty()) return std::nullopt;
            return ArrayOf(self.logits);
          },
          Doc("PromptPrefix::logits"))
      .def_prop_ro(
          "store_error",
          [](const Prefix& self) { return self.store_error ? ExceptionOf(*self.store_error) : nb::none(); },
          nb::sig("def store_error(self) -> Error | None"), Doc("PromptPrefix::store_error"));
  nb::class_<PromptCacheStats>(m, "PromptCacheStats", Doc("PromptCacheStats"))
      .def_ro("lookups", &PromptCacheStats::lookups, Doc("PromptCacheStats::lookups"))
      .def_ro("tokens_asked", &PromptCacheStats::tokens_asked, Doc("PromptCacheStats::tokens_asked"))
      .def_ro("tokens_matched", &PromptCacheStats::tokens_matched, Doc("PromptCacheStats::tokens_matched"))
      .def_ro("tokens_reused", &PromptCacheStats::tokens_reused, Doc("PromptCacheStats::tokens_reused"))
      .def_ro("entries", &PromptCacheStats::entries, Doc("PromptCacheStats::entries"))
      .def_ro("bytes", &PromptCacheStats::bytes, "bytes in memory now")
      .def_ro("evictions", &PromptCacheStats::evictions, Doc("PromptCacheStats::evictions"));
  nb::class_<Prompts>(m, "PromptCache",
                      "Prompts that are found by their beginnings. Any number of threads may share it.")
      .def(nb::new_([](std::shared_ptr<BlockPool> pool, const Identity& identity,
                       std::vector<std::shared_ptr<Store>> stores, std::optional<uint64_t> max_bytes) {
             PromptCacheOptions options;
             if (max_bytes) options.max_bytes = *max_bytes;
             std::vector<ChunkStoreRef> refs;
             for (const auto& store : stores) refs.push_back(store->ref());
             auto value = Take(PromptCache::Create(std::move(pool), identity, options, refs));
             return std::make_shared<Prompts>(Prompts{std::move(stores), std::move(value)});
           }),
           "pool"_a, "identity"_a, "stores"_a = std::vector<std::shared_ptr<Store>>(), nb::kw_only(),
           "max_bytes"_a = nb::none(), Doc("PromptCache::Create"))
      .def(
          "lookup",
          [](Prompts& self, TokenIds tokens, const std::optional<std::string>& salt) {
            const std::vector<int32_t> ids = tokens.Read();
            nb::gil_scoped_release release;
            PromptPrefix found = Take(self.value->Lookup(ids, salt));
            return Prefix{std::make_shared<Cache>(std::move(found.cache)), found.matched, std::move(found.logits),
                          std::move(found.store_error)};
          },
          "tokens"_a, "salt"_a = nb::none(), Doc("PromptCache::Lookup"))
      .def(
          "insert",
          [](Prompts& self, Cache& cache, const std::optional<FloatVector>& logits,
             const std::optional<std::string>& salt) {
            const OneUser use = cache.Use();
            const std::span<const float> last =
                logits ? std::span<const float>(logits->data(), logits->size()) : std::span<const float>();
            nb::gil_scoped_release release;
            Take(self.value->Insert(cache.value, last, salt));
          },
          "cache"_a, nb::arg("logits").noconvert() = nb::none(), "salt"_a = nb::none(), Doc("PromptCache::Insert"))
      .def(
          "forget",
          [](Prompts& self, TokenIds tokens, uint32_t keep, const std::optional<std::string>& salt) {
            const std::vector<int32_t> ids = tokens.Read();
            nb::gil_scoped_release release;
            Take(self.value->Forget(ids, keep, salt));
          },
          "tokens"_a, "keep"_a = 0, "salt"_a = nb::none(), Doc("PromptCache::Forget"))
      .def(
          "trim", [](Prompts& self, uint64_t max_bytes) { self.value->Trim(max_bytes); }, "max_bytes"_a,
          Doc("PromptCache::Trim"))
      .def_prop_ro(
          "stats", [](const Prompts& self) { return self.value->stats(); }, Doc("PromptCache::stats"));
}

}  // namespace

void BindStore(nb::module_& m) {
  BindIdentity(m);
  BindStores(m);
  BindSnapshots(m);
  BindPrompts(m);
}

}  // namespace skald::python
