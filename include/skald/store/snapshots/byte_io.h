// SPDX-License-Identifier: Apache-2.0
//
// Sinks and sources of bytes. A snapshot can be written to or read from any of them; those in memory are here, files
// and sockets in base/files/fd_io.h.

#ifndef SKALD_STORE_SNAPSHOTS_BYTE_IO_H_
#define SKALD_STORE_SNAPSHOTS_BYTE_IO_H_

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "skald/base/result.h"

namespace skald {

/// Write takes all of `bytes` or fails.
template <class S>
concept ByteSink = requires(S& sink, std::span<const std::byte> bytes) {
  { sink.Write(bytes) } -> std::same_as<Result<void>>;
};

/// Read fills all of `bytes` or fails, with kDataLoss if the source ends before.
template <class S>
concept ByteSource = requires(S& source, std::span<std::byte> bytes) {
  { source.Read(bytes) } -> std::same_as<Result<void>>;
};

/// A sink or source without its type, so that code that uses it is compiled once; the original must outlive it.
class ByteSinkRef {
 public:
  /// Refers to `sink`, which must outlive all copies of this.
  template <ByteSink S>
  requires(!std::same_as<S, ByteSinkRef>) ByteSinkRef(S& sink)  // NOLINT: a reference like any other
      : sink_(std::addressof(sink)),
        write_([](void* s, std::span<const std::byte> bytes) { return static_cast<S*>(s)->Write(bytes); }) {}

  Result<void> Write(std::span<const std::byte> bytes) const { return write_(sink_, bytes); }

 private:
  void* sink_;
  Result<void> (*write_)(void*, std::span<const std::byte>);
};

/// A ByteSource without its type, as ByteSinkRef.
class ByteSourceRef {
 public:
  /// Refers to `source`, which must outlive all copies of this.
  template <ByteSource S>
  requires(!std::same_as<S, ByteSourceRef>) ByteSourceRef(S& source)  // NOLINT
      : source_(std::addressof(source)),
        read_([](void* s, std::span<std::byte> bytes) { return static_cast<S*>(s)->Read(bytes); }) {}

  Result<void> Read(std::span<std::byte> bytes) const { return read_(source_, bytes); }

 private:
  void* source_;
  Result<void> (*read_)(void*, std::span<std::byte>);
};

/// A caller's buffer, filled from its front. Error: kResourceExhausted if it is too small.
class BufferSink {
 public:
  /// Writes to `buffer`, which must outlive this.
  explicit BufferSink(std::span<std::byte> buffer) : rest_(buffer) {}

  Result<void> Write(std::span<const std::byte> bytes);

  /// Returns the next `count` bytes of the buffer, for the caller to fill.
  Result<std::span<std::byte>> Reserve(uint64_t count);

 private:
  std::span<std::byte> rest_;
};

/// Counts the bytes and keeps none.
class CountingSink {
 public:
  Result<void> Write(std::span<const std::byte> bytes);
  /// Bytes that were written so far.
  uint64_t bytes() const { return bytes_; }

 private:
  uint64_t bytes_ = 0;
};

/// Bytes in memory, read from their front.
class BufferSource {
 public:
  /// Reads `bytes`, which must outlive this.
  explicit BufferSource(std::span<const std::byte> bytes) : rest_(bytes) {}

  Result<void> Read(std::span<std::byte> bytes);

  /// A view of the next bytes, if a copy is not needed. Errors as Read.
  Result<std::span<const std::byte>> Take(uint64_t count);

 private:
  std::span<const std::byte> rest_;
};

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/store/snapshots/detail/byte_io.h"
#endif

#endif  // SKALD_STORE_SNAPSHOTS_BYTE_IO_H_
