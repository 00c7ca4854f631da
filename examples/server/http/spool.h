// SPDX-License-Identifier: Apache-2.0
//
// Spool: where bodies lie that are too large for memory, on their way in or out: files without a name, which go with
// their owner, however that ends.

#ifndef SKALD_EXAMPLES_SERVER_HTTP_SPOOL_H_
#define SKALD_EXAMPLES_SERVER_HTTP_SPOOL_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <utility>

#include "skald/base/result.h"

namespace skald::serve {

class SpooledFile;

// Safe for concurrent calls; must outlive its files.
class Spool {
 public:
  // Files lie in `folder`, and have `most_bytes` together. An empty folder: that of the system for temporary files.
  Spool(std::filesystem::path folder, uint64_t most_bytes) : folder_(std::move(folder)), most_(most_bytes) {}

  // A file that is empty, and that no other process can open. Errors: the folder's; no descriptor is left.
  Result<std::shared_ptr<SpooledFile>> Create();

  uint64_t most_bytes() const { return most_; }

 private:
  friend class SpooledFile;

  bool Take(uint64_t bytes);

  const std::filesystem::path folder_;
  const uint64_t most_;
  std::atomic<uint64_t> used_ = 0;
};

// Written from front to end, then read from any place. A ByteSink. Used by one thread at a time.
class SpooledFile {
 public:
  // Takes over an open descriptor.
  SpooledFile(Spool& spool, int descriptor) : spool_(spool), descriptor_(descriptor) {}
  ~SpooledFile();
  SpooledFile(const SpooledFile&) = delete;
  SpooledFile& operator=(const SpooledFile&) = delete;

  // Errors: kResourceExhausted if the spool or the disk is full.
  Result<void> Write(std::span<const std::byte> bytes);

  uint64_t size() const { return size_; }

  // Reads exactly `bytes` from `place` on. Errors: kDataLoss if the file ends before; the system's.
  Result<void> ReadAt(uint64_t place, std::span<std::byte> bytes) const;

 private:
  Spool& spool_;
  const int descriptor_;
  uint64_t size_ = 0;
};

// A ByteSource from a file's front.
class SpoolReader {
 public:
  explicit SpoolReader(const SpooledFile& file) : file_(file) {}

  Result<void> Read(std::span<std::byte> bytes) {
    auto read = file_.ReadAt(place_, bytes);
    if (read) place_ += bytes.size();
    return read;
  }

 private:
  const SpooledFile& file_;
  uint64_t place_ = 0;
};

}  // namespace skald::serve

#endif  // SKALD_EXAMPLES_SERVER_HTTP_SPOOL_H_
