// SPDX-License-Identifier: Apache-2.0
//
// Adapters for tests: pairs of random matrices for every tensor of a model that may have one, written as PEFT and
// llama.cpp's converter write them; and the weights of a model that has them merged in.

#ifndef SKALD_TESTS_ADAPTERS_ADAPTER_FILES_H_
#define SKALD_TESTS_ADAPTERS_ADAPTER_FILES_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <nlohmann/json.hpp>

#include "doctest/doctest.h"
#include "skald/families/registry.h"
#include "skald/layers/model_spec.h"
#include "skald/layers/model_weights.h"
#include "skald/model/load.h"
#include "skald/model/load_adapter.h"
#include "skald/weights/files/tensor_names.h"
#include "skald/weights/parameters.h"
#include "skald/weights/random_weights.h"
#include "tests/support/safetensors_writer.h"

namespace skald::testing {

// The change of a tensor [rows, cols]: scale * b * a.
struct TestPair {
  size_t rows = 0, cols = 0, rank = 0;
  std::vector<float> a, b;  // [rank, cols], [rows, rank]
};

// By the names of the Llama lineage, "model.layers.0.self_attn.q_proj.weight".
using TestPairs = std::map<std::string, TestPair>;

inline constexpr double kTestAlpha = 6.0;

// Where a part of a matrix is: in a tensor of the model, from its row `begin` on.
struct PartPlace {
  std::string tensor;
  size_t begin, rows;
  size_t paired = 0;  // the first rows of a head, in which RoPE turns neighbours; 0: not so
  size_t head_dim = 0;
  size_t units = 0,
         of_unit = 0;  // not 0: of so many heads the tensor has these rows of all parts, one head after the other

  // Where in the tensor a row of the part is: RoPE turns rows of the part that are half of these apart.
  size_t RowOf(size_t row) const {
    if (units > 0) return row / (rows / units) * of_unit + begin / units + row % (rows / units);
    const size_t in_head = paired == 0 ? 0 : row % head_dim, half = paired / 2;
    if (in_head >= paired) return begin + row;
    return begin + row - in_head + (in_head < half ? 2 * in_head : 2 * (in_head - half) + 1);
  }
};

// Calls visit(matrix parameter, [parts] places) for each matrix that an adapter may change.
template <class Visit>
void ForEachAdaptable(const ParameterList& list, Visit visit) {
  const TensorNames& names = internal::KnownTensorNames().front();
  for (const Parameter& parameter : list.parameters()) {
    const auto* const matrix = std::get_if<MatrixParameter>(&parameter.value);
    if (matrix == nullptr || !parameter.layer || matrix->parts.front().expert) continue;
    std::vector<PartPlace> places;
    for (const Part& part : matrix->parts) {
      const RowLayout layout = names.SpellingsOf(part.name).front().layout;
      const bool interleaved = layout.interleaved;
      PartPlace place = {names.NameOf(part.name, parameter.layer), interleaved ? part.interleaved.begin : 0, part.rows,
                         layout.pairs_adjacent ? part.head_dim : part.paired, part.head_dim};
      for (const PartPlace& other : places) {
        if (!interleaved && other.tensor == place.tensor) place.begin += other.rows;
      }
      if (layout.by_units) place.units = part.rows.units;
      places.push_back(std::move(place));
    }
    for (PartPlace& place : places) {
      if (place.units == 0) continue;
      for (const PartPlace& other : places) {
        if (other.tensor == place.tensor) place.of_unit += other.rows / place.units;
      }
    }
    visit(*matrix, places);
  }
}

// Returns pairs of the rank for every tensor that may have one, from a seed.
inline TestPairs RandomPairs(const ModelSpec& spec, uint64_t seed, size_t rank) {
  ModelWeights weights(spec);
  TestPairs pairs;
  ForEachAdaptable(ParametersOf(weights), [&](const MatrixParameter& matrix, const std::vector<PartPlace>& places) {
    for (size_t i = 0; i < places.size(); ++i) {
      TestPair& pair = pairs[places[i].tensor];
      pair.cols = matrix.cols, pair.rank = rank;
      const size_t all =
          internal::KnownTensorNames().front().SpellingsOf(matrix.parts[i].name).front().layout.interleaved
              ? matrix.parts[i].interleaved.rows
              : places[i].begin + places[i].rows;
      pair.rows = std::max(pair.rows, all);
    }
  });
  for (auto& [name, pair] : pairs) {
    ++seed;
    for (size_t i = 0; i < pair.rank * pair.cols; ++i) pair.a.push_back(0.2f * internal::UniformAt(seed, i));
    for (size_t i = 0; i < pair.rows * pair.rank; ++i) pair.b.push_back(0.1f * internal::UniformAt(seed + 1000, i));
  }
  return pairs;
}

// Returns F32 weights from a seed with the pairs merged in, computed in double.
inline ModelWeights MergedWeights(const ModelSpec& spec, uint64_t seed, const TestPairs& pairs) {
  ModelWeights weights = *RandomWeights(spec, seed, DType::kF32);
  ForEachAdaptable(ParametersOf(weights), [&](const MatrixParameter& matrix, const std::vector<PartPlace>& places) {
    size_t first = 0;
    for (const PartPlace& place : places) {
      const TestPair& pair = pairs.at(place.tensor);
      for (size_t r = 0; r < place.rows; ++r) {
        for (size_t c = 0; c < matrix.cols; ++c) {
          double sum = 0.0;
          for (size_t k = 0; k < pair.rank; ++k) {
            sum += double{pair.b[place.RowOf(r) * pair.rank + k]} * pair.a[k * pair.cols + c];
          }
          float& weight = matrix.target->As<float>()[PackedIndex<float>(first + r, c, matrix.target->padded_cols)];
          weight = static_cast<float>(weight + kTestAlpha / static_cast<double>(pair.rank) * sum);
        }
      }
      first += place.rows;
    }
  });
  return weights;
}

// The adapter_config.json that PEFT writes for such an adapter.
inline nlohmann::json PeftSettings(size_t rank) {
  return {{"peft_type", "LORA"},
          {"base_model_name_or_path", "somebody/some-model"},
          {"r", rank},
          {"lora_alpha", kTestAlpha},
          {"bias", "none"},
          {"fan_in_fan_out", false},
          {"init_lora_weights", true},
          {"modules_to_save", nullptr},
          {"rank_pattern", nlohmann::json::object()},
          {"alpha_pattern", nlohmann::json::object()},
          {"target_modules", {"q_proj", "v_proj"}},
          {"use_dora", false},
          {"use_rslora", false}};
}

inline std::vector<NewTensor> PeftTensors(const TestPairs& pairs) {
  std::vector<NewTensor> tensors;
  for (const auto& [name, pair] : pairs) {
    const std::string module = "base_model.model." + name.substr(0, name.rfind(".weight"));
    tensors.push_back(FloatTensor(module + ".lora_A.weight", {pair.rank, pair.cols}, pair.a));
    tensors.push_back(FloatTensor(module + ".lora_B.weight", {pair.rows, pair.rank}, pair.b));
  }
  return tensors;
}

inline void WritePeft(const std::filesystem::path& folder, const nlohmann::json& settings,
                      const std::vector<NewTensor>& tensors) {
  std::filesystem::create_directories(folder);
  WriteFile(folder / "adapter_config.json", settings.dump());
  WriteFile(folder / "adapter_model.safetensors", SafetensorsImage(tensors));
}

// The adapter of RandomPairs.
inline Adapter RandomAdapter(const ModelSpec& spec, uint64_t seed, size_t rank, const RankShare& share = {}) {
  const TemporaryFolder folder;
  WritePeft(folder.path(), PeftSettings(rank), PeftTensors(RandomPairs(spec, seed, rank)));
  auto adapter = LoadAdapter(folder.path(), spec, share);
  if (!adapter) FAIL(adapter.error().message);
  return std::move(*adapter);
}

}  // namespace skald::testing

#endif  // SKALD_TESTS_ADAPTERS_ADAPTER_FILES_H_
