// SPDX-License-Identifier: Apache-2.0

#include "skald/store/chunk_codec.h"

#include "doctest/doctest.h"
#include "skald/store/memory_store.h"
#include "skald/store/sha256.h"

namespace skald::testing {
namespace {

TEST_CASE("round trip") {
  ChunkKey key{*Sha256().Update("hello").Finish()};
  CHECK(key.ToHex() == "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824");
  ChunkBytes content(100000);
  for (size_t i = 0; i < content.size(); ++i) content[i] = std::byte(i % 2 ? 0x3F : (i * 2654435761u) >> 13);
  for (auto codec : {ChunkCodec::kNone, ChunkCodec::kSplitZstd}) {
    auto chunk = EncodeChunk(key, {.element = ChunkElement::kBF16, .codec = codec}, content);
    REQUIRE(chunk);
    MESSAGE(chunk->size());
    auto back = DecodeChunk(key, *chunk);
    REQUIRE(back);
    CHECK(back->content == content);
    MemoryStore store(1000000);
    ChunkStoreRef ref(store);
    CHECK(ref.Put(key, *chunk));
    CHECK(*ref.Get(key) == *chunk);
  }
}

}  // namespace
}  // namespace skald::testing
