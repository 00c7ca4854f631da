// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/weights/files/checkpoint.h.

#ifndef SKALD_WEIGHTS_FILES_DETAIL_CHECKPOINT_H_
#define SKALD_WEIGHTS_FILES_DETAIL_CHECKPOINT_H_

#include "skald/weights/files/checkpoint.h"

#include <algorithm>
#include <cstddef>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "skald/base/files/model_files.h"
#include "skald/base/files/path_text.h"
#include "skald/base/files/shard_index.h"
#include "skald/base/inline.h"
#include "skald/base/no_throw.h"
#include "skald/base/text/message.h"
#include "skald/weights/files/gguf.h"
#include "skald/weights/files/mapped_file.h"
#include "skald/weights/files/safetensors.h"

namespace skald {

// Either safetensors files or one GGUF file.
struct Checkpoint::Files {
  std::vector<SafetensorsFile> safetensors = {};
  std::optional<GgufFile> gguf = {};
  std::deque<std::string> names = {};  // of tensors that are not named as the files have it
};

SKALD_INLINE Checkpoint::Checkpoint(Checkpoint&&) noexcept = default;
SKALD_INLINE Checkpoint& Checkpoint::operator=(Checkpoint&&) noexcept = default;
SKALD_INLINE Checkpoint::~Checkpoint() = default;

SKALD_INLINE Result<Checkpoint> Checkpoint::Open(const std::filesystem::path& path) {
  return NoThrow(PathText(path), [&path] { return OpenFolderOrFile(path); });
}

SKALD_INLINE Checkpoint::Checkpoint(std::filesystem::path path, std::vector<TensorView> tensors)
    : path_(std::move(path)), tensors_(std::move(tensors)) {
  SortByName();
}

SKALD_INLINE Checkpoint::Checkpoint(std::filesystem::path path, GgufFile file)
    : Checkpoint(std::move(path), std::make_unique<Files>(Files{.gguf = std::move(file)})) {}

SKALD_INLINE Checkpoint::Checkpoint(std::filesystem::path path, std::unique_ptr<Files> files)
    : path_(std::move(path)), files_(std::move(files)) {
  for (const SafetensorsFile& file : files_->safetensors) {
    for (size_t i = 0; i < file.size(); ++i) tensors_.push_back(file[i]);
  }
  for (size_t i = 0; files_->gguf && i < files_->gguf->size(); ++i) tensors_.push_back((*files_->gguf)[i]);
  SortByName();
  if (files_->gguf) TakeFactors();
  NameParametrised();
}

SKALD_INLINE void Checkpoint::TakeFactors() {
  std::vector<std::string> taken;
  for (const TensorView& tensor : tensors_) {
    const auto names = internal::FactorNamesOf(tensor);
    if (!names) continue;
    taken.push_back(names->activations);
    if (!tensor.factors.empty()) taken.push_back(names->factors);
  }
  std::ranges::sort(taken);
  std::erase_if(tensors_, [&](const TensorView& tensor) { return std::ranges::binary_search(taken, tensor.name); });
}

// Only of weights with LoRA pairs, without which they stay as they are: other parametrisations compute something.
SKALD_INLINE void Checkpoint::NameParametrised() {
  const auto found =
      std::ranges::find_if(tensors_, [](const TensorView& tensor) { return tensor.name.ends_with(kTaskPairs[0]); });
  if (found == tensors_.end()) return;
  std::vector<std::pair<TensorView*, std::string*>> renamed;
  for (TensorView& tensor : tensors_) {
    if (!tensor.name.ends_with(kParametrised)) continue;
    const std::string_view module = tensor.name.substr(0, tensor.name.size() - kParametrised.size());
    if (Find(Concat({module, kTaskPairs[0]})) == nullptr) continue;
    renamed.emplace_back(&tensor, &files_->names.emplace_back(Concat({module, ".weight"})));
  }
  for (const auto& [tensor, name] : renamed) tensor->name = *name;
  SortByName();
}

SKALD_INLINE const TensorView* Checkpoint::Find(std::string_view name) const {
  const auto found = std::ranges::lower_bound(tensors_, name, {}, &TensorView::name);
  return found != tensors_.end() && found->name == name ? &*found : nullptr;
}

SKALD_INLINE const GgufFile* Checkpoint::gguf() const {
  return files_ != nullptr && files_->gguf ? &*files_->gguf : nullptr;
}

SKALD_INLINE void Checkpoint::SortByName() {
  std::sort(tensors_.begin(), tensors_.end(), [](const TensorView& a, const TensorView& b) { return a.name < b.name; });
}

namespace internal {

// Checks that each shard (`files`, in the order of `shards`) holds the tensors that the index lists for it.
inline Result<void> CheckPromises(const std::filesystem::path& index, const ShardIndex& shards,
                                  const std::vector<SafetensorsFile>& files) {
  auto file = files.begin();
  for (const auto& [shard, promised] : shards) {
    for (const std::string& name : promised) {
      if (file->Contains(name)) continue;
      return Fail(ErrorCode::kDataLoss, Concat({PathText(index), ": tensor ", QuotedName(name), " is not in ",
                                                QuotedName(shard), ", where the index says it is"}));
    }
    ++file;
  }
  return {};
}

inline Result<std::vector<SafetensorsFile>> OpenShards(const ModelFiles& model) {
  std::vector<SafetensorsFile> files;
  for (const std::filesystem::path& shard : model.weights) {
    Result<SafetensorsFile> file = SafetensorsFile::Open(shard);
    if (!file) return Annotate(PathText(model.index) + " lists a shard that cannot be read", file);
    files.push_back(std::move(*file));
  }
  return files;
}

}  // namespace internal

SKALD_INLINE Result<Checkpoint> Checkpoint::OpenFolderOrFile(const std::filesystem::path& path) {
  SKALD_ASSIGN(const auto model, ModelFilesAt(path));
  auto files = std::make_unique<Files>();
  if (!model.index.empty()) {
    SKALD_ASSIGN(auto shards, internal::OpenShards(model));
    files->safetensors = std::move(shards);
    Checkpoint checkpoint(model.index, std::move(files));
    const auto twice = std::ranges::adjacent_find(checkpoint.tensors_, {}, &TensorView::name);
    if (twice != checkpoint.tensors_.end()) {
      return Fail(ErrorCode::kDataLoss, Concat({PathText(model.index), ": tensor ", QuotedName(twice->name),
                                                " is in two of the shards, expected one"}));
    }
    SKALD_TRY(internal::CheckPromises(model.index, model.shards, checkpoint.files_->safetensors));
    return checkpoint;
  }
  const std::filesystem::path& single = model.weights.front();
  SKALD_ASSIGN(auto map, MappedFile::Open(single));
  if (IsGguf(map.bytes())) {
    SKALD_ASSIGN(auto file, GgufFile::From(single, std::move(map)));
    return Checkpoint(single, std::move(file));
  }
  SKALD_ASSIGN(auto file, SafetensorsFile::From(single, std::move(map)));
  files->safetensors.push_back(std::move(file));
  return Checkpoint(single, std::move(files));
}

}  // namespace skald

#endif  // SKALD_WEIGHTS_FILES_DETAIL_CHECKPOINT_H_
