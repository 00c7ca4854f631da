// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/model/control_vector.h.

#ifndef SKALD_MODEL_DETAIL_CONTROL_VECTOR_H_
#define SKALD_MODEL_DETAIL_CONTROL_VECTOR_H_

#include "skald/model/control_vector.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "skald/base/files/path_text.h"
#include "skald/base/inline.h"
#include "skald/base/no_throw.h"
#include "skald/base/text/message.h"
#include "skald/weights/files/gguf.h"
#include "skald/weights/files/tensor_view.h"

namespace skald {

SKALD_INLINE void ControlVector::Add(const ControlVector& other, float scale) {
  directions.resize(std::max(directions.size(), other.directions.size()));
  for (size_t layer = 0; layer < other.directions.size(); ++layer) {
    const std::vector<float>& added = other.directions[layer];
    directions[layer].resize(std::max(directions[layer].size(), added.size()), 0.0f);
    for (size_t i = 0; i < added.size(); ++i) directions[layer][i] += added[i] * scale;
  }
}

SKALD_INLINE void ControlVector::KeepLayers(size_t first, size_t last) {
  for (size_t layer = 0; layer < directions.size(); ++layer) {
    if (layer < first || layer > last) directions[layer].clear();
  }
}

namespace internal {

// The number in "direction.N", if it is that of a layer of the model.
inline Result<size_t> LayerOfDirection(std::string_view name, const ModelSpec& spec) {
  constexpr std::string_view kPrefix = "direction.";
  size_t layer = 0;
  const char* const end = name.data() + name.size();
  if (!name.starts_with(kPrefix) || std::from_chars(name.data() + kPrefix.size(), end, layer).ptr != end ||
      name.size() == kPrefix.size()) {
    return Fail(ErrorCode::kUnsupported, QuotedName(name) + ": expected tensors direction.N, one for each layer");
  }
  if (layer > 0 && layer < NumLayers(spec)) return layer;
  return Fail(ErrorCode::kInvalidArgument, Concat({QuotedName(name), ": directions are for the layers 1 to ",
                                                   std::to_string(NumLayers(spec) - 1), " of this model"}));
}

inline Result<std::vector<float>> ReadDirection(const TensorView& tensor, const ModelSpec& spec) {
  const auto dim = static_cast<uint64_t>(spec.model_dim);
  if (tensor.dtype != DType::kF32) {
    return Fail(ErrorCode::kUnsupported,
                Concat({QuotedName(tensor.name), ": expected F32, found ", QuotedName(tensor.dtype_name)}));
  }
  if (tensor.shape.size() != 1 || tensor.shape[0] != dim) {
    return Fail(ErrorCode::kInvalidArgument,
                Concat({QuotedName(tensor.name), ": expected the shape [", std::to_string(dim),
                        "] of the model's rows, found ", ShapeText(tensor.shape)}));
  }
  std::vector<float> direction(dim);
  std::memcpy(direction.data(), tensor.bytes.data(), tensor.bytes.size());
  if (std::ranges::all_of(direction, [](float x) { return std::isfinite(x); })) return direction;
  return Fail(ErrorCode::kDataLoss, QuotedName(tensor.name) + " has numbers that are not finite");
}

}  // namespace internal

SKALD_INLINE Result<ControlVector> LoadControlVector(const std::filesystem::path& path, const ModelSpec& spec) {
  const auto loaded = [&]() -> Result<ControlVector> {
    SKALD_ASSIGN(const auto file, GgufFile::Open(path));
    const auto* const architecture = file.metadata().Get<std::string>("general.architecture");
    if (architecture == nullptr || *architecture != "controlvector") {
      return Fail(ErrorCode::kUnsupported,
                  "not a control vector: its metadata lack general.architecture = \"controlvector\"");
    }
    ControlVector vector;
    vector.directions.resize(NumLayers(spec));
    for (size_t i = 0; i < file.size(); ++i) {
      SKALD_ASSIGN(const size_t layer, internal::LayerOfDirection(file[i].name, spec));
      SKALD_ASSIGN(vector.directions[layer], internal::ReadDirection(file[i], spec));
    }
    if (file.size() == 0) return Fail(ErrorCode::kDataLoss, "the control vector has no directions");
    return vector;
  };
  auto vector = NoThrow(PathText(path), loaded);
  if (!vector) return Annotate(PathText(path), vector);
  return vector;
}

SKALD_INLINE Result<std::vector<Hook>> HooksOf(const ControlVector& vector, const ModelSpec& spec) {
  const size_t layers = NumLayers(spec), dim = static_cast<size_t>(spec.model_dim);
  for (size_t layer = 0; layer < vector.directions.size(); ++layer) {
    const size_t floats = vector.directions[layer].size();
    if (floats == 0 || (floats == dim && layer < layers)) continue;
    return Fail(ErrorCode::kInvalidArgument,
                Concat({"the control vector has ", std::to_string(floats), " floats for layer ", std::to_string(layer),
                        "; the model has ", std::to_string(layers), " layers and rows of ", std::to_string(dim)}));
  }
  std::vector<Hook> hooks;
  for (size_t b = 0; b < spec.blocks.size(); ++b) {
    const size_t layer = spec.blocks[b].number;
    const bool is_last = b + 1 == spec.blocks.size() || spec.blocks[b + 1].number != layer;
    if (!is_last || layer >= vector.directions.size() || vector.directions[layer].empty()) continue;
    const auto direction = std::make_shared<const std::vector<float>>(vector.directions[layer]);
    hooks.push_back({StreamBefore(b + 1), [direction](const HookRows& stream) {
                       for (size_t i = 0; i < stream.rows(); ++i) {
                         const std::span<float> row = stream.row(i);
                         for (size_t j = 0; j < row.size(); ++j) row[j] += (*direction)[j];
                       }
                     }});
  }
  return hooks;
}

}  // namespace skald

#endif  // SKALD_MODEL_DETAIL_CONTROL_VECTOR_H_
