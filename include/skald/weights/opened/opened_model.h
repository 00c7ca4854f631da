// SPDX-License-Identifier: Apache-2.0
//
// OpenedModel: a model's file, opened and parsed once and handed on. The readers of its metadata, its tokenizer, its
// chat template and its weights all take this value.

#ifndef SKALD_WEIGHTS_OPENED_OPENED_MODEL_H_
#define SKALD_WEIGHTS_OPENED_OPENED_MODEL_H_

#include <filesystem>
#include <memory>
#include <string>

#include "skald/base/result.h"

namespace skald {

class Checkpoint;  ///< weights/files/checkpoint.h
class GgufFile;    ///< weights/files/gguf.h
class PackedFile;  ///< weights/packed_files/packed_file.h

/// A model at a path: a folder as Hugging Face publishes it, a safetensors file in one, the index of its shards, a GGUF
/// file or a packed file. A GGUF or packed file is open from the first to the last copy of the value, so all readers
/// see one file, even where another takes its place. Cheap to copy; immutable; safe for concurrent use.
class OpenedModel {
 public:
  /// Opens the model at `path`. The first bytes of a file say of which kind it is, whatever its name is. Of a folder,
  /// and of a file of another kind, nothing is read yet: what it lacks shows later. Errors, which name the path:
  /// kNotFound if there is nothing, those of GgufFile::Open and PackedFile::Open.
  static Result<OpenedModel> Open(const std::filesystem::path& path);

  /// As given to Open.
  const std::filesystem::path& path() const;

  /// The folder with the files that go with the weights: `path` itself, or where its file lies. A GGUF or packed file
  /// has these within it.
  std::filesystem::path folder() const;

  /// Whether the path is a file that has within it what goes with the weights: a GGUF or packed file.
  bool is_whole() const { return gguf() != nullptr || packed() != nullptr; }

  /// The GGUF file, or null.
  const GgufFile* gguf() const;

  /// The packed file, or null. It was mapped without advice about its pages.
  const std::shared_ptr<const PackedFile>& packed() const;

  /// Returns the tensors: those of the GGUF file, else of the safetensors files, which each call opens. Errors: those
  /// of Checkpoint::Open, which takes no packed file.
  Result<std::shared_ptr<const Checkpoint>> checkpoint() const;

  /// Returns what DescribeSource says of the path. Of a GGUF file that is what was opened; kFailedPrecondition where
  /// another file, or another version of it, is at the path by now.
  Result<std::string> DescribeSource() const;

 private:
  struct State;

  explicit OpenedModel(std::shared_ptr<const State> state) : state_(std::move(state)) {}

  std::shared_ptr<const State> state_;
};

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/weights/opened/detail/opened_model.h"
#endif

#endif  // SKALD_WEIGHTS_OPENED_OPENED_MODEL_H_
