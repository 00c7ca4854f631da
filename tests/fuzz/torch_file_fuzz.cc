// SPDX-License-Identifier: Apache-2.0
//
// Fuzzes the reader of files of torch.save: the input is a file, or, after a zero, its pickle alone, so that mutations
// need not keep to the form of a ZIP file.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>

#include "skald/weights/files/detail/pickled_tensors.h"
#include "skald/weights/files/torch_file.h"

namespace skald {
namespace {

void Require(bool holds) {
  if (!holds) std::abort();
}

void ReadFile(std::span<const std::byte> file) {
  const Result<TorchTensors> found = ParseTorchFile(file);
  if (!found) return Require(!found.error().message.empty());
  for (const TensorView& tensor : found->tensors) {
    Require(tensor.bytes.data() >= file.data() &&
            tensor.bytes.data() + tensor.bytes.size() <= file.data() + file.size());
  }
}

}  // namespace
}  // namespace skald

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto input = std::as_bytes(std::span(data, size));
  if (size > 0 && data[0] == 0) {
    const auto tensors = skald::internal::PickledTensors::Read(input.subspan(1));
    if (!tensors) skald::Require(!tensors.error().message.empty());
    return 0;
  }
  skald::ReadFile(input);
  return 0;
}
