// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/weights/writing/gguf_draft.h.

#ifndef SKALD_WEIGHTS_WRITING_DETAIL_GGUF_DRAFT_H_
#define SKALD_WEIGHTS_WRITING_DETAIL_GGUF_DRAFT_H_

#include "skald/weights/writing/gguf_draft.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "skald/base/files/path_text.h"
#include "skald/base/inline.h"
#include "skald/base/no_throw.h"
#include "skald/base/text/message.h"
#include "skald/weights/files/gguf_cursor.h"
#include "skald/weights/packing/detail/panels.h"
#include "skald/weights/packing/pack_rows.h"

namespace skald {

namespace internal {

template <class T>
std::string BytesOfValue(const T& value) {
  return std::string(reinterpret_cast<const char*>(&value), sizeof(value));
}

inline std::string BytesOfText(std::string_view text) { return BytesOfValue(uint64_t{text.size()}).append(text); }

inline std::string BeginOfArray(GgufValueType type, size_t count) {
  return BytesOfValue(type) + BytesOfValue(uint64_t{count});
}

template <class T>
GgufEntry ArrayEntry(std::string_view name, GgufValueType type, std::span<const T> values) {
  std::string bytes = BeginOfArray(type, values.size());
  bytes.append(reinterpret_cast<const char*>(values.data()), values.size_bytes());
  return {std::string(name), GgufValueType::kArray, std::move(bytes)};
}

// The factor of the matrix that a row is in.
inline float FactorOfRow(const TensorView& tensor, uint64_t row) {
  if (tensor.factors.size() <= sizeof(float)) return FactorOf(tensor);
  float factor;
  const uint64_t rows = tensor.shape[tensor.shape.size() - 2];
  std::memcpy(&factor, tensor.factors.data() + row / rows * sizeof(factor), sizeof(factor));
  return factor;
}

SKALD_INLINE void ReadRow(const TensorView& tensor, uint64_t row, std::span<float> values) {
  const PackSource source{tensor.bytes.data(), tensor.dtype.value_or(DType::kF32), 1, tensor.format};
  const float factor = FactorOfRow(tensor, row);
  const PackRow from{source.bytes + row * RowBytes(source, values.size()), source.dtype, source.format};
  for (size_t begin = 0; begin < values.size(); begin += kTile) {
    float tile[kTile];
    const size_t count = std::min(kTile, values.size() - begin);
    ReadTile(from, begin, count, tile);
    std::transform(tile, tile + count, values.data() + begin, [factor](float value) { return value * factor; });
  }
}

// The tensors that belong to others, by names, with the names of these.
inline std::map<std::string, std::string_view, std::less<>> FactorsIn(const GgufFile& file) {
  std::map<std::string, std::string_view, std::less<>> found;
  for (size_t i = 0; i < file.size(); ++i) {
    const auto names = FactorNamesOf(file[i]);
    if (!names) continue;
    found.emplace(names->activations, file[i].name);
    if (!file[i].factors.empty()) found.emplace(names->factors, file[i].name);
  }
  return found;
}

// Copies the metadata of a file as they are, but for what says that it is a part of several.
inline std::vector<GgufEntry> EntriesOf(std::span<const std::byte> image) {
  GgufCursor cursor(image);
  cursor.Skip(8);  // letters and version
  cursor.Skip(8);
  std::vector<GgufEntry> entries(static_cast<size_t>(cursor.Number<uint64_t>("the number of values")));
  for (GgufEntry& entry : entries) {
    entry.name = cursor.String("a name");
    entry.type = static_cast<GgufValueType>(cursor.Number<uint32_t>("a type"));
    const size_t begin = cursor.position();
    (void)ReadGgufValue(cursor, entry.type, entry.name);
    const std::span<const std::byte> bytes = cursor.Since(begin);
    entry.bytes.assign(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  }
  std::erase_if(entries, [](const GgufEntry& entry) {
    return entry.name.starts_with("split.") || entry.name == "general.alignment";
  });
  return entries;
}

}  // namespace internal

SKALD_INLINE GgufEntry GgufNumber(std::string_view name, uint32_t value) {
  return {std::string(name), GgufValueType::kUint32, internal::BytesOfValue(value)};
}

SKALD_INLINE GgufEntry GgufNumber(std::string_view name, float value) {
  return {std::string(name), GgufValueType::kFloat32, internal::BytesOfValue(value)};
}

SKALD_INLINE GgufEntry GgufTruth(std::string_view name, bool value) {
  return {std::string(name), GgufValueType::kBool, std::string(1, value ? '\1' : '\0')};
}

SKALD_INLINE GgufEntry GgufText(std::string_view name, std::string_view value) {
  return {std::string(name), GgufValueType::kString, internal::BytesOfText(value)};
}

SKALD_INLINE GgufEntry GgufNumbers(std::string_view name, std::span<const int32_t> values) {
  return internal::ArrayEntry(name, GgufValueType::kInt32, values);
}

SKALD_INLINE GgufEntry GgufNumbers(std::string_view name, std::span<const float> values) {
  return internal::ArrayEntry(name, GgufValueType::kFloat32, values);
}

SKALD_INLINE GgufEntry GgufTruths(std::string_view name, std::span<const uint8_t> values) {
  return internal::ArrayEntry(name, GgufValueType::kBool, values);
}

SKALD_INLINE GgufEntry GgufBytes(std::string_view name, std::string_view bytes) {
  return internal::ArrayEntry(name, GgufValueType::kUint8, std::span<const char>(bytes));
}

SKALD_INLINE GgufEntry GgufTexts(std::string_view name, std::span<const std::string> values) {
  std::string bytes = internal::BeginOfArray(GgufValueType::kString, values.size());
  for (const std::string& value : values) bytes += internal::BytesOfText(value);
  return {std::string(name), GgufValueType::kArray, std::move(bytes)};
}

SKALD_INLINE uint64_t DraftTensor::rows() const {
  uint64_t rows = 1;
  for (size_t i = 0; i + 1 < shape.size(); ++i) rows *= shape[i];
  return rows;
}

SKALD_INLINE const GgufEntry* GgufDraft::Find(std::string_view name) const {
  const auto found = std::ranges::find(entries, name, &GgufEntry::name);
  return found == entries.end() ? nullptr : &*found;
}

SKALD_INLINE void GgufDraft::Set(GgufEntry entry) {
  const auto found = std::ranges::find(entries, entry.name, &GgufEntry::name);
  if (found == entries.end()) {
    entries.push_back(std::move(entry));
  } else {
    *found = std::move(entry);
  }
}

SKALD_INLINE std::vector<const DraftTensor*> GgufDraft::Written() const {
  std::set<std::string_view> changed;
  for (const DraftTensor& tensor : tensors) {
    if (tensor.type != tensor.stored) changed.insert(tensor.name);
  }
  std::vector<const DraftTensor*> written;
  for (const DraftTensor& tensor : tensors) {
    if (!changed.contains(tensor.only_with)) written.push_back(&tensor);
  }
  return written;
}

SKALD_INLINE Result<GgufDraft> DraftOf(const GgufFile& file) {
  const std::string shown = PathText(file.parts().front().path);
  return NoThrow(shown, [&]() -> Result<GgufDraft> {
    GgufDraft draft{internal::EntriesOf(file.parts().front().map.bytes()), {}};
    const auto factors = internal::FactorsIn(file);
    size_t index = 0;
    for (const GgufPart& part : file.parts()) {
      for (const GgufTensor& tensor : part.tensors) {
        const TensorView& view = file[index++];
        DraftTensor& drafted = draft.tensors.emplace_back(
            DraftTensor{tensor.name, tensor.shape, tensor.type, {}, tensor.type, view.bytes});
        if (const auto owner = factors.find(tensor.name); owner != factors.end()) drafted.only_with = owner->second;
        if (!view.dtype && view.format == nullptr) continue;
        drafted.read_row = [&view](uint64_t row, std::span<float> values) { internal::ReadRow(view, row, values); };
      }
    }
    return draft;
  });
}

}  // namespace skald

#endif  // SKALD_WEIGHTS_WRITING_DETAIL_GGUF_DRAFT_H_
