// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/weights/writing/importance.h.

#ifndef SKALD_WEIGHTS_WRITING_DETAIL_IMPORTANCE_H_
#define SKALD_WEIGHTS_WRITING_DETAIL_IMPORTANCE_H_

#include "skald/weights/writing/importance.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "skald/base/files/path_text.h"
#include "skald/base/inline.h"
#include "skald/base/no_throw.h"
#include "skald/base/text/message.h"
#include "skald/weights/files/gguf.h"
#include "skald/weights/files/gguf_cursor.h"
#include "skald/weights/files/mapped_file.h"
#include "skald/weights/writing/gguf_writer.h"
#include "skald/weights/writing/mixture.h"

namespace skald {

namespace internal {

inline constexpr std::string_view kSumsEnd = ".in_sum2", kCountsEnd = ".counts";

inline Result<std::vector<float>> FloatsOf(const TensorView& tensor) {
  if (tensor.dtype != DType::kF32) {
    return Fail(ErrorCode::kDataLoss, Concat({QuotedName(tensor.name), ": expected F32, found ", tensor.dtype_name}));
  }
  std::vector<float> values(tensor.bytes.size() / sizeof(float));
  std::memcpy(values.data(), tensor.bytes.data(), tensor.bytes.size());
  return values;
}

inline Result<void> CheckImportance(const ImportanceMatrix& matrix) {
  const auto is_sum = [](float value) { return std::isfinite(value) && value >= 0.0f; };
  for (const auto& [name, tensor] : matrix.tensors) {
    if (tensor.sums.empty() || tensor.counts.empty() || tensor.sums.size() % tensor.counts.size() != 0) {
      return Fail(ErrorCode::kDataLoss, Concat({QuotedName(name), ": has ", std::to_string(tensor.sums.size()),
                                                " sums and ", std::to_string(tensor.counts.size()), " counts"}));
    }
    if (!std::ranges::all_of(tensor.sums, is_sum) || !std::ranges::all_of(tensor.counts, is_sum)) {
      return Fail(ErrorCode::kDataLoss, Concat({QuotedName(name), ": has numbers that are no sums of squares"}));
    }
  }
  return {};
}

inline Result<ImportanceMatrix> ImportanceFrom(const GgufFile& file) {
  ImportanceMatrix matrix;
  for (size_t i = 0; i < file.size(); ++i) {
    const std::string_view name = file[i].name;
    const bool has_sums = name.ends_with(kSumsEnd);
    if (!has_sums && !name.ends_with(kCountsEnd)) continue;
    SKALD_ASSIGN(auto values, FloatsOf(file[i]));
    auto& tensor = matrix.tensors[std::string(name.substr(0, name.size() - (has_sums ? kSumsEnd : kCountsEnd).size()))];
    (has_sums ? tensor.sums : tensor.counts) = std::move(values);
  }
  if (const GgufArray* const texts = file.metadata().Array("imatrix.datasets")) {
    texts->ForEach([&](const GgufValue& value) {
      const auto* const scalar = std::get_if<GgufScalar>(&value);
      const auto* const text = scalar == nullptr ? nullptr : std::get_if<std::string>(scalar);
      if (text != nullptr) matrix.texts.push_back(*text);
      return true;
    });
  }
  const auto number = [&](std::string_view name) {
    return static_cast<uint32_t>(std::clamp(file.metadata().Number(name).value_or(0.0), 0.0, 4e9));
  };
  matrix.chunks = number("imatrix.chunk_count"), matrix.chunk_tokens = number("imatrix.chunk_size");
  return matrix;
}

// The older form: for each tensor its name, how many pieces of text it is of, and means of squares times that.
inline Result<ImportanceMatrix> OlderImportanceFrom(std::span<const std::byte> bytes) {
  GgufCursor cursor(bytes);
  ImportanceMatrix matrix;
  const auto text = [&](std::string_view what) {
    const auto size = static_cast<size_t>(cursor.Number<uint32_t>(what));
    if (size > cursor.left()) cursor.Complain("a name ends beyond the file");
    const std::span<const std::byte> found = cursor.Skip(cursor.ok() ? size : 0);
    return std::string(reinterpret_cast<const char*>(found.data()), found.size());
  };
  const auto tensors = cursor.Number<uint32_t>("the number of tensors");
  for (uint32_t i = 0; i < tensors && cursor.ok(); ++i) {
    const std::string name = text("a name's length");
    TensorImportance tensor;
    tensor.counts.push_back(static_cast<float>(cursor.Number<uint32_t>("a count")));
    const auto size = static_cast<size_t>(cursor.Number<uint32_t>("a number of sums"));
    if (size > cursor.left() / sizeof(float)) cursor.Complain("its sums end beyond the file");
    const std::span<const std::byte> sums = cursor.Skip(cursor.ok() ? size * sizeof(float) : 0);
    tensor.sums.resize(sums.size() / sizeof(float));
    std::memcpy(tensor.sums.data(), sums.data(), sums.size());
    matrix.tensors[name] = std::move(tensor);
  }
  if (cursor.ok() && cursor.left() > 0) {
    matrix.chunks = cursor.Number<uint32_t>("the number of chunks");
    if (std::string name = text("a name's length"); !name.empty()) matrix.texts.push_back(std::move(name));
  }
  if (!cursor.ok()) return Fail(cursor.code(), Concat({"no importance matrix: ", cursor.complaint()}));
  return matrix;
}

// The importance of each column of each matrix of a tensor.
inline std::vector<float> ColumnWeights(const TensorImportance& tensor, size_t cols) {
  constexpr float kLeastOfMean = 1e-4f;
  std::vector<float> weights(tensor.sums.size(), 1.0f);
  for (size_t begin = 0; begin < weights.size(); begin += cols) {
    const float count = tensor.counts.size() == 1 ? tensor.counts[0] : tensor.counts[begin / cols];
    const auto sums = std::span(tensor.sums).subspan(begin, cols);
    const float mean = std::accumulate(sums.begin(), sums.end(), 0.0f) / static_cast<float>(cols);
    if (!(count > 0.0f && mean > 0.0f && std::isfinite(mean))) continue;
    for (size_t i = 0; i < cols; ++i) weights[begin + i] = std::max(sums[i] / mean, kLeastOfMean);
  }
  return weights;
}

inline DraftTensor FloatsAs(std::string name, std::vector<uint64_t> shape, const std::vector<float>& values) {
  return {std::move(name), std::move(shape), FindGgufTypeByName("F32"), [&values](uint64_t row, std::span<float> to) {
            std::copy_n(values.begin() + static_cast<ptrdiff_t>(row * to.size()), to.size(), to.begin());
          }};
}

}  // namespace internal

SKALD_INLINE Result<ImportanceMatrix> ReadImportance(const std::filesystem::path& path) {
  const std::string shown = PathText(path);
  return NoThrow(shown, [&]() -> Result<ImportanceMatrix> {
    SKALD_ASSIGN(auto map, MappedFile::Open(path));
    const auto read = [&]() -> Result<ImportanceMatrix> {
      if (!IsGguf(map.bytes())) return internal::OlderImportanceFrom(map.bytes());
      SKALD_ASSIGN(const auto file, GgufFile::From(path, std::move(map)));
      return internal::ImportanceFrom(file);
    };
    auto matrix = read();
    if (matrix && matrix->tensors.empty()) {
      return Fail(ErrorCode::kDataLoss, Concat({shown, ": has no sums of squares, expected an importance matrix"}));
    }
    if (!matrix) return Annotate(shown, matrix);
    if (const auto checked = internal::CheckImportance(*matrix); !checked) return Annotate(shown, checked);
    return matrix;
  });
}

SKALD_INLINE Result<void> WriteImportance(const std::filesystem::path& path, const ImportanceMatrix& matrix,
                                          ExecutorRef executor) {
  return NoThrow(PathText(path), [&]() -> Result<void> {
    GgufDraft draft;
    draft.Set(GgufText("general.type", "imatrix"));
    draft.Set(GgufTexts("imatrix.datasets", matrix.texts));
    draft.Set(GgufNumber("imatrix.chunk_count", matrix.chunks));
    draft.Set(GgufNumber("imatrix.chunk_size", matrix.chunk_tokens));
    for (const auto& [name, tensor] : matrix.tensors) {
      const uint64_t matrices = std::max<size_t>(1, tensor.counts.size());
      draft.tensors.push_back(internal::FloatsAs(Concat({name, internal::kSumsEnd}),
                                                 {matrices, tensor.sums.size() / matrices}, tensor.sums));
      draft.tensors.push_back(internal::FloatsAs(Concat({name, internal::kCountsEnd}), {matrices, 1}, tensor.counts));
    }
    return WriteGguf(path, draft, executor);
  });
}

SKALD_INLINE Result<std::vector<std::string>> WeighByImportance(const ImportanceMatrix& matrix, GgufDraft& draft) {
  return NoThrow("WeighByImportance", [&]() -> Result<std::vector<std::string>> {
    std::vector<std::string> missing;
    std::vector<std::vector<float>> weights(draft.tensors.size());
    for (size_t i = 0; i < weights.size(); ++i) {
      const DraftTensor& tensor = draft.tensors[i];
      if (tensor.type->block_elements == 1 || tensor.stored == tensor.type) continue;
      const auto found = matrix.tensors.find(tensor.name);
      if (found == matrix.tensors.end()) {
        missing.push_back(tensor.name);
        continue;
      }
      const size_t size = found->second.sums.size(), cols = static_cast<size_t>(tensor.cols());
      if (size != cols && size != cols * tensor.shape.front()) {
        return Fail(ErrorCode::kInvalidArgument,
                    Concat({QuotedName(tensor.name), ": has ", std::to_string(tensor.cols()),
                            " columns, but the importance matrix ", std::to_string(size), " sums"}));
      }
      weights[i] = internal::ColumnWeights(found->second, cols);
    }
    for (size_t i = 0; i < weights.size(); ++i) draft.tensors[i].importance = std::move(weights[i]);
    if (!matrix.texts.empty()) draft.Set(GgufText("quantize.imatrix.dataset", matrix.texts.front()));
    draft.Set(GgufNumber("quantize.imatrix.entries_count", static_cast<uint32_t>(matrix.tensors.size())));
    draft.Set(GgufNumber("quantize.imatrix.chunks_count", matrix.chunks));
    return missing;
  });
}

}  // namespace skald

#endif  // SKALD_WEIGHTS_WRITING_DETAIL_IMPORTANCE_H_
