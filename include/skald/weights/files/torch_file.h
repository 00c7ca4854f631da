// SPDX-License-Identifier: Apache-2.0
//
// TorchFile: the tensors of a small file that torch.save wrote, a dictionary of tensors by name (state_dict). Nothing
// in the file is executed: of pickle's operations the few are read that such a dictionary consists of, and everything
// else is refused by name. Sources: https://github.com/pytorch/pytorch, torch/serialization.py and torch/_utils.py;
// Python's Lib/pickletools.py; the ZIP file format (APPNOTE.TXT, version 6.3.10).

#ifndef SKALD_WEIGHTS_FILES_TORCH_FILE_H_
#define SKALD_WEIGHTS_FILES_TORCH_FILE_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "skald/base/result.h"
#include "skald/weights/files/mapped_file.h"
#include "skald/weights/files/tensor_view.h"

namespace skald {

/// The tensors of such a file, whose bytes it points into. Move-only: names and shapes stay where they are.
struct TorchTensors {
  std::deque<std::string> names;             ///< of the tensors
  std::deque<std::vector<uint64_t>> shapes;  ///< likewise
  std::vector<TensorView> tensors;           ///< in the order of the dictionary

  TorchTensors() = default;
  TorchTensors(TorchTensors&&) noexcept = default;
  TorchTensors& operator=(TorchTensors&&) noexcept = default;
};

/// Returns the tensors in the bytes of a file. Errors, which do not name the file: kDataLoss for one that is damaged,
/// kUnsupported for one that holds anything but a dictionary of whole tensors of F32, F16 or BF16, uncompressed and
/// little-endian.
Result<TorchTensors> ParseTorchFile(std::span<const std::byte> file);

/// Keeps the file mapped. Its views are valid as long as it lives, also after a move. Move-only.
class TorchFile {
 public:
  /// Opens a file. Errors name the path: those of MappedFile::Open and ParseTorchFile.
  static Result<TorchFile> Open(const std::filesystem::path& path);

  /// In the order of the dictionary.
  std::span<const TensorView> tensors() const { return contents_.tensors; }

 private:
  TorchFile(MappedFile map, TorchTensors contents) : map_(std::move(map)), contents_(std::move(contents)) {}

  MappedFile map_;
  TorchTensors contents_;  ///< points into it
};

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/weights/files/detail/torch_file.h"
#endif

#endif  // SKALD_WEIGHTS_FILES_TORCH_FILE_H_
