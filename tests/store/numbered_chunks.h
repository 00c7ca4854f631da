// SPDX-License-Identifier: Apache-2.0
//
// Chunks by number, for tests of stores.

#ifndef SKALD_TESTS_STORE_NUMBERED_CHUNKS_H_
#define SKALD_TESTS_STORE_NUMBERED_CHUNKS_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "skald/base/numbers/sha256.h"
#include "skald/store/chunks/chunk_key.h"
#include "skald/store/chunks/chunk_store.h"

namespace skald::testing {

inline ChunkKey KeyOf(uint64_t number) { return ChunkKey{Sha256().Update(std::to_string(number)).Finish().value()}; }

inline ChunkBytes ValueOf(uint64_t number, size_t size) {
  return ChunkBytes(size, static_cast<std::byte>(number * 7 + 1));
}

}  // namespace skald::testing

#endif  // SKALD_TESTS_STORE_NUMBERED_CHUNKS_H_
