// SPDX-License-Identifier: Apache-2.0
//
// Chunks in a Redis server: against a real one that the test starts and kills, and against one that talks nonsense.

#include "doctest/doctest.h"
#include "skald/cache/create.h"
#include "tests/support/check_error.h"
#include "tests/support/test_data.h"

#if !__has_include(<hiredis/hiredis.h>)
TEST_CASE("chunks in Redis") {
  ++skald::missing_test_data;
  MESSAGE("SKIPPED for want of hiredis");
}
#else

#include <algorithm>
#include <atomic>
#include <chrono>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "skald/store/backends/redis_store.h"
#include "skald/store/prompts/prompt_cache.h"
#include "skald/store/snapshots/snapshot.h"
#include "tests/support/fake_redis_server.h"
#include "tests/support/redis_server.h"
#include "tests/support/small_models.h"
#include "tests/support/tiny_cache.h"

namespace skald::testing {
namespace redis_store_test {

using std::chrono::milliseconds;

ChunkKey KeyOf(int number) { return {{static_cast<std::byte>(number), static_cast<std::byte>(number >> 8)}}; }

ChunkBytes Noise(size_t size) {
  std::mt19937 random(static_cast<uint32_t>(size));
  ChunkBytes bytes(size);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
  return bytes;
}

RedisOptions At(int port) { return {.port = port, .answer_timeout = milliseconds(60'000)}; }

TEST_CASE("what is put into Redis can be had, listed and dropped") {
  const auto server = RedisServer::Start();
  if (!server) return;
  RedisStore connected = *RedisStore::Connect(At(server->port()));
  const ChunkStoreRef store(connected);
  CHECK(store.List()->empty());
  CheckError(store.Get(KeyOf(1)), ErrorCode::kNotFound, KeyOf(1).ToHex());
  for (const size_t size : {0u, 1u, 4096u, 4097u, 5u << 20}) {
    const ChunkKey key = KeyOf(static_cast<int>(size % 5000));
    CHECK_FALSE(*store.Has(key));
    REQUIRE(store.Put(key, Noise(size)));
    CHECK(*store.Has(key));
    CHECK(*store.Get(key) == Noise(size));
    REQUIRE(store.Put(key, Noise(size + 1)));  // what is there stays
    CHECK(store.Get(key)->size() == size);
    REQUIRE(store.Drop(key));
    REQUIRE(store.Drop(key));
    CHECK_FALSE(*store.Has(key));
  }
  const std::byte first{};
  CHECK(store.Put(KeyOf(0), std::span(&first, kMaxChunkBytes + 1)).error().code == ErrorCode::kInvalidArgument);
}

TEST_CASE("what is damaged in Redis is written again by whoever saves it") {
  const auto server = RedisServer::Start();
  if (!server) return;
  RedisStore store = *RedisStore::Connect(At(server->port()));
  const auto pool = *CreateBlockPool(TinyLayout(true));
  KVCache cache = *CreateKVCache(pool);
  REQUIRE(GrowTiny(cache, 1, 100));
  const ChunkKey snapshot = *SaveSnapshot(cache, {}, {}, store);
  const std::vector<ChunkKey> keys = *store.List();
  for (const ChunkKey& key : keys) {
    const ChunkBytes whole = *store.Get(key);
    CHECK(store.Front(key, 10)->bytes == whole.size());
    CHECK(store.Front(key, 10)->front == ChunkBytes(whole.begin(), whole.begin() + 10));
    ChunkBytes of_another = whole;
    of_another[40] ^= std::byte{1};
    for (const ChunkBytes& damaged : {ChunkBytes(), ChunkBytes(whole.begin(), whole.end() - 1), of_another}) {
      REQUIRE(store.Drop(key));
      REQUIRE(store.Put(key, damaged));
      REQUIRE(SaveSnapshot(cache, {}, {}, store) == snapshot);
      CHECK(*store.Get(key) == whole);
    }
    REQUIRE(store.Drop(key));
    CheckError(store.Front(key, 10), ErrorCode::kNotFound, key.ToHex());
    REQUIRE(SaveSnapshot(cache, {}, {}, store));
  }
  CHECK(LoadSnapshot(store, snapshot, {}, pool));
}

TEST_CASE("stores with different prefixes share a server, and foreign keys do not matter") {
  const auto server = RedisServer::Start();
  if (!server) return;
  RedisOptions options = At(server->port());
  const RedisStore ours = *RedisStore::Connect(options);
  options.key_prefix = "*[^a]?\\";
  const RedisStore theirs = *RedisStore::Connect(options);
  std::vector<ChunkKey> keys;
  for (int i = 0; i < 2500; ++i) {
    keys.push_back(KeyOf(i));
    REQUIRE(ours.Put(keys.back(), Noise(1)));
  }
  std::sort(keys.begin(), keys.end());
  REQUIRE(theirs.Put(KeyOf(1), Noise(2)));
  for (const char* foreign : {"skald:", "skald:xyz", "other", "skald:0000"}) server->Do({"SET", foreign, "1"});
  server->Do({"SET", "skald:" + KeyOf(3000).ToHex() + "0", "1"});
  server->Do({"SET", "xb?\\" + KeyOf(3000).ToHex(), "1"});  // what the other prefix would match as a pattern
  CHECK(*ours.List() == keys);
  CHECK(*theirs.List() == std::vector<ChunkKey>{KeyOf(1)});
  CHECK(*theirs.Get(KeyOf(1)) == Noise(2));
}

TEST_CASE("a server that is killed gives clear errors until it is back") {
  const auto server = RedisServer::Start();
  if (!server) return;
  const RedisStore store = *RedisStore::Connect(At(server->port()));
  std::atomic<bool> stop = false;
  std::atomic<int> stored = 0, refused = 0, unclear = 0;
  const ChunkBytes value = Noise(1 << 20);
  std::thread putter([&] {
    for (int i = 0; !stop; ++i) {
      const auto put = store.Put(KeyOf(i), value);
      ++(put ? stored : refused);
      if (put) continue;
      const Error& error = put.error();
      unclear += error.code != ErrorCode::kFailedPrecondition || !error.message.starts_with("Redis server 127.0.0.1:");
      std::this_thread::sleep_for(milliseconds(1));
    }
  });
  const auto wait_for_more = [](const std::atomic<int>& count) {
    const int before = count;
    for (int i = 0; i < 12'000 && count < before + 5; ++i) std::this_thread::sleep_for(milliseconds(5));
    CHECK(count >= before + 5);
  };
  for (int round = 0; round < 3; ++round) {
    wait_for_more(stored);
    server->Kill();
    wait_for_more(refused);
    REQUIRE(server->Restart());
  }
  wait_for_more(stored);
  stop = true;
  putter.join();
  CHECK(unclear == 0);
  const std::vector<ChunkKey> keys = *store.List();
  for (const ChunkKey& key : keys) CHECK(*store.Get(key) == value);
}

TEST_CASE("a call survives that the server closed the connection meanwhile, and sends the password again") {
  const auto server = RedisServer::Start();
  if (!server) return;
  server->Do({"CONFIG", "SET", "timeout", "1"});  // seconds of idleness
  server->Do({"CONFIG", "SET", "requirepass", "secret"});
  CheckError(RedisStore::Connect(At(server->port())), ErrorCode::kFailedPrecondition, "PING: NOAUTH");
  RedisOptions options = At(server->port());
  options.password = "wrong";
  CheckError(RedisStore::Connect(options), ErrorCode::kFailedPrecondition, "AUTH: WRONGPASS");
  options.password = "secret";
  const RedisStore store = *RedisStore::Connect(options);
  REQUIRE(store.Put(KeyOf(1), Noise(10)));
  std::this_thread::sleep_for(milliseconds(2500));
  CHECK(*store.Get(KeyOf(1)) == Noise(10));
}

TEST_CASE("what the server refuses is said in its own words") {
  const auto server = RedisServer::Start();
  if (!server) return;
  const RedisStore store = *RedisStore::Connect(At(server->port()));
  server->Do({"LPUSH", "skald:" + KeyOf(1).ToHex(), "a list"});
  CHECK(*store.Has(KeyOf(1)));
  CheckError(store.Get(KeyOf(1)), ErrorCode::kDataLoss, "GET: WRONGTYPE");
  REQUIRE(store.Drop(KeyOf(1)));
  server->Do({"CONFIG", "SET", "maxmemory", "1"});
  CheckError(store.Put(KeyOf(1), Noise(10)), ErrorCode::kResourceExhausted, "SET: OOM");
  server->Do({"CONFIG", "SET", "maxmemory", "0"});
  server->Do({"REPLICAOF", "127.0.0.1", "1"});
  CheckError(store.Put(KeyOf(1), Noise(10)), ErrorCode::kFailedPrecondition, "SET: READONLY");
  server->Do({"REPLICAOF", "NO", "ONE"});
  CHECK(store.Put(KeyOf(1), Noise(10)));
}

TEST_CASE("several threads use one connection") {
  const auto server = RedisServer::Start();
  if (!server) return;
  const RedisStore store = *RedisStore::Connect(At(server->port()));
  std::atomic<int> failures = 0;
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&, thread] {
      for (int i = 0; i < 100; ++i) {
        const int number = (i * 7 + thread) % 50;
        failures += !store.Put(KeyOf(number), Noise(static_cast<size_t>(number) * 300));
        const auto value = store.Get(KeyOf(number));
        failures += !value || *value != Noise(static_cast<size_t>(number) * 300);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(failures == 0);
  CHECK(store.List()->size() == 50);
}

TEST_CASE("a conversation put down in Redis goes on with the same bits, and damage is noticed") {
  const auto server = RedisServer::Start();
  if (!server) return;
  RedisStore store = *RedisStore::Connect(At(server->port()));
  const RandomModel model(SmallModelNamed("hybrid"), 4);
  Workspace workspace = *CreateWorkspace({.threads = 1});
  KVCache cache = NewCache(SmallModelNamed("hybrid"));
  const std::vector<int32_t> tokens = RandomTokens(SmallModelNamed("hybrid"), 8, 100);
  REQUIRE(model.Forward(cache, tokens, workspace));
  const ChunkKey key = *SaveSnapshot(cache, {}, {}, store);
  const auto load = [&] { return LoadSnapshot(store, key, {}, NewPool(SmallModelNamed("hybrid"))); };
  auto snapshot = load();
  REQUIRE(snapshot);
  CHECK(AllLogits(model, snapshot->cache, tokens, 100, workspace) == AllLogits(model, cache, tokens, 100, workspace));

  const std::vector<ChunkKey> keys = *store.List();
  for (const ChunkKey& damaged : keys) {
    const std::string name = "skald:" + damaged.ToHex(), value = server->Do({"GET", name});
    std::string changed = value;
    changed[changed.size() / 2] = static_cast<char>(changed[changed.size() / 2] ^ 1);
    for (const std::string& wrong : {value.substr(0, value.size() - 1), changed, std::string("x"), std::string()}) {
      server->Do({"SET", name, wrong});
      CheckError(load(), ErrorCode::kDataLoss, damaged.ToHex());
    }
    server->Do({"SET", name, value});
  }
  CHECK(load());
}

TEST_CASE("prompts are shared through Redis") {
  const auto server = RedisServer::Start();
  if (!server) return;
  const RandomModel model(SmallModelNamed("all-features"), 6);
  const std::vector<int32_t> prompt = RandomTokens(SmallModelNamed("all-features"), 1, 150);
  std::vector<float> logits;
  for (const bool is_second : {false, true}) {  // two processes, each with memory and a connection of its own
    RedisStore store = *RedisStore::Connect(At(server->port()));
    auto pool = NewPool(SmallModelNamed("all-features"));
    const auto prompts = *PromptCache::Create(pool, {}, {}, {store});
    PromptPrefix prefix = *prompts->Lookup(prompt);
    CHECK(prefix.cache.size() == (is_second ? 150 : 0));
    if (is_second) {
      CHECK(prefix.logits == logits);
      server->Kill();
      const auto miss = prompts->Lookup(RandomTokens(SmallModelNamed("all-features"), 2, 150));
      REQUIRE(miss);
      REQUIRE(miss->store_error);
      CheckError(Result<void>(Failure(*miss->store_error)), ErrorCode::kFailedPrecondition, "Redis server");
      continue;
    }
    Workspace workspace = *CreateWorkspace({.threads = 1});
    const auto computed = model.Forward(prefix.cache, prompt, workspace);
    REQUIRE(computed);
    logits.assign(computed->begin(), computed->end());
    REQUIRE(prompts->Insert(prefix.cache, logits));
  }
}

TEST_CASE("where there is no server, connecting says so in time") {
  int port = 0;
  const internal::Descriptor bound = BindToLoopback(port);  // and does not listen
  CheckError(RedisStore::Connect(At(port)), ErrorCode::kFailedPrecondition,
             "Redis server 127.0.0.1:" + std::to_string(port) + ": cannot connect: ");
  const auto begin = std::chrono::steady_clock::now();
  // An address reserved for documentation (RFC 5737).
  CheckError(RedisStore::Connect({.host = "192.0.2.1", .connect_timeout = milliseconds(200)}),
             ErrorCode::kFailedPrecondition, "Redis server 192.0.2.1:6379: ");
  CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(60));  // the system would try for two minutes
  CheckError(RedisStore::Connect({.host = ""}), ErrorCode::kFailedPrecondition, "cannot connect");
  CheckError(RedisStore::Connect({.port = 0}), ErrorCode::kInvalidArgument, "port is 0, expected 1 to 65535");
  CheckError(RedisStore::Connect({.port = 65536}), ErrorCode::kInvalidArgument, "port is 65536");
  CheckError(RedisStore::Connect({.connect_timeout = milliseconds(0)}), ErrorCode::kInvalidArgument, "is 0 ms");
  CheckError(RedisStore::Connect({.answer_timeout = milliseconds(-1)}), ErrorCode::kInvalidArgument, "is -1 ms");
}

TEST_CASE("whatever else answers at the port is no Redis server") {
  for (const char* answer : {"HTTP/1.1 400 Bad Request\r\n\r\n", ":1\r\n", "$-1\r\n", "*0\r\n"}) {
    CAPTURE(answer);
    const FakeServer server({Answers{answer}});
    CheckError(RedisStore::Connect(At(server.port)), ErrorCode::kDataLoss,
               "PING: the answer does not follow the Redis protocol");
  }
  const FakeServer closes({Answers{}});
  CheckError(RedisStore::Connect(At(closes.port)), ErrorCode::kFailedPrecondition, "PING: ");
  const FakeServer silent({Answers{""}});
  RedisOptions options = At(silent.port);
  options.answer_timeout = milliseconds(50);
  CheckError(RedisStore::Connect(options), ErrorCode::kFailedPrecondition, "PING: silence for 50 ms");
}

TEST_CASE("answers of wrong types are refused, and the next call begins on a new connection") {
  const ChunkKey key = KeyOf(1);
  const auto check = [](const std::string& answer, const std::string& text, auto call) {
    CAPTURE(answer);
    const FakeServer server({Answers{kPong, answer}, Answers{kPong, ":1\r\n"}});
    const RedisStore store = *RedisStore::Connect(At(server.port));
    CheckError(call(store), ErrorCode::kDataLoss, text);
    CHECK(store.Has(KeyOf(1)));
  };
  check("+OK\r\n", "GET: ", [&](const RedisStore& store) { return store.Get(key); });
  check("*1\r\n$1\r\na\r\n", "GET: ", [&](const RedisStore& store) { return store.Get(key); });
  check("?\r\n", "GET: ", [&](const RedisStore& store) { return store.Get(key); });
  check("$1\r\n1\r\n", "EXISTS: ", [&](const RedisStore& store) { return store.Has(key); });
  check(":1\r\n", "SET: ", [&](const RedisStore& store) { return store.Put(key, {}); });
  check("$-1\r\n", "UNLINK: ", [&](const RedisStore& store) { return store.Drop(key); });
  for (const char* page : {":0\r\n", "*0\r\n", "*2\r\n:0\r\n*0\r\n", "*2\r\n$1\r\n0\r\n:0\r\n",
                           "*2\r\n$1\r\n0\r\n*1\r\n:0\r\n", "*2\r\n$-1\r\n*0\r\n", "*2\r\n$1\r\n0\r\n*-1\r\n"}) {
    check(page, "SCAN: ", [](const RedisStore& store) { return store.List(); });
  }
}

TEST_CASE("a connection lost in the middle is replaced once for each call, silence is not waited for twice") {
  const ChunkKey key = KeyOf(1);
  const FakeServer server({Answers{kPong, "$100\r\nfirst"}, Answers{kPong, "$3\r\nabc\r\n"}, Answers{kPong, "$9\r\n"},
                           Answers{kPong, "$9\r\n"}});
  const RedisStore store = *RedisStore::Connect(At(server.port));
  CHECK(store.Get(key)->size() == 3);
  const auto lost = store.Get(key);  // the third connection is lost too
  CheckError(lost, ErrorCode::kFailedPrecondition, "GET: the server closed the connection");
  CheckError(store.Get(key), ErrorCode::kFailedPrecondition, "GET: the server closed the connection");

  const FakeServer silent({Answers{kPong, ""}, Answers{kPong, ":0\r\n"}});
  RedisOptions options = At(silent.port);
  options.answer_timeout = milliseconds(2000);  // of the answers that come too
  const RedisStore patient = *RedisStore::Connect(options);
  CheckError(patient.Get(key), ErrorCode::kFailedPrecondition, "GET: silence for 2000 ms");
  const auto has = patient.Has(key);
  REQUIRE(has);
  CHECK_FALSE(*has);
}

}  // namespace redis_store_test
}  // namespace skald::testing

#endif  // hiredis
