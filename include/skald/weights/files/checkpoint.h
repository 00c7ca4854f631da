// SPDX-License-Identifier: Apache-2.0
//
// A checkpoint: all tensors of one model, in one safetensors file, in several shards that model.safetensors.index.json
// lists, or in one GGUF file. Immutable once open; safe for concurrent reads.

#ifndef SKALD_WEIGHTS_FILES_CHECKPOINT_H_
#define SKALD_WEIGHTS_FILES_CHECKPOINT_H_

#include <algorithm>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "skald/base/files/model_files.h"
#include "skald/base/files/shard_index.h"
#include "skald/base/message.h"
#include "skald/base/no_throw.h"
#include "skald/base/result.h"
#include "skald/weights/files/gguf.h"
#include "skald/weights/files/safetensors.h"
#include "skald/weights/files/tensor_view.h"

namespace skald {

// Keeps the files mapped; the views it hands out live as long as it does, also when it moves.
// Move-only.
class Checkpoint {
 public:
  // Opens a folder that holds model.safetensors or model.safetensors.index.json, or one such file
  // by its path. A folder with both is read as the single file. A file that begins as GGUF files do
  // is read as one, whatever its name.
  static Result<Checkpoint> Open(const std::filesystem::path& path) {
    return NoThrow(path.native(), [&path] { return OpenFolderOrFile(path); });
  }

  // The tensors that somebody else keeps mapped, and names; `path` stands in errors.
  Checkpoint(std::filesystem::path path, std::vector<TensorView> tensors)
      : path_(std::move(path)), tensors_(std::move(tensors)) {
    SortByName();
  }

  // Returns the tensor of this name, or null.
  const TensorView* Find(std::string_view name) const {
    const auto found = std::lower_bound(tensors_.begin(), tensors_.end(), name, NameLess);
    return found != tensors_.end() && found->name == name ? &*found : nullptr;
  }

  // All tensors, sorted by name.
  std::span<const TensorView> tensors() const { return tensors_; }

  // The GGUF file, which holds metadata too, or null.
  const GgufFile* gguf() const { return gguf_ ? &*gguf_ : nullptr; }

  // The file that was opened: the single one, or the index of the shards.
  const std::filesystem::path& path() const { return path_; }

 private:
  Checkpoint(std::filesystem::path path, std::vector<SafetensorsFile> files)
      : path_(std::move(path)), files_(std::move(files)) {
    for (const SafetensorsFile& file : files_) {
      for (size_t i = 0; i < file.size(); ++i) tensors_.push_back(file[i]);
    }
    SortByName();
  }

  Checkpoint(std::filesystem::path path, GgufFile file) : path_(std::move(path)), gguf_(std::move(file)) {
    for (size_t i = 0; i < gguf_->size(); ++i) tensors_.push_back((*gguf_)[i]);
    SortByName();
  }

  void SortByName() {
    std::sort(tensors_.begin(), tensors_.end(),
              [](const TensorView& a, const TensorView& b) { return a.name < b.name; });
  }

  static Result<Checkpoint> OpenFolderOrFile(const std::filesystem::path& path) {
    const Result<ModelFiles> files = ModelFilesAt(path);
    if (!files) return Failure(files.error());
    if (!files->index.empty()) return OpenSharded(*files);
    const std::filesystem::path& file = files->weights.front();
    return IsGgufFile(file) ? OpenGguf(file) : OpenSingle(file);
  }

  static bool NameLess(const TensorView& tensor, std::string_view name) { return tensor.name < name; }

  static Result<Checkpoint> OpenSingle(const std::filesystem::path& path) {
    Result<SafetensorsFile> file = SafetensorsFile::Open(path);
    if (!file) return Failure(std::move(file.error()));
    std::vector<SafetensorsFile> files;
    files.push_back(std::move(*file));
    return Checkpoint(path, std::move(files));
  }

  static Result<Checkpoint> OpenGguf(const std::filesystem::path& path) {
    Result<GgufFile> file = GgufFile::Open(path);
    if (!file) return Failure(std::move(file.error()));
    return Checkpoint(path, std::move(*file));
  }

  static Result<Checkpoint> OpenSharded(const ModelFiles& model) {
    const std::filesystem::path& index = model.index;
    std::vector<SafetensorsFile> files;
    for (const std::filesystem::path& shard : model.weights) {
      Result<SafetensorsFile> file = SafetensorsFile::Open(shard);
      if (!file) {
        return Annotate(index.string() + " lists a shard that cannot be read", file);
      }
      files.push_back(std::move(*file));
    }
    Checkpoint checkpoint(index, std::move(files));
    const auto twice = std::adjacent_find(checkpoint.tensors_.begin(), checkpoint.tensors_.end(),
                                          [](const auto& a, const auto& b) { return a.name == b.name; });
    if (twice != checkpoint.tensors_.end()) {
      return Fail(ErrorCode::kDataLoss, Concat({index.string(), ": tensor ", QuotedName(twice->name),
                                                " is in two of the shards, expected one"}));
    }
    if (Result<void> kept = CheckPromises(index, model.shards, checkpoint.files_); !kept) {
      return Failure(std::move(kept.error()));
    }
    return checkpoint;
  }

  // Checks that each shard (`files`, in the order of `shards`) holds what the index says it does.
  static Result<void> CheckPromises(const std::filesystem::path& index, const ShardIndex& shards,
                                    const std::vector<SafetensorsFile>& files) {
    auto file = files.begin();
    for (const auto& [shard, promised] : shards) {
      for (const std::string& name : promised) {
        if (file->Contains(name)) continue;
        return Fail(ErrorCode::kDataLoss, Concat({index.string(), ": tensor ", QuotedName(name), " is not in ",
                                                  QuotedName(shard), ", where the index says it is"}));
      }
      ++file;
    }
    return {};
  }

  std::filesystem::path path_;
  std::vector<SafetensorsFile> files_;  // either these
  std::optional<GgufFile> gguf_;        // or this
  std::vector<TensorView> tensors_;     // point into them
};

}  // namespace skald

#endif  // SKALD_WEIGHTS_FILES_CHECKPOINT_H_
