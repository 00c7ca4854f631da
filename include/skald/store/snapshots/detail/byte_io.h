// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/store/snapshots/byte_io.h.

#ifndef SKALD_STORE_SNAPSHOTS_DETAIL_BYTE_IO_H_
#define SKALD_STORE_SNAPSHOTS_DETAIL_BYTE_IO_H_

#include "skald/store/snapshots/byte_io.h"

#include <cstring>
#include <string>

#include "skald/base/inline.h"
#include "skald/base/no_throw.h"

namespace skald {

SKALD_INLINE Result<void> BufferSink::Write(std::span<const std::byte> bytes) {
  SKALD_ASSIGN(const auto room, Reserve(bytes.size()));
  if (!bytes.empty()) std::memcpy(room.data(), bytes.data(), bytes.size());
  return {};
}

SKALD_INLINE Result<std::span<std::byte>> BufferSink::Reserve(uint64_t count) {
  if (count > rest_.size()) {
    return NoThrow("the buffer", [&]() -> Result<std::span<std::byte>> {
      return Fail(ErrorCode::kResourceExhausted, "the buffer has room for " + std::to_string(rest_.size()) +
                                                     " more bytes, expected at least " + std::to_string(count));
    });
  }
  const auto reserved = rest_.first(static_cast<size_t>(count));
  rest_ = rest_.subspan(reserved.size());
  return reserved;
}

SKALD_INLINE Result<void> CountingSink::Write(std::span<const std::byte> bytes) {
  bytes_ += bytes.size();
  return {};
}

SKALD_INLINE Result<void> BufferSource::Read(std::span<std::byte> bytes) {
  SKALD_ASSIGN(const auto taken, Take(bytes.size()));
  if (!bytes.empty()) std::memcpy(bytes.data(), taken.data(), bytes.size());
  return {};
}

SKALD_INLINE Result<std::span<const std::byte>> BufferSource::Take(uint64_t count) {
  if (count > rest_.size()) {
    return NoThrow("the bytes", [&]() -> Result<std::span<const std::byte>> {
      return Fail(ErrorCode::kDataLoss, "the bytes end where " + std::to_string(count) +
                                            " more are expected; there are " + std::to_string(rest_.size()));
    });
  }
  const auto taken = rest_.first(static_cast<size_t>(count));
  rest_ = rest_.subspan(taken.size());
  return taken;
}

}  // namespace skald

#endif  // SKALD_STORE_SNAPSHOTS_DETAIL_BYTE_IO_H_
