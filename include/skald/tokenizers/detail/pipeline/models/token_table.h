// SPDX-License-Identifier: Apache-2.0
//
// The pieces of a vocabulary by id and by text, in flat tables. Immutable once built; safe for concurrent calls.

#ifndef SKALD_TOKENIZERS_DETAIL_PIPELINE_MODELS_TOKEN_TABLE_H_
#define SKALD_TOKENIZERS_DETAIL_PIPELINE_MODELS_TOKEN_TABLE_H_

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace skald::internal {

inline constexpr int32_t kNoToken = -1;

inline uint64_t MixHash(uint64_t a, uint64_t b) {
  uint64_t h = (a ^ 0x9E3779B97F4A7C15u) * 0xBF58476D1CE4E5B9u;
  h = (std::rotl(h, 31) ^ b) * 0x94D049BB133111EBu;
  return h ^ h >> 32;
}

// `Word` is an unsigned number of that many bytes of `text` from `at` on.
template <class Word>
uint64_t LoadWord(std::string_view text, size_t at) {
  Word word;
  std::memcpy(&word, text.data() + at, sizeof word);
  return word;
}

// Texts of less than eight bytes as one number, the first byte lowest.
inline uint64_t ShortTextAsWord(std::string_view text) {
  const size_t size = text.size();
  if (size >= 4) return LoadWord<uint32_t>(text, 0) | LoadWord<uint32_t>(text, size - 4) << 8 * (size - 4);
  if (size >= 2) return LoadWord<uint16_t>(text, 0) | LoadWord<uint16_t>(text, size - 2) << 8 * (size - 2);
  return size == 0 ? 0 : LoadWord<uint8_t>(text, 0);
}

// Fast for texts of a word's length. `readable` is how many bytes may be read from the text's first one on.
inline uint64_t HashText(std::string_view text, size_t readable) {
  const size_t size = text.size();
  if (size < 8) {
    const uint64_t unused = 64 - 8 * size;
    const uint64_t word = size == 0       ? 0
                          : readable >= 8 ? LoadWord<uint64_t>(text, 0) << unused >> unused
                                          : ShortTextAsWord(text);
    return MixHash(word, size);
  }
  uint64_t hash = size;
  for (size_t at = 0; at + 8 < size; at += 8) hash = MixHash(hash, LoadWord<uint64_t>(text, at));
  return MixHash(hash, LoadWord<uint64_t>(text, size - 8));
}
inline uint64_t HashText(std::string_view text) { return HashText(text, text.size()); }

// One text for each id from 0 on, in one block of memory.
class TokenTexts {
 public:
  TokenTexts() = default;

  // `ends` says where in `bytes` each text ends; the next one begins there. They must not decrease or leave `bytes`.
  TokenTexts(std::string bytes, const std::vector<uint32_t>& ends) : bytes_(std::move(bytes)) {
    begins_.insert(begins_.end(), ends.begin(), ends.end());
  }

  size_t size() const { return begins_.size() - 1; }
  size_t bytes() const { return bytes_.size(); }  // of all texts
  std::string_view operator[](int32_t id) const {
    const auto i = static_cast<size_t>(id);
    return {bytes_.data() + begins_[i], begins_[i + 1] - begins_[i]};
  }
  uint64_t HashOf(int32_t id) const {
    const std::string_view text = (*this)[id];
    return HashText(text, static_cast<size_t>(bytes_.data() + bytes_.size() - text.data()));
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

// Ids by text. Ids whose texts have hashes of the same highest bits, a bucket, lie side by side, as counting the
// buckets first makes it: a fraction of the time of a table that is filled one by one. The texts themselves lie in a
// TokenTexts.
class TextIndex {
 public:
  TextIndex() = default;

  // Knows the ids for which has(id) is true. Of equal texts the first counts.
  template <class Has>
  TextIndex(const TokenTexts& texts, Has has) {
    std::vector<Entry> entries;
    entries.reserve(texts.size());
    for (int32_t id = 0; static_cast<size_t>(id) < texts.size(); ++id) {
      if (has(id)) entries.push_back({Tag(texts.HashOf(id)), id});
    }
    const int bits = std::max(1, static_cast<int>(std::bit_width(entries.size())));  // about as many buckets as texts
    shift_ = 32 - bits;
    begins_.assign((size_t{1} << bits) + 1, 0);
    for (const Entry& entry : entries) ++begins_[BucketOf(entry.tag) + 1];
    std::partial_sum(begins_.begin(), begins_.end(), begins_.begin());
    entries_.resize(entries.size());
    for (const Entry& entry : entries) Place(entry, texts);
  }

  int32_t Find(std::string_view text, const TokenTexts& texts) const {
    const uint32_t tag = Tag(HashText(text)), bucket = BucketOf(tag);
    for (uint32_t i = begins_[bucket]; i < begins_[bucket + 1]; ++i) {
      if (entries_[i].id == kNoToken) break;
      if (entries_[i].tag == tag && texts[entries_[i].id] == text) return entries_[i].id;
    }
    return kNoToken;
  }

 private:
  struct Entry {
    uint32_t tag = 0;
    int32_t id = kNoToken;
  };
  static uint32_t Tag(uint64_t hash) { return static_cast<uint32_t>(hash >> 32); }
  uint32_t BucketOf(uint32_t tag) const { return tag >> shift_; }

  // Puts an entry after those of its bucket, if its text is not among them.
  void Place(const Entry& entry, const TokenTexts& texts) {
    for (uint32_t i = begins_[BucketOf(entry.tag)];; ++i) {
      if (entries_[i].id == kNoToken) {
        entries_[i] = entry;
        return;
      }
      if (entries_[i].tag == entry.tag && texts[entries_[i].id] == texts[entry.id]) return;
    }
  }

  int shift_ = 31;
  std::vector<uint32_t> begins_ = {0, 0, 0};  // of each bucket in the entries, and the end of the last
  std::vector<Entry> entries_;                // a bucket's own first; what equal texts left is free
};

}  // namespace skald::internal

#endif  // SKALD_TOKENIZERS_DETAIL_PIPELINE_MODELS_TOKEN_TABLE_H_
