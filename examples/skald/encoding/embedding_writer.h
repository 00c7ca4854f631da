// SPDX-License-Identifier: Apache-2.0
//
// Writes embeddings as they come: lines of JSON, or an array in numpy's format.

#ifndef SKALD_EXAMPLES_SKALD_ENCODING_EMBEDDING_WRITER_H_
#define SKALD_EXAMPLES_SKALD_ENCODING_EMBEDDING_WRITER_H_

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>

#include "command_line/options.h"
#include "skald/base/files/fd_io.h"
#include "skald/base/result.h"
#include "skald/open/encoders/embeddings.h"

namespace skald::program {

class EmbeddingWriter {
 public:
  // `texts` is how many will come, which an array has to know. A file appears when it is whole. Errors: those of
  // FileSink; kUnsupported for int8 in an array, which has no place for scales.
  static Result<EmbeddingWriter> Create(const EncodingOptions& encoding, size_t texts);

  // Writes the next embeddings. Errors: those of writing; kUnsupported for an array of embeddings that are not pooled.
  Result<void> Write(const Embeddings& embeddings);

  // Ends the output.
  Result<void> Finish();

  // How many embeddings have been written.
  size_t written() const { return written_; }

 private:
  EmbeddingWriter(const EncodingOptions& encoding, size_t texts)
      : form_(encoding.form), is_array_(encoding.output.extension() == ".npy"), texts_(texts) {}

  Result<void> WriteLine(const Embeddings& embeddings, size_t i);
  Result<void> WriteRow(std::span<const float> row);
  Result<void> Put(std::string_view bytes);

  EmbeddingForm form_;
  bool is_array_;
  size_t texts_, written_ = 0;
  std::optional<FileSink> file_;
  std::string line_;
};

}  // namespace skald::program

#endif  // SKALD_EXAMPLES_SKALD_ENCODING_EMBEDDING_WRITER_H_
