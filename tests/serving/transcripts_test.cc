// SPDX-License-Identifier: Apache-2.0
//
// Transcripts: which chats are found again, and what a look-up may cost.

#include "skald/serving/transcripts.h"

#include <chrono>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "doctest/doctest.h"
#include "skald/base/json/json_value_tree.h"
#include "skald/base/result.h"
#include "skald/store/backends/memory_store.h"

namespace skald::testing {
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

// Messages of a user and of the model in turns.
JsonValue Messages(size_t count, size_t bytes = 4) {
  Json messages = Json::array();
  for (size_t i = 0; i < count; ++i) {
    messages.push_back({{"role", i % 2 == 0 ? "user" : "assistant"}, {"content", std::string(bytes, 'a' + i % 26)}});
  }
  return JsonValueOf(std::move(messages));
}

JsonValue With(JsonValue messages, size_t index, const char* name, const Json& value) {
  TreeOf(messages)[index][name] = value;
  return messages;
}

TEST_CASE("the longest beginning that is known is found, for its salt alone") {
  Transcripts transcripts({}, {}, nullptr);
  const JsonValue messages = Messages(7);
  transcripts.Remember(Messages(2), "ada", std::vector<int32_t>{1, 2});
  transcripts.Remember(Messages(4), "ada", std::vector<int32_t>{1, 2, 3, 4});
  CHECK(transcripts.Recall(messages, "ada") == std::vector<int32_t>{1, 2, 3, 4});
  CHECK(transcripts.Recall(Messages(3), "ada") == std::vector<int32_t>{1, 2});
  CHECK(transcripts.Recall(Messages(1), "ada").empty());
  CHECK(transcripts.Recall(messages, "bob").empty());
  CHECK(transcripts.Recall(JsonValue::Array(), "ada").empty());
  CHECK(transcripts.Recall(With(messages, 0, "content", "else"), "ada").empty());
  CHECK(transcripts.Recall(With(messages, 2, "content", "else"), "ada") == std::vector<int32_t>{1, 2});
}

TEST_CASE("of a message the parts count that clients send back") {
  Transcripts transcripts({}, {}, nullptr);
  const Json call = {{"id", "call_1"}, {"function", {{"name", "look"}, {"arguments", {{"at", "sky"}}}}}};
  const JsonValue answer = With(Messages(2), 1, "tool_calls", Json::array({call}));
  transcripts.Remember(answer, "", std::vector<int32_t>{7});
  CHECK(transcripts.Recall(With(answer, 1, "reasoning_content", "a thought"), "") == std::vector<int32_t>{7});
  Json other = call;
  other["id"] = "call_2";
  CHECK(transcripts.Recall(With(answer, 1, "tool_calls", Json::array({other})), "") == std::vector<int32_t>{7});
  other["function"]["arguments"]["at"] = "sea";
  CHECK(transcripts.Recall(With(answer, 1, "tool_calls", Json::array({other})), "").empty());
  CHECK(transcripts.Recall(Messages(2), "").empty());
}

TEST_CASE("what is no list of messages is remembered as nothing, or as what it is") {
  Transcripts transcripts({}, {}, nullptr);
  for (const char* const text : {"null", "7", "{}", R"({"role": "assistant"})", "[]", "[7]", R"([["assistant"]])"}) {
    const JsonValue value = JsonValue::Parse(text).value();
    transcripts.Remember(value, "", std::vector<int32_t>{1});
    CHECK(transcripts.Recall(value, "").empty());
  }
  const JsonValue odd = JsonValue::Parse(R"([{"role": "assistant", "content": null, "tool_calls": [7, {}]}])").value();
  transcripts.Remember(odd, "", std::vector<int32_t>{1});
  CHECK(transcripts.Recall(odd, "") == std::vector<int32_t>{1});
}

TEST_CASE("a chat is forgotten beyond the messages that are kept, in memory and in stores") {
  MemoryStore memory(1 << 20);
  auto writer = BackgroundQueue::Start();
  REQUIRE(writer);
  Transcripts transcripts({}, {ChunkStoreRef(memory)}, writer->get());
  transcripts.Remember(Messages(2), "", std::vector<int32_t>{1});
  transcripts.Remember(Messages(4), "", std::vector<int32_t>{2});
  transcripts.Forget(Messages(4), 2, "");
  CHECK((*writer)->WaitUntilDone(std::chrono::seconds(60)));
  CHECK(memory.List()->size() == 1);
  CHECK(transcripts.Recall(Messages(4), "") == std::vector<int32_t>{1});
  Transcripts others({}, {ChunkStoreRef(memory)}, writer->get());
  CHECK(others.Recall(Messages(4), "") == std::vector<int32_t>{1});
}

TEST_CASE("recalling costs one pass over the messages") {
  Transcripts transcripts({}, {}, nullptr);
  const JsonValue messages = Messages(400, 1000);
  CHECK(transcripts.Recall(messages, "").empty());
  CHECK(transcripts.hashed_bytes() >= 400 * 1000);
  CHECK(transcripts.hashed_bytes() < 400 * 1100);
  transcripts.Remember(Messages(2, 1000), "", std::vector<int32_t>{5});
  CHECK(transcripts.Recall(messages, "") == std::vector<int32_t>{5});
}

TEST_CASE("a store is asked for the last few answers alone") {
  MemoryStore memory(1 << 20);
  CountingStore store{memory};
  Transcripts transcripts({}, {ChunkStoreRef(store)}, nullptr);
  CHECK(transcripts.Recall(Messages(2000), "").empty());
  CHECK(store.gets == 8);
}

}  // namespace transcripts_test
}  // namespace skald::testing
