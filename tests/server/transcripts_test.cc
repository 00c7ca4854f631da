// SPDX-License-Identifier: Apache-2.0

#include "server/service/transcripts.h"

#include <span>
#include <string>
#include <vector>

#include "doctest/doctest.h"
#include "skald/base/result.h"
#include "skald/store/backends/memory_store.h"

namespace skald::serve {
namespace transcripts_test {

using Json = nlohmann::ordered_json;

// Counts look-ups.
struct CountingStore {
  MemoryStore& store;
  size_t gets = 0;

  Result<bool> Has(const ChunkKey& key) { return store.Has(key); }
  Result<ChunkBytes> Get(const ChunkKey& key) {
    ++gets;
    return store.Get(key);
  }
  Result<void> Put(const ChunkKey& key, std::span<const std::byte> value) { return store.Put(key, value); }
  Result<void> Drop(const ChunkKey& key) { return store.Drop(key); }
  Result<std::vector<ChunkKey>> List() { return store.List(); }
};

Json Messages(size_t count, size_t bytes = 4) {
  Json messages = Json::array();
  for (size_t i = 0; i < count; ++i) {
    messages.push_back({{"role", i % 2 == 0 ? "user" : "assistant"}, {"content", std::string(bytes, 'a' + i % 26)}});
  }
  return messages;
}

Json First(const Json& messages, size_t count) {
  return Json(messages.begin(), messages.begin() + static_cast<std::ptrdiff_t>(count));
}

TEST_CASE("the longest beginning that is known is found, for its tenant alone") {
  Transcripts transcripts({}, {}, nullptr);
  const Json messages = Messages(7);
  transcripts.Remember(First(messages, 2), "ada", std::vector<int32_t>{1, 2});
  transcripts.Remember(First(messages, 4), "ada", std::vector<int32_t>{1, 2, 3, 4});
  CHECK(transcripts.Recall(messages, "ada") == std::vector<int32_t>{1, 2, 3, 4});
  CHECK(transcripts.Recall(First(messages, 3), "ada") == std::vector<int32_t>{1, 2});
  CHECK(transcripts.Recall(First(messages, 1), "ada").empty());
  CHECK(transcripts.Recall(messages, "bob").empty());
  CHECK(transcripts.Recall(Json::array(), "ada").empty());
  Json changed = messages;
  changed[0]["content"] = "else";
  CHECK(transcripts.Recall(changed, "ada").empty());
  changed = messages;
  changed[2]["content"] = "else";
  CHECK(transcripts.Recall(changed, "ada") == std::vector<int32_t>{1, 2});
}

TEST_CASE("recalling costs one pass over the messages") {
  Transcripts transcripts({}, {}, nullptr);
  const Json messages = Messages(400, 1000);
  CHECK(transcripts.Recall(messages, "").empty());
  CHECK(transcripts.hashed_bytes() >= 400 * 1000);
  CHECK(transcripts.hashed_bytes() < 400 * 1100);
  transcripts.Remember(First(messages, 2), "", std::vector<int32_t>{5});
  CHECK(transcripts.Recall(messages, "") == std::vector<int32_t>{5});
}

TEST_CASE("a store is asked for the last few answers alone") {
  MemoryStore memory(1 << 20);
  CountingStore store{memory};
  Transcripts transcripts({}, {ChunkStoreRef(store)}, nullptr);
  const Json messages = Messages(2000);
  CHECK(transcripts.Recall(messages, "").empty());
  CHECK(store.gets == 8);
}

}  // namespace transcripts_test
}  // namespace skald::serve
