// SPDX-License-Identifier: Apache-2.0
//
// AdapterFile: the pairs of matrices of an adapter, by the names of the model's tensors that they change. Reads a
// folder of Hugging Face's PEFT or a GGUF file of llama.cpp.

#ifndef SKALD_WEIGHTS_ADAPTERS_ADAPTER_FILE_H_
#define SKALD_WEIGHTS_ADAPTERS_ADAPTER_FILE_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "skald/base/result.h"
#include "skald/weights/files/checkpoint.h"
#include "skald/weights/files/tensor_view.h"

namespace skald::internal {

/// The change of one tensor [rows, cols]: scale * b * a.
struct LoraPair {
  const TensorView* a = nullptr;  ///< [rank, cols]
  const TensorView* b = nullptr;  ///< [rows, rank]
  double scale = 1.0;

  uint64_t rank() const { return a->shape[0]; }
};

/// Keeps the file mapped that its pairs point into. Move-only.
class AdapterFile {
 public:
  // Opens a folder with adapter_config.json and adapter_model.safetensors, or a GGUF file. Errors name the file and the
  // tensor or field: those of opening it; kDataLoss for halves of pairs and inconsistent shapes; kUnsupported for
  // anything but a LoRA adapter.
  static Result<AdapterFile> Open(const std::filesystem::path& path);

  // Takes the pairs of number `task` of the `tasks` that a checkpoint has beside its weights, as PyTorch writes
  // parametrisations (kTaskPairs): tensors with a first axis of tasks. Those of the parts `but` are left out. The
  // checkpoint must outlive it. Errors name the tensor: kDataLoss for halves of pairs and other shapes.
  static Result<AdapterFile> OfTask(const Checkpoint& checkpoint, size_t task, size_t tasks, double scale,
                                    std::span<const std::string_view> but);

  const std::filesystem::path& path() const { return checkpoint_.path(); }
  const std::map<std::string, LoraPair, std::less<>>& pairs() const { return pairs_; }

  /// Returns the change of a tensor, or null.
  const LoraPair* Find(std::string_view tensor) const;

  Failure Refuse(ErrorCode code, const std::string& what) const;

  /// The file of the pairs.
  const Checkpoint& checkpoint() const { return checkpoint_; }

 private:
  explicit AdapterFile(Checkpoint checkpoint) : checkpoint_(std::move(checkpoint)) {}

  /// The suffixes of the two halves' names and the prefix before them, and the ending of the changed tensor's name.
  struct Spelling {
    std::string_view a, b, prefix, ending;
  };
  static constexpr Spelling kPeft = {".lora_A.weight", ".lora_B.weight", "base_model.model.", ".weight"};
  static constexpr Spelling kGguf = {".lora_a", ".lora_b", "", ""};

  static Result<AdapterFile> OpenPeft(const std::filesystem::path& folder);

  static Result<AdapterFile> OpenGguf(const std::filesystem::path& path);

  Result<void> FindPairs(const Spelling& spelling);

  Result<void> CheckPair(const std::string& name, const LoraPair& pair, const Spelling& spelling) const;

  /// Returns the error for a tensor that is not half of a pair.
  Failure Unknown(const TensorView& tensor) const;

  Checkpoint checkpoint_;
  /// The part of one task, of a tensor that has all.
  Result<const TensorView*> TaskPart(const TensorView& tensor, size_t task, size_t tasks);

  std::deque<TensorView> parts_;                        ///< of one task; else none
  std::map<std::string, LoraPair, std::less<>> pairs_;  ///< by the names of the model's tensors; point into both
};

}  // namespace skald::internal

#ifndef SKALD_COMPILED
#include "skald/weights/adapters/detail/adapter_file.h"
#endif

#endif  // SKALD_WEIGHTS_ADAPTERS_ADAPTER_FILE_H_
