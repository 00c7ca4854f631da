// SPDX-License-Identifier: Apache-2.0
//
// Writes packed files (packed_file.h), whole or not at all.

#ifndef SKALD_WEIGHTS_PACKED_FILES_PACKED_WRITER_H_
#define SKALD_WEIGHTS_PACKED_FILES_PACKED_WRITER_H_

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "skald/base/numbers/numeric.h"
#include "skald/base/result.h"
#include "skald/weights/parameters.h"

namespace skald {

/// The content of a packed file besides the weights.
struct PackedOrigin {
  std::string_view name;    ///< of the model, for people
  uint64_t model;           ///< Fingerprint of its ModelSpec
  DType dtype;              ///< the type that the weights were loaded as
  std::string source = {};  ///< DescribeSource of the checkpoint; empty for weights from elsewhere
  std::vector<std::pair<std::string, std::string>> attachments = {};  ///< names and contents
};

/// Writes the parameters of `list`, all loaded, to `path`, replacing an existing file. Errors: the disk's or the
/// folder's; nothing has changed then.
Result<void> WritePackedFile(const std::filesystem::path& path, const ParameterList& list, const PackedOrigin& origin);

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/weights/packed_files/detail/packed_writer.h"
#endif

#endif  // SKALD_WEIGHTS_PACKED_FILES_PACKED_WRITER_H_
