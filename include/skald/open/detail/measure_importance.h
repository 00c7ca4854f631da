// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/open/measure_importance.h.

#ifndef SKALD_OPEN_DETAIL_MEASURE_IMPORTANCE_H_
#define SKALD_OPEN_DETAIL_MEASURE_IMPORTANCE_H_

#include "skald/open/measure_importance.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "skald/base/files/path_text.h"
#include "skald/base/inline.h"
#include "skald/base/no_throw.h"
#include "skald/base/text/message.h"
#include "skald/cache/create.h"
#include "skald/families/gguf_metadata.h"
#include "skald/families/registry.h"
#include "skald/layers/model_weights.h"

namespace skald {

namespace internal {

// The sums of the matrices of layers.
class ImportanceSums {
 public:
  void Add(const MatrixInputs& inputs) {
    const auto found = sums_.find(&inputs.weights);
    if (found == sums_.end()) return;  // the head, or what no file has
    Sums& sums = found->second;
    sums.squares.resize(inputs.weights.cols);
    for (size_t row = 0; row < inputs.rows; ++row) {
      const float* const values = inputs.input.data + row * inputs.input.stride;
      for (size_t i = 0; i < sums.squares.size(); ++i) sums.squares[i] += double{values[i]} * double{values[i]};
    }
    sums.rows += inputs.rows;
  }

  // Matrix number `index` of a tensor that has `count` with inputs of their own.
  void Watch(const Matrix& matrix, std::string tensor, size_t index, size_t count) {
    std::vector<Place>& places = sums_[&matrix].places;
    if (places.empty() || places.back().tensor != tensor) places.push_back({std::move(tensor), index, count});
  }

  Result<ImportanceMatrix> Finish() const {
    ImportanceMatrix matrix;
    for (const auto& [weights, sums] : sums_) {
      for (const Place& place : sums.places) {
        TensorImportance& tensor = matrix.tensors[place.tensor];
        const size_t cols = weights->cols;
        tensor.sums.resize(place.count * cols), tensor.counts.resize(place.count);
        tensor.counts[place.index] = static_cast<float>(sums.rows);
        for (size_t i = 0; i < sums.squares.size(); ++i) {
          if (!std::isfinite(sums.squares[i])) {
            return Fail(ErrorCode::kFailedPrecondition,
                        Concat({QuotedName(place.tensor), ": its inputs are not finite"}));
          }
          tensor.sums[place.index * cols + i] = static_cast<float>(sums.squares[i]);
        }
      }
    }
    return matrix;
  }

 private:
  struct Place {
    std::string tensor;
    size_t index, count;
  };
  struct Sums {
    std::vector<Place> places;
    std::vector<double> squares;  // [cols], once there are any
    uint64_t rows = 0;
  };
  std::unordered_map<const Matrix*, Sums> sums_;
};

// Names of tensors in a GGUF file: of `checkpoint` if it is one, else of the file that the model would be written to.
class GgufNames {
 public:
  GgufNames(const TensorNames& names, const Checkpoint* file) : names_(names), file_(file) {}

  // Returns nothing for a part whose tensor has other columns there, or which is in no tensor.
  std::optional<std::string> Of(const Part& part, size_t layer) const {
    for (const Spelling& spelling : names_.SpellingsOf(part.name)) {
      std::string name = names_.OfLayer(layer, spelling.name);
      if (part.transposed || spelling.layout.transposed || spelling.layout.interleaved) continue;
      if (file_ == nullptr || file_->Find(name) != nullptr) return name;
    }
    return std::nullopt;
  }

 private:
  const TensorNames& names_;
  const Checkpoint* file_;
};

inline ImportanceSums WatchedMatrices(const ModelWeights& weights, const GgufNames& names) {
  ImportanceSums sums;
  const ParameterList list = ParametersOf(weights);
  for (const Parameter& parameter : list.parameters()) {
    if (!parameter.layer) continue;
    const auto watch = [&](const Matrix& matrix, const Part& part, size_t index, size_t count) {
      if (auto name = names.Of(part, *parameter.layer)) sums.Watch(matrix, std::move(*name), index, count);
    };
    if (const auto* const matrix = std::get_if<MatrixParameter>(&parameter.value)) {
      for (const Part& part : matrix->parts) {
        watch(*matrix->target, part, part.expert ? part.expert->index : 0, part.expert ? part.expert->count : 1);
      }
    } else if (const auto* const blocks = std::get_if<BlocksParameter>(&parameter.value)) {
      ForEachBlock(*blocks, [&](const Part& part, size_t number, const Matrix* target) {
        if (target != nullptr) watch(*target, part, number, blocks->count);
      });
    }
  }
  return sums;
}

inline Result<ImportanceMatrix> ReadAll(const AnyModel& model, std::span<const int32_t> tokens, ImportanceSums sums,
                                        Workspace& workspace, const ImportanceOptions& options) {
  const size_t size = options.chunk_tokens, chunks = size == 0 ? 0 : tokens.size() / size;
  if (chunks == 0) {
    return Fail(ErrorCode::kInvalidArgument,
                Concat({"the text has ", std::to_string(tokens.size()), " tokens, expected at least ",
                        std::to_string(size), ", one piece"}));
  }
  const ForwardOptions forward{.matrix_observer = [&](const MatrixInputs& inputs) { sums.Add(inputs); }};
  SKALD_ASSIGN(auto cache, CreateKVCache(model.layout(), {.max_tokens = options.chunk_tokens}));
  size_t done = 0;
  for (; done < chunks; ++done) {
    std::vector<int32_t> chunk(tokens.begin() + static_cast<ptrdiff_t>(done * size),
                               tokens.begin() + static_cast<ptrdiff_t>((done + 1) * size));
    if (options.bos) chunk.front() = *options.bos;
    cache.Clear();
    SKALD_TRY(model.Forward(cache, chunk, workspace, forward));
    if (options.progress && !options.progress(done + 1, chunks)) {
      ++done;
      break;
    }
  }
  SKALD_ASSIGN(auto matrix, sums.Finish());
  matrix.chunks = static_cast<uint32_t>(done), matrix.chunk_tokens = options.chunk_tokens;
  return matrix;
}

}  // namespace internal

SKALD_INLINE Result<ImportanceMatrix> MeasureImportance(const ModelInfo& info, const AnyModel& model,
                                                        std::span<const int32_t> tokens, Workspace& workspace,
                                                        const ImportanceOptions& options) {
  const std::string shown = PathText(info.model.path());
  return NoThrow(shown, [&]() -> Result<ImportanceMatrix> {
    const auto measure = [&](const TensorNames& names, const Checkpoint* file) {
      const internal::GgufNames of_file(names, file);
      return internal::ReadAll(model, tokens, internal::WatchedMatrices(model.weights(), of_file), workspace, options);
    };
    if (info.model.gguf() != nullptr) {
      SKALD_ASSIGN(const auto checkpoint, info.model.checkpoint());
      return measure(internal::TensorNamesOf(*checkpoint), checkpoint.get());
    }
    auto described = DescribeForGguf(info.spec, info.family, options.chunk_tokens);
    if (!described) return Annotate(shown, described);
    return measure(described->names, nullptr);
  });
}

}  // namespace skald

#endif  // SKALD_OPEN_DETAIL_MEASURE_IMPORTANCE_H_
