// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/weights/files/torch_file.h.

#ifndef SKALD_WEIGHTS_FILES_DETAIL_TORCH_FILE_H_
#define SKALD_WEIGHTS_FILES_DETAIL_TORCH_FILE_H_

#include "skald/weights/files/torch_file.h"

#include <algorithm>
#include <iterator>
#include <optional>

#include "skald/base/files/path_text.h"
#include "skald/base/inline.h"
#include "skald/base/no_throw.h"
#include "skald/base/numbers/numeric.h"
#include "skald/base/text/message.h"
#include "skald/weights/files/detail/pickled_tensors.h"
#include "skald/weights/files/detail/zip_entries.h"

namespace skald {

namespace internal {

// Returns the type of the elements of a storage.
inline std::optional<DType> TypeOfStorage(std::string_view name) {
  constexpr std::pair<std::string_view, DType> kTypes[] = {
      {"FloatStorage", DType::kF32}, {"HalfStorage", DType::kF16}, {"BFloat16Storage", DType::kBF16}};
  const auto found = std::ranges::find(kTypes, name, &std::pair<std::string_view, DType>::first);
  return found == std::end(kTypes) ? std::nullopt : std::optional(found->second);
}

// The number of a tensor's elements, or nothing if they do not lie one after the other within its storage.
inline std::optional<uint64_t> ElementsOf(const PickledTensor& tensor) {
  if (tensor.shape.size() != tensor.strides.size() || tensor.offset > tensor.elements) return std::nullopt;
  uint64_t count = 1;
  for (size_t i = tensor.shape.size(); i-- > 0;) {
    if (tensor.shape[i] == 0 || tensor.shape[i] > tensor.elements / count) return std::nullopt;
    if (tensor.shape[i] > 1 && tensor.strides[i] != count) return std::nullopt;
    count *= tensor.shape[i];
  }
  return count <= tensor.elements - tensor.offset ? std::optional(count) : std::nullopt;
}

// The entry of this name in the folder that all entries are in.
inline std::optional<std::span<const std::byte>> FindEntry(const ZipEntries& entries, std::string_view folder,
                                                           std::string_view name) {
  const auto found = entries.find(Concat({folder, name}));
  return found == entries.end() ? std::nullopt : std::optional(found->second);
}

// The bytes of a tensor.
inline Result<TensorView> ViewOf(const PickledTensor& tensor, const ZipEntries& entries, std::string_view folder) {
  const auto fail = [&](ErrorCode code, std::string_view what) {
    return Fail(code, Concat({"tensor ", QuotedName(tensor.name), " ", what}));
  };
  const auto type = TypeOfStorage(tensor.type);
  if (!type) {
    return fail(ErrorCode::kUnsupported, Concat({"is a ", QuotedName(tensor.type), ", expected F32, F16 or BF16"}));
  }
  const auto count = ElementsOf(tensor);
  if (!count) return fail(ErrorCode::kUnsupported, "is not whole: its elements do not lie one after the other");
  const auto bytes = FindEntry(entries, folder, Concat({"data/", tensor.storage}));
  const uint64_t size = SizeOf(*type);
  if (!bytes || bytes->size() / size < tensor.elements) return fail(ErrorCode::kDataLoss, "lacks its elements");
  TensorView view = {};
  view.dtype_name = NameOf(*type);
  view.dtype = type;
  view.bytes = bytes->subspan(tensor.offset * size, *count * size);
  return view;
}

}  // namespace internal

SKALD_INLINE Result<TorchTensors> ParseTorchFile(std::span<const std::byte> file) {
  return NoThrow("a file of torch.save", [&]() -> Result<TorchTensors> {
    constexpr std::string_view kPickle = "data.pkl";
    SKALD_ASSIGN(const auto entries, internal::ReadZipEntries(file));
    const auto pickle = std::ranges::find_if(entries, [&](const auto& entry) {
      return entry.first.ends_with(kPickle) && std::ranges::count(entry.first, '/') <= 1;
    });
    if (pickle == entries.end()) return Fail(ErrorCode::kUnsupported, "it has no data.pkl, which torch.save writes");
    const std::string folder = pickle->first.substr(0, pickle->first.size() - kPickle.size());
    if (const auto order = internal::FindEntry(entries, folder, "byteorder")) {
      const std::string_view text(reinterpret_cast<const char*>(order->data()), order->size());
      if (text != "little") return Fail(ErrorCode::kUnsupported, "it is not little-endian");
    }
    SKALD_ASSIGN(const auto tensors, internal::PickledTensors::Read(pickle->second));
    TorchTensors contents;
    for (const internal::PickledTensor& tensor : tensors) {
      SKALD_ASSIGN(auto view, internal::ViewOf(tensor, entries, folder));
      view.name = contents.names.emplace_back(tensor.name);
      view.shape = contents.shapes.emplace_back(tensor.shape);
      contents.tensors.push_back(view);
    }
    return contents;
  });
}

SKALD_INLINE Result<TorchFile> TorchFile::Open(const std::filesystem::path& path) {
  SKALD_ASSIGN(auto map, MappedFile::Open(path));
  auto contents = ParseTorchFile(map.bytes());
  if (!contents) return Annotate(PathText(path), contents);
  return TorchFile(std::move(map), std::move(*contents));
}

}  // namespace skald

#endif  // SKALD_WEIGHTS_FILES_DETAIL_TORCH_FILE_H_
