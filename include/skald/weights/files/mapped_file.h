// SPDX-License-Identifier: Apache-2.0
//
// A file mapped read-only into memory, so that a checkpoint is read once, in order, directly from the page cache. Or
// read into memory, for files that untrusted processes can write to. A mapped file must keep its size and its bytes:
// POSIX systems end a process that touches pages which another program has cut off; Windows keeps programs from that.

#ifndef SKALD_WEIGHTS_FILES_MAPPED_FILE_H_
#define SKALD_WEIGHTS_FILES_MAPPED_FILE_H_

#include <cstddef>
#include <filesystem>
#include <span>

#include "skald/base/files/file_facts.h"
#include "skald/base/result.h"

namespace skald {

/// Owns the mapping. Move-only; the bytes do not move with it. Safe for concurrent reads.
class MappedFile {
 public:
  /// The intended use of the bytes; tells the system which pages to keep in memory.
  enum class Use {
    kReadOnce,  ///< from front to back
    kKeep,      ///< again and again, soon all of it
    kParts,     ///< again and again, only the parts that WillRead names
    kCopy,      ///< all of it, read into memory: later changes of the file have no effect
  };

  /// Maps the regular file at `path`; never blocks on a pipe. Errors name the path and the system's reason.
  static Result<MappedFile> Open(const std::filesystem::path& path, Use use = Use::kReadOnce);

  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  ~MappedFile();

  /// The whole file, or its part; valid as long as this.
  std::span<const std::byte> bytes() const { return {static_cast<const std::byte*>(data_), size_}; }

  /// Asks the system to fetch these bytes. Only a hint; errors are ignored.
  void WillRead(std::span<const std::byte> part) const;

  /// Tells the system that the bytes are read once, from front to back.
  void WillReadOnce() const;

  /// Asks the system to release the pages of a mapped file that were read; they are loaded again when needed. Has no
  /// effect on a copy.
  void LetGo() const;

  /// The facts of the file when it was opened.
  const FileFacts& facts() const { return facts_; }

  /// Whether only this user and the system's administrator could write to it then.
  bool is_trusted() const { return is_trusted_; }

 private:
  MappedFile(void* data, size_t size, const FileFacts& facts, bool is_trusted, bool is_copy)
      : data_(data), size_(size), facts_(facts), is_trusted_(is_trusted), is_copy_(is_copy) {}

  static Result<MappedFile> OpenRegular(const std::filesystem::path& path, Use use);

  void* data_;
  size_t size_;
  FileFacts facts_;
  bool is_trusted_;
  bool is_copy_;
};

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/weights/files/detail/mapped_file.h"
#endif

#endif  // SKALD_WEIGHTS_FILES_MAPPED_FILE_H_
