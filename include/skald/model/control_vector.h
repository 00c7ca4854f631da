// SPDX-License-Identifier: Apache-2.0
//
// Control vectors (Zou et al. 2023, arXiv:2310.01405): directions that are added to the residual stream after layers,
// so that every answer leans one way. Read from GGUF files as llama.cpp and repeng write them.

#ifndef SKALD_MODEL_CONTROL_VECTOR_H_
#define SKALD_MODEL_CONTROL_VECTOR_H_

#include <cstddef>
#include <filesystem>
#include <vector>

#include "skald/base/result.h"
#include "skald/layers/model_spec.h"
#include "skald/model/hooks.h"

namespace skald {

/// A plain value.
struct ControlVector {
  /// [layers], as checkpoints count them from 0: what is added after that layer, [model_dim], or nothing.
  std::vector<std::vector<float>> directions;

  /// Adds `other`, of the same model, times `scale`.
  void Add(const ControlVector& other, float scale = 1.0f);

  /// Nothing is added after other layers than `first` to `last`, both included.
  void KeepLayers(size_t first, size_t last);

  friend bool operator==(const ControlVector&, const ControlVector&) = default;
};

/// Reads a GGUF file of the architecture "controlvector": tensors direction.N, F32 of [model_dim], are for the layer N;
/// the first layer, 0, has none. Errors: those of GgufFile::Open; kUnsupported (another architecture, other tensors),
/// kInvalidArgument (a layer that the model has not, another width), kDataLoss (numbers that are not finite).
Result<ControlVector> LoadControlVector(const std::filesystem::path& path, const ModelSpec& spec);

/// Returns the hooks by which Forward adds the directions to every row, to the stream after each layer that has one.
/// They hold the directions. Errors: kInvalidArgument for a direction of a layer that the model has not, or of another
/// width than its rows have.
Result<std::vector<Hook>> HooksOf(const ControlVector& vector, const ModelSpec& spec);

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/model/detail/control_vector.h"
#endif

#endif  // SKALD_MODEL_CONTROL_VECTOR_H_
