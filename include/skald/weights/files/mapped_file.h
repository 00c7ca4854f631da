// SPDX-License-Identifier: Apache-2.0
//
// A file mapped read-only into memory, so that a checkpoint is read once, in order, straight from the page cache; or
// read into memory, for those who do not trust whoever else can write to it. POSIX only. A file that is mapped must
// keep its size and its bytes: the system ends a process that touches pages which another program has cut off.

#ifndef SKALD_WEIGHTS_FILES_MAPPED_FILE_H_
#define SKALD_WEIGHTS_FILES_MAPPED_FILE_H_

#include <sys/mman.h>
#include <sys/stat.h>

#include <cstddef>
#include <filesystem>
#include <span>

#include "skald/base/result.h"

namespace skald {

/// Owns the mapping. Move-only; the bytes do not move with it. Safe for concurrent reads.
class MappedFile {
 public:
  // What the bytes will be used for; tells the system which pages to keep at hand.
  enum class Use {
    kReadOnce,  ///< from front to back
    kKeep,      ///< again and again, soon all of it
    kParts,     ///< again and again, those that WillRead names
    kCopy,      ///< all of it, but read into memory: what happens to the file later does not matter
  };

  /// Maps the regular file at `path`; never waits for whoever writes to a pipe. Errors name the path and the system's
  /// reason.
  static Result<MappedFile> Open(const std::filesystem::path& path, Use use = Use::kReadOnce);

  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  ~MappedFile();

  std::span<const std::byte> bytes() const { return {static_cast<const std::byte*>(data_), size_}; }

  /// Has the system fetch these of the bytes. Only advice: what it answers changes nothing but speed.
  void WillRead(std::span<const std::byte> part) const;

  /// Has the system take back the pages of a mapped file that were read; they come again when they are needed. A copy
  /// stays: it is nowhere else.
  void LetGo() const;

  /// What the system said of the file when it was opened.
  const struct stat& status() const { return status_; }

  /// Whether nobody but ourselves and root could write to it then.
  bool is_trusted() const { return is_trusted_; }

 private:
  MappedFile(void* data, size_t size, const struct stat& status, bool is_trusted, bool is_copy)
      : data_(data), size_(size), status_(status), is_trusted_(is_trusted), is_copy_(is_copy) {}

  static Result<MappedFile> OpenRegular(const std::filesystem::path& path, Use use);

  static Failure FailWithErrno(const std::filesystem::path& path, const char* what);

  void* data_;
  size_t size_;
  struct stat status_;
  bool is_trusted_;
  bool is_copy_;
};

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/weights/files/detail/mapped_file.h"
#endif

#endif  // SKALD_WEIGHTS_FILES_MAPPED_FILE_H_
