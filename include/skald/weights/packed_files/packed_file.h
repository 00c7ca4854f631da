// SPDX-License-Identifier: Apache-2.0
//
// Packed files: weights in the layout of the kernels, written once and then mapped into memory. Opening one reads a
// table of a few kilobytes; all processes that map the file share the parameters through the page cache.

#ifndef SKALD_WEIGHTS_PACKED_FILES_PACKED_FILE_H_
#define SKALD_WEIGHTS_PACKED_FILES_PACKED_FILE_H_

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string_view>
#include <utility>

#include "skald/base/files/file_facts.h"
#include "skald/base/result.h"
#include "skald/weights/files/mapped_file.h"
#include "skald/weights/packed_files/packed_format.h"
#include "skald/weights/parameters.h"

namespace skald {

/// Immutable, safe for concurrent use. A mapped file must not be written to while it is open; WritePackedFile replaces
/// it by a new one.
class PackedFile {
 public:
  /// Whether a file of these bytes begins as packed files do.
  static bool Recognises(std::span<const std::byte> image) noexcept;

  /// Maps the file, or reads it with Use::kCopy, and checks header and table: which model it is of, and that its length
  /// is right. Only Attachment and Verify compare the rest with its checksums. Errors: those of MappedFile and
  /// ParsePacked.
  static Result<std::shared_ptr<const PackedFile>> Open(const std::filesystem::path& path,
                                                        MappedFile::Use use = MappedFile::Use::kKeep);

  /// The same of a file that is mapped already, as the caller chose. `path` names it in errors.
  static Result<std::shared_ptr<const PackedFile>> From(const std::filesystem::path& path, MappedFile map);

  /// As the file has it.
  const PackedTable& table() const { return table_; }
  /// As given to Open.
  const std::filesystem::path& path() const { return path_; }

  /// As MappedFile::facts.
  const FileFacts& facts() const { return map_.facts(); }
  /// As MappedFile::is_trusted.
  bool is_trusted() const { return map_.is_trusted(); }

  /// Changes whenever anything in the header or the table does.
  uint64_t header_checksum() const;

  /// The whole file.
  std::span<const std::byte> bytes() const { return map_.bytes(); }
  /// The bytes of a range of table(); valid as long as this.
  std::span<const std::byte> BytesOf(const PackedRange& range) const;

  /// Tells the system that these bytes of the file are needed soon.
  void WillRead(std::span<const std::byte> bytes) const { map_.WillRead(bytes); }
  /// Tells the system to release the pages that were read (MappedFile::LetGo).
  void LetGo() const { map_.LetGo(); }

  /// The content of the attached file of this name; kNotFound if there is none, kDataLoss if it is damaged.
  Result<std::string_view> Attachment(std::string_view name) const;

  /// Reads everything, on `threads` threads, and compares it with its checksums; the padding must be zeros. Error:
  /// kDataLoss, naming the damaged part.
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

/// Fills the weights of `list` from `file`, or the list's share of them. Matrices are used in the file's mapping and
/// keep it alive. A rank's matrices that are not consecutive whole panels are copied, and so are all unless `in_place`.
/// Errors, after which nothing has changed: kInvalidArgument if it was packed for another model than the one with the
/// fingerprint `model`, kDataLoss if it is inconsistent. If memory runs out, the list may be filled in part.
Result<void> MapParameters(const std::shared_ptr<const PackedFile>& file, const ParameterList& list, uint64_t model,
                           bool in_place = true);

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/weights/packed_files/detail/packed_file.h"
#endif

#endif  // SKALD_WEIGHTS_PACKED_FILES_PACKED_FILE_H_
