// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/weights/files/gguf.h.

#ifndef SKALD_WEIGHTS_FILES_DETAIL_GGUF_H_
#define SKALD_WEIGHTS_FILES_DETAIL_GGUF_H_

#include "skald/weights/files/gguf.h"

#include <algorithm>
#include <bit>
#include <initializer_list>
#include <limits>
#include <map>
#include <optional>
#include <utility>

#include "skald/base/files/part_name.h"
#include "skald/base/files/path_text.h"
#include "skald/base/inline.h"
#include "skald/base/no_throw.h"
#include "skald/base/text/message.h"
#include "skald/weights/types/gguf_blocks.h"

namespace skald {

namespace internal {

inline constexpr std::string_view kGgufMagic = "GGUF";

// Returns the bytes of a tensor, or 0 with a complaint.
inline uint64_t GgufTensorBytes(const GgufTensor& tensor, const std::string& shown, GgufCursor& cursor) {
  const uint64_t row = tensor.shape.back(), block = tensor.type->block_elements;
  if (row % block != 0) {
    cursor.Complain(Concat({shown, " of type ", tensor.type->name, " has rows of ", std::to_string(row),
                            " elements, expected a multiple of ", std::to_string(block)}));
    return 0;
  }
  uint64_t bytes = tensor.type->block_bytes;
  for (size_t i = 0; i < tensor.shape.size(); ++i) {
    const uint64_t factor = i + 1 == tensor.shape.size() ? row / block : tensor.shape[i];
    if (factor != 0 && bytes > std::numeric_limits<uint64_t>::max() / factor) {
      cursor.Complain(Concat({shown, " of shape ", ShapeText(tensor.shape), " has more bytes than 64 bits can count"}));
      return 0;
    }
    bytes *= factor;
  }
  return bytes;
}

// Reads one entry of the list of tensors. Its `begin` counts from the end of the header.
inline GgufTensor ReadGgufTensor(GgufCursor& cursor, uint64_t index) {
  GgufTensor tensor = {std::string(cursor.String(Concat({"the name of tensor ", std::to_string(index)}))),
                       &kGgufTypes.front(),
                       {},
                       0,
                       0};
  const std::string shown = Concat({"tensor ", QuotedName(tensor.name)});
  constexpr uint32_t kMaxAxes = 4;
  const auto axes = cursor.Number<uint32_t>(shown);
  if (axes == 0 || axes > kMaxAxes) {
    cursor.Complain(Concat({shown, " has ", std::to_string(axes), " axes, expected 1 to 4"}));
  }
  for (uint32_t i = 0; i < axes && cursor.ok(); ++i) tensor.shape.push_back(cursor.Number<uint64_t>(shown));
  std::reverse(tensor.shape.begin(), tensor.shape.end());
  const auto type = cursor.Number<uint32_t>(shown);
  const auto offset = cursor.Number<uint64_t>(shown);
  tensor.type = FindGgufType(type);
  if (tensor.type == nullptr) {
    // Its codes lie in another order by the machine and the version of the program that wrote the file, which does not
    // say so (https://github.com/microsoft/BitNet).
    constexpr uint32_t kI2S = 36;
    const std::string_view what = type == kI2S ? "I2_S of bitnet.cpp: expected TQ1_0 or TQ2_0" : "unknown here";
    cursor.Complain(Concat({shown, " is of type ", std::to_string(type), ", which is ", what}),
                    ErrorCode::kUnsupported);
  }
  if (!cursor.ok()) return tensor;
  const uint64_t bytes = GgufTensorBytes(tensor, shown, cursor);
  tensor.begin = static_cast<size_t>(offset);
  tensor.size = static_cast<size_t>(bytes);
  return tensor;
}

inline uint64_t ReadGgufAlignment(const GgufMetadata& metadata, GgufCursor& cursor) {
  constexpr uint64_t kDefault = 32, kLargest = 1 << 20;
  constexpr std::string_view kName = "general.alignment";
  if (!metadata.Contains(kName)) return kDefault;
  const auto* const value = metadata.Get<uint64_t>(kName);
  const uint64_t alignment = value == nullptr ? 0 : *value;
  if (std::has_single_bit(alignment) && alignment <= kLargest) return alignment;
  cursor.Complain(Concat({"metadata 'general.alignment' must be a power of two up to ", std::to_string(kLargest)}));
  return kDefault;
}

// Sets the offsets of the tensors of a file of `file_size` bytes after its header, which ends at the cursor.
inline void PlaceGgufTensors(uint64_t alignment, size_t file_size, std::vector<GgufTensor>& tensors,
                             GgufCursor& cursor) {
  const auto aligned = [alignment](uint64_t offset) { return (offset + alignment - 1) / alignment * alignment; };
  const uint64_t data_begin = aligned(cursor.position());
  uint64_t expected = 0;             // offset of the next tensor; at most a little larger than the file
  uint64_t end = cursor.position();  // of the tensors so far
  for (GgufTensor& tensor : tensors) {
    const auto complain = [&](std::initializer_list<std::string_view> what) {
      cursor.Complain(Concat({"tensor ", QuotedName(tensor.name), Concat(what)}));
    };
    if (tensor.begin != expected) {
      return complain({" begins at byte ", std::to_string(tensor.begin), " of the data, expected ",
                       std::to_string(expected), ", aligned to ", std::to_string(alignment)});
    }
    const uint64_t begin = data_begin + expected;
    if (begin > file_size || tensor.size > file_size - begin) {
      return complain({" of ", std::to_string(tensor.size), " bytes begins at byte ", std::to_string(begin),
                       " of the file, which is cut short: it has ", std::to_string(file_size)});
    }
    tensor.begin = static_cast<size_t>(begin);
    end = begin + tensor.size;
    expected = aligned(expected + tensor.size);
  }
  if (file_size == end || file_size == aligned(end)) return;
  cursor.Complain(
      Concat({"the last tensor ends at byte ", std::to_string(end), ", but the file has ", std::to_string(file_size)}));
}

// Reports two tensors of one name.
inline void CheckGgufNames(const std::vector<GgufTensor>& tensors, GgufCursor& cursor) {
  std::vector<std::string_view> names;
  for (const GgufTensor& tensor : tensors) names.push_back(tensor.name);
  std::sort(names.begin(), names.end());
  const auto twice = std::adjacent_find(names.begin(), names.end());
  if (twice != names.end()) cursor.Complain(Concat({"tensor ", QuotedName(*twice), " is there twice"}));
}

inline void ReadGgufVersion(GgufCursor& cursor) {
  const auto version = cursor.Number<uint32_t>("its version");
  if (version == 2 || version == 3) return;
  const bool other_order = (version & 0xFFFF) == 0;  // a small number with its bytes reversed
  cursor.Complain(other_order ? "is big-endian, and only little-endian GGUF files are read"
                              : Concat({"is GGUF version ", std::to_string(version), ", expected 2 or 3"}),
                  ErrorCode::kUnsupported);
}

SKALD_INLINE GgufContents ReadGguf(std::span<const std::byte> image, GgufCursor& cursor) {
  GgufContents contents;
  ReadGgufVersion(cursor);
  constexpr uint64_t kLeastTensor = 8 + 4 + 8 + 4 + 8, kLeastValue = 8 + 4 + 1;  // bytes of an entry
  const uint64_t num_tensors = cursor.Count("the number of ", "tensors", kLeastTensor);
  const uint64_t num_values = cursor.Count("the number of ", "metadata values", kLeastValue);
  contents.metadata = ReadGgufMetadata(cursor, num_values);
  for (uint64_t i = 0; i < num_tensors && cursor.ok(); ++i) {
    contents.tensors.push_back(ReadGgufTensor(cursor, i));
  }
  const uint64_t alignment = ReadGgufAlignment(contents.metadata, cursor);
  if (cursor.ok()) CheckGgufNames(contents.tensors, cursor);
  if (cursor.ok()) PlaceGgufTensors(alignment, image.size(), contents.tensors, cursor);
  return contents;
}

SKALD_INLINE std::optional<FactorNames> FactorNamesOf(const TensorView& tensor) {
  constexpr std::string_view kWeight = "weight";
  if (tensor.dtype_name != "NVFP4" || !tensor.name.ends_with(kWeight)) return std::nullopt;
  const std::string_view module = tensor.name.substr(0, tensor.name.size() - kWeight.size());
  return FactorNames{Concat({module, "scale"}), Concat({module, "input_scale"})};
}

}  // namespace internal

SKALD_INLINE bool IsGguf(std::span<const std::byte> image) noexcept {
  return std::string_view(reinterpret_cast<const char*>(image.data()), image.size()).starts_with(internal::kGgufMagic);
}

SKALD_INLINE Result<GgufContents> ParseGguf(const std::string& file, std::span<const std::byte> image) {
  return NoThrow(file, [&]() -> Result<GgufContents> {
    if (!IsGguf(image)) {
      return Fail(ErrorCode::kDataLoss, Concat({file, ": not a GGUF file: it does not begin with the letters GGUF"}));
    }
    internal::GgufCursor cursor(image.first(std::min(image.size(), kMaxGgufHeader)));
    (void)cursor.Number<uint32_t>("the letters GGUF");
    GgufContents contents = internal::ReadGguf(image, cursor);
    if (cursor.ok()) return contents;
    const bool limited = image.size() > kMaxGgufHeader;
    return Fail(cursor.code(), Concat({file, ": ", cursor.complaint(),
                                       limited ? " (only its first 100000000 bytes may be metadata)" : ""}));
  });
}

namespace internal {

// The names of the parts of a model, in one file or several, whose first part is at `path`.
inline Result<std::vector<std::string>> NamesOfParts(const std::filesystem::path& path, const GgufMetadata& metadata) {
  const std::string name = PathText(path.filename());
  const std::optional<PartName> found = PartNameOf(name);
  const PartName named = found.value_or(PartName());
  const double count = metadata.Number("split.count").value_or(1.0), number = metadata.Number("split.no").value_or(0.0);
  if (named.number != 1) {
    return Fail(ErrorCode::kInvalidArgument,
                Concat({PathText(path), ": is part ", std::to_string(named.number), " of ", std::to_string(named.count),
                        " of a model: open the first, ", named.All().front()}));
  }
  if (count == named.count && number == 0.0) {
    return count == 1.0 ? std::vector<std::string>{name} : named.All();
  }
  const auto shown = [](double value) { return std::to_string(static_cast<int64_t>(value)); };
  return Fail(ErrorCode::kDataLoss, Concat({PathText(path), ": its metadata say that it is part ", shown(number + 1.0),
                                            " of ", shown(count), ", its name ",
                                            found ? "that it is part 1 of " + std::to_string(named.count)
                                                  : "does not end in '-00001-of-...', by which the others are found"}));
}

// A part of a model after the first one.
inline Result<GgufPart> OpenGgufPart(const std::filesystem::path& path, size_t number, size_t count) {
  SKALD_ASSIGN(auto map, MappedFile::Open(path));
  SKALD_ASSIGN(auto contents, ParseGguf(PathText(path), map.bytes()));
  if (contents.metadata.Number("split.no") == static_cast<double>(number) &&
      contents.metadata.Number("split.count") == static_cast<double>(count)) {
    return GgufPart{path, std::move(map), std::move(contents.tensors)};
  }
  return Fail(ErrorCode::kDataLoss, Concat({PathText(path), ": its metadata do not say that it is part ",
                                            std::to_string(number + 1), " of ", std::to_string(count)}));
}

// Reports parts that lack tensors, or of which two have the same one.
inline Result<void> CheckGgufParts(const std::vector<GgufPart>& parts, const GgufMetadata& metadata) {
  std::vector<std::string_view> names;
  for (const GgufPart& part : parts) {
    for (const GgufTensor& tensor : part.tensors) names.push_back(tensor.name);
  }
  std::ranges::sort(names);
  const std::string shown = PathText(parts.front().path);
  if (const auto twice = std::ranges::adjacent_find(names); twice != names.end()) {
    return Fail(ErrorCode::kDataLoss, Concat({shown, ": tensor ", QuotedName(*twice), " is in two of the parts"}));
  }
  const auto count = metadata.Number("split.tensors.count");
  if (!count || *count == static_cast<double>(names.size())) return {};
  return Fail(ErrorCode::kDataLoss, Concat({shown, ": its parts have ", std::to_string(names.size()),
                                            " tensors, and its metadata promise another number"}));
}

}  // namespace internal

SKALD_INLINE Result<GgufFile> GgufFile::Open(const std::filesystem::path& path) {
  SKALD_ASSIGN(auto map, MappedFile::Open(path));
  return From(path, std::move(map));
}

SKALD_INLINE Result<GgufFile> GgufFile::From(const std::filesystem::path& path, MappedFile map) {
  return NoThrow(PathText(path), [&]() -> Result<GgufFile> {
    SKALD_ASSIGN(auto contents, ParseGguf(PathText(path), map.bytes()));
    SKALD_ASSIGN(const auto names, internal::NamesOfParts(path, contents.metadata));
    std::vector<GgufPart> parts;
    parts.push_back({path, std::move(map), std::move(contents.tensors)});
    for (size_t i = 1; i < names.size(); ++i) {
      SKALD_ASSIGN(auto part, internal::OpenGgufPart(path.parent_path() / PathOfText(names[i]), i, names.size()));
      parts.push_back(std::move(part));
    }
    SKALD_TRY(internal::CheckGgufParts(parts, contents.metadata));
    return GgufFile(std::move(parts), std::move(contents.metadata));
  });
}

SKALD_INLINE GgufFile::GgufFile(std::vector<GgufPart> parts, GgufMetadata metadata)
    : parts_(std::move(parts)), metadata_(std::move(metadata)) {
  for (const GgufPart& part : parts_) {
    for (const GgufTensor& tensor : part.tensors) {
      tensors_.push_back({.name = tensor.name,
                          .dtype_name = tensor.type->name,
                          .dtype = internal::ParameterType(tensor.type->name),
                          .shape = tensor.shape,
                          .bytes = part.map.bytes().subspan(tensor.begin, tensor.size),
                          .format = FindGroupFormat(tensor.type->name)});
    }
  }
  AddLayerNumbers();
  FindFactors();
  FindRowScales();
}

SKALD_INLINE void GgufFile::FindFactors() {
  const auto has_factors = [](const TensorView& tensor) { return tensor.dtype_name == "NVFP4"; };
  if (std::ranges::none_of(tensors_, has_factors)) return;  // as in nearly all files, of thousands of tensors
  std::map<std::string_view, const TensorView*> by_name;
  for (const TensorView& tensor : tensors_) by_name.emplace(tensor.name, &tensor);
  for (TensorView& tensor : tensors_) {
    const auto names = internal::FactorNamesOf(tensor);
    const auto found = names ? by_name.find(names->factors) : by_name.end();
    if (found == by_name.end() || found->second->dtype != DType::kF32) continue;
    const std::span<const std::byte> bytes = found->second->bytes;
    const uint64_t matrices = tensor.shape.size() > 2 ? tensor.shape.front() : 1;
    if (bytes.size() == sizeof(float) || bytes.size() == matrices * sizeof(float)) tensor.factors = bytes;
  }
}

SKALD_INLINE void GgufFile::FindRowScales() {
  const auto* const architecture = metadata_.Get<std::string>("general.architecture");
  if (architecture == nullptr || *architecture != "bitnet") return;
  for (TensorView& tensor : tensors_) {
    const bool is_ternary = tensor.dtype_name == "TQ1_0" || tensor.dtype_name == "TQ2_0";
    tensor.row_scale = is_ternary && tensor.name.starts_with("blk.");
  }
}

SKALD_INLINE void GgufFile::AddLayerNumbers() {
  static constexpr std::string_view kNames[] = {"xielu.alpha_p", "xielu.alpha_n", "xielu.beta", "xielu.eps"};
  static constexpr uint64_t kOne[] = {1};
  constexpr uint64_t kMostLayers = 1 << 12;  // beyond every model there is
  for (const auto& entry : metadata_.arrays) {
    const GgufArray& array = entry.second;
    const auto found = std::ranges::find(kNames, entry.first);
    if (found == std::end(kNames) || array.type() != GgufValueType::kFloat32) continue;
    for (size_t layer = 0; layer < std::min(array.size(), kMostLayers); ++layer) {
      added_names_.push_back(Concat({"blk.", std::to_string(layer), ".", *found}));
      tensors_.push_back({.name = added_names_.back(),
                          .dtype_name = "F32",
                          .dtype = DType::kF32,
                          .shape = kOne,
                          .bytes = array.bytes().subspan(layer * sizeof(float), sizeof(float))});
    }
  }
}

}  // namespace skald

#endif  // SKALD_WEIGHTS_FILES_DETAIL_GGUF_H_
