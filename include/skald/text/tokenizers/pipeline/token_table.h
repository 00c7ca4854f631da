// SPDX-License-Identifier: Apache-2.0
//
// The pieces of a vocabulary by id and by text, in flat tables. Immutable once built; safe for concurrent calls.

#ifndef SKALD_TEXT_TOKENIZERS_PIPELINE_TOKEN_TABLE_H_
#define SKALD_TEXT_TOKENIZERS_PIPELINE_TOKEN_TABLE_H_

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace skald::internal {

inline constexpr int32_t kNoToken = -1;

// One text for each id from 0 on, in one block of memory.
class TokenTexts {
 public:
  size_t size() const { return begins_.size() - 1; }
  std::string_view operator[](int32_t id) const {
    const auto i = static_cast<size_t>(id);
    return {bytes_.data() + begins_[i], begins_[i + 1] - begins_[i]};
  }
  void Add(std::string_view text) {
    bytes_ += text;
    begins_.push_back(static_cast<uint32_t>(bytes_.size()));
  }
  void Reserve(size_t texts, size_t bytes) {
    begins_.reserve(texts + 1);
    bytes_.reserve(bytes);
  }

 private:
  std::string bytes_;
  std::vector<uint32_t> begins_ = {0};
};

inline uint64_t MixHash(uint64_t a, uint64_t b) {
  uint64_t h = (a ^ 0x9E3779B97F4A7C15u) * 0xBF58476D1CE4E5B9u;
  h = (std::rotl(h, 31) ^ b) * 0x94D049BB133111EBu;
  return h ^ h >> 32;
}

// Fast for texts of a word's length.
inline uint64_t HashText(std::string_view text) {
  const auto load = [&text](size_t at, size_t bytes) {
    uint64_t word = 0;
    std::memcpy(&word, text.data() + at, bytes);
    return word;
  };
  const size_t size = text.size();
  if (size >= 8) {
    uint64_t hash = size;
    for (size_t at = 0; at + 8 < size; at += 8) hash = MixHash(hash, load(at, 8));
    return MixHash(hash, load(size - 8, 8));
  }
  if (size >= 4) return MixHash(load(0, 4) << 32 | load(size - 4, 4), size);
  uint64_t word = 0;
  for (const char c : text) word = word << 8 | static_cast<unsigned char>(c);
  return MixHash(word, size);
}

// Ids by text: open addressing, at most half full. The texts themselves lie in a TokenTexts.
class TextIndex {
 public:
  explicit TextIndex(size_t texts = 0) : slots_(std::bit_ceil(2 * texts + 2)) {}

  int32_t Find(std::string_view text, const TokenTexts& texts) const {
    const uint64_t hash = HashText(text);
    for (size_t i = hash;; ++i) {
      const Slot& slot = slots_[i & (slots_.size() - 1)];
      if (slot.id == kNoToken) return kNoToken;
      if (slot.tag == Tag(hash) && texts[slot.id] == text) return slot.id;
    }
  }

  // Adds texts[id]. If it is there already under another id, returns that one and changes nothing.
  int32_t Insert(int32_t id, const TokenTexts& texts) {
    const uint64_t hash = HashText(texts[id]);
    for (size_t i = hash;; ++i) {
      Slot& slot = slots_[i & (slots_.size() - 1)];
      if (slot.id == kNoToken) {
        slot = {Tag(hash), id};
        return id;
      }
      if (slot.tag == Tag(hash) && texts[slot.id] == texts[id]) return slot.id;
    }
  }

 private:
  struct Slot {
    uint32_t tag = 0;
    int32_t id = kNoToken;
  };
  static uint32_t Tag(uint64_t hash) { return static_cast<uint32_t>(hash >> 32); }

  std::vector<Slot> slots_;  // a power of two of them
};

}  // namespace skald::internal

#endif  // SKALD_TEXT_TOKENIZERS_PIPELINE_TOKEN_TABLE_H_
