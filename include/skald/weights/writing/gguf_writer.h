// SPDX-License-Identifier: Apache-2.0
//
// Writes GGUF files, version 3 (https://github.com/ggml-org/ggml/blob/master/docs/gguf.md), whole or not at all.

#ifndef SKALD_WEIGHTS_WRITING_GGUF_WRITER_H_
#define SKALD_WEIGHTS_WRITING_GGUF_WRITER_H_

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string_view>

#include "skald/base/result.h"
#include "skald/base/threads/executor.h"
#include "skald/weights/writing/gguf_draft.h"

namespace skald {

/// How far writing has come.
struct WriteProgress {
  std::string_view tensor;           ///< the one that is written
  uint64_t bytes_done, bytes_total;  ///< of all tensors
};

/// Writes a draft to `path`, replacing an existing file, which may be one that the draft refers to. Some rows at a time
/// are in memory, about 64 MB. The bytes do not depend on the executor. Errors: those of FileSink; kUnsupported for a
/// tensor of a type that is only read; kInvalidArgument for rows that are no multiple of its type's block, and for
/// elements that it cannot hold: not finite, or too large for binary16. They name the tensor, and nothing has changed.
Result<void> WriteGguf(const std::filesystem::path& path, const GgufDraft& draft, ExecutorRef executor,
                       const std::function<void(const WriteProgress&)>& progress = {});

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/weights/writing/detail/gguf_writer.h"
#endif

#endif  // SKALD_WEIGHTS_WRITING_GGUF_WRITER_H_
