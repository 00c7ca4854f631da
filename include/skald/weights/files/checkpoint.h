// SPDX-License-Identifier: Apache-2.0
//
// A checkpoint: all tensors of one model, in one safetensors file, in several shards that model.safetensors.index.json
// lists, or in a GGUF file or the parts of one. Immutable once open; safe for concurrent reads.

#ifndef SKALD_WEIGHTS_FILES_CHECKPOINT_H_
#define SKALD_WEIGHTS_FILES_CHECKPOINT_H_

#include <filesystem>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "skald/base/result.h"
#include "skald/weights/files/tensor_view.h"

namespace skald {

class GgufFile;  ///< weights/files/gguf.h

/// The endings of the names of the two halves of LoRA pairs that a checkpoint has beside its weights, all tasks in one
/// tensor, as PyTorch writes parametrisations: those of "x.weight" begin with "x". `LoadTaskAdapters` reads them;
/// weights are loaded without.
inline constexpr std::string_view kTaskPairs[] = {".parametrizations.weight.0.lora_A",
                                                  ".parametrizations.weight.0.lora_B"};

/// The ending of a weight that has such a pair: a Checkpoint names it "x.weight".
inline constexpr std::string_view kParametrised = ".parametrizations.weight.original";

/// Keeps the files mapped. Its views are valid as long as it lives, also after a move. Move-only.
class Checkpoint {
 public:
  /// Opens a folder with model.safetensors or model.safetensors.index.json, or one such file by its path. If a folder
  /// has both, the single file is read. A file that begins like a GGUF file is read as one, whatever its name.
  static Result<Checkpoint> Open(const std::filesystem::path& path);

  /// Uses tensors that the caller keeps mapped and named; errors contain `path`.
  Checkpoint(std::filesystem::path path, std::vector<TensorView> tensors);

  /// The tensors of a GGUF file that is open already.
  Checkpoint(std::filesystem::path path, GgufFile file);

  Checkpoint(Checkpoint&&) noexcept;
  Checkpoint& operator=(Checkpoint&&) noexcept;
  ~Checkpoint();

  /// Returns the tensor of this name, or null.
  const TensorView* Find(std::string_view name) const;

  /// All tensors, sorted by name.
  std::span<const TensorView> tensors() const { return tensors_; }

  /// The GGUF file, which also holds metadata, or null.
  const GgufFile* gguf() const;

  /// The file that was opened: the single one, or the index of the shards.
  const std::filesystem::path& path() const { return path_; }

 private:
  struct Files;  ///< the mapped files

  Checkpoint(std::filesystem::path path, std::unique_ptr<Files> files);

  void SortByName();

  /// Takes out the tensors of a GGUF file that hold factors of others.
  void TakeFactors();

  /// Names weights that have adapters beside them (kParametrised).
  void NameParametrised();

  static Result<Checkpoint> OpenFolderOrFile(const std::filesystem::path& path);

  std::filesystem::path path_;
  std::unique_ptr<Files> files_;     ///< null if the caller keeps them
  std::vector<TensorView> tensors_;  ///< point into them
};

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/weights/files/detail/checkpoint.h"
#endif

#endif  // SKALD_WEIGHTS_FILES_CHECKPOINT_H_
