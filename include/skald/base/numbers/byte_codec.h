// SPDX-License-Identifier: Apache-2.0
//
// Writes and reads plain data as little-endian bytes. The reader checks everything: it never reads past its end, and no
// length makes it allocate more than the remaining bytes could fill.

#ifndef SKALD_BASE_NUMBERS_BYTE_CODEC_H_
#define SKALD_BASE_NUMBERS_BYTE_CODEC_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <type_traits>
#include <vector>

namespace skald {

/// Plain data as bytes, in the order of the calls. Calls throw std::bad_alloc.
class ByteWriter {
 public:
  /// Appends the bytes of a trivially copyable value.
  template <class T>
  void Put(const T& value) {
    static_assert(std::is_trivially_copyable_v<T>);
    Append(std::as_bytes(std::span(&value, 1)));
  }

  /// A length as 64 bits, then the elements.
  template <class T>
  void PutList(std::span<const T> values) {
    static_assert(std::is_trivially_copyable_v<T>);
    Put(uint64_t{values.size()});
    Append(std::as_bytes(values));
  }

  /// Valid until the next call.
  const std::vector<std::byte>& bytes() const { return bytes_; }

 private:
  void Append(std::span<const std::byte> bytes) { bytes_.insert(bytes_.end(), bytes.begin(), bytes.end()); }

  std::vector<std::byte> bytes_;
};

/// After a failed read all later ones fail too, and return zeros or empty values; check ok() at the end.
class ByteReader {
 public:
  /// Reads `bytes`, which must outlive this.
  explicit ByteReader(std::span<const std::byte> bytes) : rest_(bytes) {}

  /// Whether all reads so far succeeded.
  bool ok() const { return ok_; }
  /// True when everything was read and nothing is left.
  bool Finished() const { return ok_ && rest_.empty(); }

  /// Reads a value as Put wrote it.
  template <class T>
  T Get() {
    static_assert(std::is_trivially_copyable_v<T>);
    T value{};
    if (Take(sizeof(T))) std::memcpy(&value, taken_, sizeof(T));
    return value;
  }

  /// Reads a list as PutList wrote it. Throws std::bad_alloc.
  template <class T>
  std::vector<T> GetList() {
    return GetElements<T>(GetCount(sizeof(T)));
  }

  /// A view of a list of characters, in place.
  std::string_view GetText();

  /// Reads the elements of a list whose length was read and checked before.
  template <class T>
  std::vector<T> GetElements(size_t count) {
    static_assert(std::is_trivially_copyable_v<T>);
    if (count > rest_.size() / sizeof(T)) ok_ = false;
    if (!ok_ || !Take(count * sizeof(T))) return {};
    std::vector<T> values(count);
    if (!values.empty()) std::memcpy(values.data(), taken_, values.size() * sizeof(T));
    return values;
  }

  /// Reads a number of elements that follow, each of at least `min_bytes`; fails if the remaining bytes cannot hold so
  /// many.
  size_t GetCount(size_t min_bytes);

 private:
  bool Take(size_t bytes);

  std::span<const std::byte> rest_;
  const std::byte* taken_ = nullptr;
  bool ok_ = true;
};

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/base/numbers/detail/byte_codec.h"
#endif

#endif  // SKALD_BASE_NUMBERS_BYTE_CODEC_H_
