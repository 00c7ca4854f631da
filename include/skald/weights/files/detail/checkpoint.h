// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/weights/files/checkpoint.h.

#ifndef SKALD_WEIGHTS_FILES_DETAIL_CHECKPOINT_H_
#define SKALD_WEIGHTS_FILES_DETAIL_CHECKPOINT_H_

#include "skald/weights/files/checkpoint.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>

#include "skald/base/inline.h"
#include "skald/base/text/message.h"
#include "skald/base/no_throw.h"

namespace skald {

SKALD_INLINE Result<Checkpoint> Checkpoint::Open(const std::filesystem::path& path) {
  return NoThrow(path.native(), [&path] { return OpenFolderOrFile(path); });
}

SKALD_INLINE Checkpoint::Checkpoint(std::filesystem::path path, std::vector<TensorView> tensors)
    : path_(std::move(path)), tensors_(std::move(tensors)) {
  SortByName();
}

SKALD_INLINE const TensorView* Checkpoint::Find(std::string_view name) const {
  const auto found = std::lower_bound(tensors_.begin(), tensors_.end(), name, NameLess);
  return found != tensors_.end() && found->name == name ? &*found : nullptr;
}

SKALD_INLINE Checkpoint::Checkpoint(std::filesystem::path path, std::vector<SafetensorsFile> files)
    : path_(std::move(path)), files_(std::move(files)) {
  for (const SafetensorsFile& file : files_) {
    for (size_t i = 0; i < file.size(); ++i) tensors_.push_back(file[i]);
  }
  SortByName();
}

SKALD_INLINE Checkpoint::Checkpoint(std::filesystem::path path, GgufFile file)
    : path_(std::move(path)), gguf_(std::move(file)) {
  for (size_t i = 0; i < gguf_->size(); ++i) tensors_.push_back((*gguf_)[i]);
  SortByName();
}

SKALD_INLINE void Checkpoint::SortByName() {
  std::sort(tensors_.begin(), tensors_.end(), [](const TensorView& a, const TensorView& b) { return a.name < b.name; });
}

SKALD_INLINE Result<Checkpoint> Checkpoint::OpenFolderOrFile(const std::filesystem::path& path) {
  const Result<ModelFiles> files = ModelFilesAt(path);
  if (!files) return Failure(files.error());
  if (!files->index.empty()) return OpenSharded(*files);
  const std::filesystem::path& file = files->weights.front();
  return IsGgufFile(file) ? OpenGguf(file) : OpenSingle(file);
}

SKALD_INLINE Result<Checkpoint> Checkpoint::OpenSingle(const std::filesystem::path& path) {
  Result<SafetensorsFile> file = SafetensorsFile::Open(path);
  if (!file) return Failure(std::move(file.error()));
  std::vector<SafetensorsFile> files;
  files.push_back(std::move(*file));
  return Checkpoint(path, std::move(files));
}

SKALD_INLINE Result<Checkpoint> Checkpoint::OpenGguf(const std::filesystem::path& path) {
  Result<GgufFile> file = GgufFile::Open(path);
  if (!file) return Failure(std::move(file.error()));
  return Checkpoint(path, std::move(*file));
}

SKALD_INLINE Result<Checkpoint> Checkpoint::OpenSharded(const ModelFiles& model) {
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

SKALD_INLINE Result<void> Checkpoint::CheckPromises(const std::filesystem::path& index, const ShardIndex& shards,
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

}  // namespace skald

#endif  // SKALD_WEIGHTS_FILES_DETAIL_CHECKPOINT_H_
