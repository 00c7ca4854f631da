// SPDX-License-Identifier: Apache-2.0
//
// Packed files: weights as kernels read them, written once and mapped into memory from then on. Opening one reads a
// table of a few kilobytes; the parameters are shared, through the page cache, by all processes that map the file.

#ifndef SKALD_WEIGHTS_PACKED_FILES_PACKED_FILE_H_
#define SKALD_WEIGHTS_PACKED_FILES_PACKED_FILE_H_

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string_view>
#include <utility>

#include "skald/base/result.h"
#include "skald/weights/files/mapped_file.h"
#include "skald/weights/packed_files/packed_format.h"
#include "skald/weights/parameters.h"

namespace skald {

/// Immutable, safe for concurrent use. A file that is mapped must not be written to while it is open; WritePackedFile
/// puts a new one in its place instead.
class PackedFile {
 public:
  // Whether the file at `path` begins as packed files do.
  static bool Recognises(const std::filesystem::path& path) noexcept;

  /// Maps the file, or reads it with Use::kCopy, and checks header and table: which model it is of, and that it is as
  /// long as it should be. The rest is compared with its checksums only by Attachment and Verify. Errors: those of
  /// MappedFile and ParsePacked.
  static Result<std::shared_ptr<const PackedFile>> Open(const std::filesystem::path& path,
                                                        MappedFile::Use use = MappedFile::Use::kKeep);

  const PackedTable& table() const { return table_; }
  const std::filesystem::path& path() const { return path_; }

  /// Of the file when it was opened: see MappedFile.
  const struct stat& status() const { return map_.status(); }
  bool is_trusted() const { return map_.is_trusted(); }

  /// Which is another one whenever anything in the header or the table is.
  uint64_t header_checksum() const;

  std::span<const std::byte> BytesOf(const PackedRange& range) const;

  /// Tells the system that these of the file's bytes are wanted soon.
  void WillRead(std::span<const std::byte> bytes) const { map_.WillRead(bytes); }
  /// Tells it that the bytes that were read need not count as this process's memory any longer.
  void LetGo() const { map_.LetGo(); }

  /// The content of the attached file of this name; kNotFound if there is none, kDataLoss if it is damaged.
  Result<std::string_view> Attachment(std::string_view name) const;

  /// Reads everything, on `threads` threads, and compares it with its checksums; the padding must be zeros. Error:
  /// kDataLoss, naming what is damaged.
  Result<void> Verify(unsigned threads = 1) const;

 private:
  PackedFile(std::filesystem::path path, MappedFile map, PackedTable table)
      : path_(std::move(path)), map_(std::move(map)), table_(std::move(table)) {}

  bool IsWhole(const PackedRange& range) const;

  Failure Damaged(std::string_view name) const;

  uint64_t EndOfTable() const;

  std::filesystem::path path_;
  MappedFile map_;
  PackedTable table_;
};

/// Fills what `list` refers to from `file`, or the list's share of it. Matrices lie in its mapping and keep it alive;
/// those of a rank that are not whole panels one behind the other are copied, and so are all unless `in_place`. Errors,
/// after which nothing has changed: kInvalidArgument where it was packed for another model than the one with the
/// fingerprint `model`, kDataLoss where it contradicts itself. Those of memory that is not there: then the list may be
/// filled in part.
Result<void> MapParameters(const std::shared_ptr<const PackedFile>& file, const ParameterList& list, uint64_t model,
                           bool in_place = true);

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/weights/packed_files/detail/packed_file.h"
#endif

#endif  // SKALD_WEIGHTS_PACKED_FILES_PACKED_FILE_H_
