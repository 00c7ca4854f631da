// SPDX-License-Identifier: Apache-2.0
//
// A server that keeps nothing between turns: each conversation is put down in Redis after its turn, and picked up by
// its key for the next, here or on another machine. Saving writes only what is new, and nothing is computed twice.
//
//   build/release/examples/09_redis_server_loop [MODEL_FOLDER [PORT]], with a redis-server running on this machine

#include <iostream>

#include "demo_model/demo_config.h"
#include "skald/skald.h"
#include "skald/store/backends/redis_store.h"
#include "skald/store/snapshots/snapshot.h"
#include "skald/tokenizers/tokenizer.h"

struct Server {
  const skald::Tokenizer& tokenizer;
  const skald::Model<DemoModel>& model;
  skald::Identity identity;  // a snapshot is good for one model only
  skald::RedisStore& store;
  skald::Workspace& workspace;

  // Goes on with the conversation of `key`, or begins one, and leaves there the key for its next turn.
  skald::Result<void> Turn(std::optional<skald::ChunkKey>& key, const char* text) {
    SKALD_ASSIGN(auto pool, skald::CreateBlockPool<DemoModel>());
    auto cache = skald::CreateKVCache(pool);
    if (key) {
      SKALD_ASSIGN(auto snapshot, skald::LoadSnapshot(store, *key, identity, pool));
      cache = std::move(snapshot.cache);
    }
    if (!cache) return skald::Failure(cache.error());
    std::cout << "Picked up " << cache->size() << " tokens of " << (key ? key->ToHex() : "a new conversation") << '\n';
    SKALD_ASSIGN(auto unseen, tokenizer.Encode(text));
    if (const auto bos = tokenizer.bos_id(); bos && !key) unseen.insert(unseen.begin(), *bos);
    for (int left = 12;; --left) {
      SKALD_ASSIGN(const auto logits, model.Forward(*cache, unseen, workspace));
      if (left == 0) break;  // what was said last is computed too, and needs no second time
      SKALD_ASSIGN(const auto next, skald::Sample(logits, {.temperature = 0.7f, .top_k = 40}, {}, cache->size()));
      unseen.assign(1, next.id);
    }
    std::cout << tokenizer.Decode(cache->tokens()).value_or("(what the tokenizer has no text for)") << "\n\n";
    SKALD_ASSIGN(const auto saved, skald::SaveSnapshot(*cache, identity, {}, store));
    key = saved;
    return {};
  }
};

skald::Result<void> Run(const std::filesystem::path& folder, int port) {
  SKALD_ASSIGN(const auto tokenizer, skald::Tokenizer::Load(folder / "tokenizer.model"));
  SKALD_ASSIGN(const auto model, skald::LoadModel<DemoModel>(folder));
  SKALD_ASSIGN(const auto weights, skald::DigestOfWeights(folder));
  SKALD_ASSIGN(auto store, skald::RedisStore::Connect({.port = port}));
  SKALD_ASSIGN(auto workspace, skald::CreateWorkspace());
  Server server{tokenizer, model, {.weights = weights}, store, workspace};
  std::optional<skald::ChunkKey> keys[2];  // all that a server has to remember of two conversations
  const std::pair<int, const char*> requests[] = {{0, "And God said"}, {1, "The king"}, {1, " Then"}, {0, " Behold"}};
  for (const auto& [conversation, text] : requests) {
    SKALD_TRY(server.Turn(keys[conversation], text));
  }
  return {};
}

int main(int argc, char** argv) {
  const auto done = Run(argc > 1 ? argv[1] : "examples/demo_model", argc > 2 ? std::atoi(argv[2]) : 6379);
  if (!done) std::cerr << done.error().message << '\n';
  return done ? 0 : 1;
}
