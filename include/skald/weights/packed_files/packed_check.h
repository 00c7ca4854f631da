// SPDX-License-Identifier: Apache-2.0
//
// When a packed file's weights are compared with their checksums (LoadOptions::packed_check), and how the result is
// remembered: in a file beside it, <name>.verified, with the size, times and inode number of the checked file, and the
// checksum of its header. On POSIX systems a program cannot set the time of change, so a file that is written to is
// checked again. The record is used only if no user but this one and the administrator can have written it. If none can
// be written, in another user's folder, the file is checked each time.

#ifndef SKALD_WEIGHTS_PACKED_FILES_PACKED_CHECK_H_
#define SKALD_WEIGHTS_PACKED_FILES_PACKED_CHECK_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <span>
#include <string_view>

#include "skald/base/files/fd_io.h"
#include "skald/base/files/file_calls.h"
#include "skald/base/files/file_facts.h"
#include "skald/base/files/path_text.h"
#include "skald/base/no_throw.h"
#include "skald/base/numbers/xxh64.h"
#include "skald/base/result.h"
#include "skald/weights/files/mapped_file.h"
#include "skald/weights/load_options.h"
#include "skald/weights/packed_files/packed_file.h"

namespace skald {
namespace internal {

/// The record's content, in the byte order of the machine: it is only valid there.
struct PackedRecord {
  std::array<char, 8> magic = {'S', 'k', 'a', 'l', 'd', 'C', 'h', '1'};
  uint64_t inode = 0, bytes = 0;
  int64_t modified = 0, changed = 0;  ///< nanoseconds since 1970
  uint64_t header_checksum = 0;
  uint64_t checksum = 0;  ///< of all fields above
};
static_assert(sizeof(PackedRecord) == 56);

inline PackedRecord RecordOf(const FileFacts& facts, uint64_t header_checksum) {
  PackedRecord record;
  record.inode = facts.number;
  record.bytes = facts.bytes;
  record.modified = facts.modified.in_nanoseconds();
  record.changed = facts.changed.in_nanoseconds();
  record.header_checksum = header_checksum;
  record.checksum = Xxh64(std::as_bytes(std::span(&record, 1)).first(offsetof(PackedRecord, checksum)));
  return record;
}

/// The suffix of such a file, after the packed file's name.
inline constexpr std::string_view kRecordSuffix = ".verified";

inline std::filesystem::path RecordPath(const std::filesystem::path& packed) {
  return std::filesystem::path(packed) += kRecordSuffix;
}

/// Records that the file, in its state when it was opened, is whole. Errors are ignored: loading does not depend on the
/// record.
inline void Remember(const PackedFile& file) {
  const PackedRecord record = RecordOf(file.facts(), file.header_checksum());
  auto sink = FileSink::CreateAnew(RecordPath(file.path()), 0644);
  if (sink && sink->Write(std::as_bytes(std::span(&record, 1)))) (void)sink->Commit(SyncPolicy::kNone);
}

inline bool IsRemembered(const PackedFile& file) {
  const PackedRecord expected = RecordOf(file.facts(), file.header_checksum());
  const auto record = MappedFile::Open(RecordPath(file.path()), MappedFile::Use::kCopy);
  return record && record->is_trusted() && record->bytes().size() == sizeof(expected) &&
         std::memcmp(record->bytes().data(), &expected, sizeof(expected)) == 0;
}

/// Whether the checked file is still the one at its path, and was last changed so long ago that any later change has
/// another time, however coarse the file system's clock.
inline bool HasSettled(const PackedFile& file) {
  constexpr int64_t kCoarsestClock = 2'000'000'000;
  const auto now = FactsOf(file.path());
  if (!now) return false;
  const PackedRecord before = RecordOf(file.facts(), 0), after = RecordOf(*now, 0);
  return before.checksum == after.checksum && FileTime::Now().in_nanoseconds() - after.changed > kCoarsestClock;
}

}  // namespace internal

/// Compares the weights with their checksums if `options` ask for it. Error: kDataLoss, naming the damaged part.
inline Result<void> CheckPackedWeights(const PackedFile& file, const LoadOptions& options) {
  return NoThrow(PathText(file.path()), [&]() -> Result<void> {
    const bool once = options.packed_check == PackedCheck::kOnce;
    if (options.packed_check == PackedCheck::kNever || (once && internal::IsRemembered(file))) return {};
    SKALD_TRY(file.Verify(options.threads));
    if (once && internal::HasSettled(file)) internal::Remember(file);
    return {};
  });
}

}  // namespace skald

#endif  // SKALD_WEIGHTS_PACKED_FILES_PACKED_CHECK_H_
