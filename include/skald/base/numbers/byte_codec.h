// SPDX-License-Identifier: Apache-2.0
//
// Writes and reads plain data as little-endian bytes. The reader trusts nothing: it never reads past its end, and no
// length that it reads makes it allocate more than the bytes that are there could fill.

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

class ByteWriter {
 public:
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

  const std::vector<std::byte>& bytes() const { return bytes_; }

 private:
  void Append(std::span<const std::byte> bytes) { bytes_.insert(bytes_.end(), bytes.begin(), bytes.end()); }

  std::vector<std::byte> bytes_;
};

/// Once a read fails all later ones do, and return zeros or nothing; ask ok() at the end.
class ByteReader {
 public:
  explicit ByteReader(std::span<const std::byte> bytes) : rest_(bytes) {}

  bool ok() const { return ok_; }
  /// True when everything was read and nothing is left.
  bool Finished() const { return ok_ && rest_.empty(); }

  template <class T>
  T Get() {
    static_assert(std::is_trivially_copyable_v<T>);
    T value{};
    if (Take(sizeof(T))) std::memcpy(&value, taken_, sizeof(T));
    return value;
  }

  template <class T>
  std::vector<T> GetList() {
    return GetElements<T>(GetCount(sizeof(T)));
  }

  /// A list of characters, where it lies.
  std::string_view GetText();

  /// The elements of a list whose length was read and looked at before.
  template <class T>
  std::vector<T> GetElements(size_t count) {
    static_assert(std::is_trivially_copyable_v<T>);
    if (count > rest_.size() / sizeof(T)) ok_ = false;
    if (!ok_ || !Take(count * sizeof(T))) return {};
    std::vector<T> values(count);
    if (!values.empty()) std::memcpy(values.data(), taken_, values.size() * sizeof(T));
    return values;
  }

  /// A number of things that follow, each of which takes at least `min_bytes`; more than could be there is a failure.
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
