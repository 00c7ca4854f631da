// SPDX-License-Identifier: Apache-2.0
//
// Turns the pairs of an adapter's file into the products for each matrix of a model. The model's own list of parameters
// determines which matrix and which of its rows a pair belongs to, as it does for the model's tensors. If a matrix is
// stacked from several tensors, each may have its own pair; a tensor with several parts has one pair for all.

#ifndef SKALD_WEIGHTS_ADAPTERS_ADAPTER_PLAN_H_
#define SKALD_WEIGHTS_ADAPTERS_ADAPTER_PLAN_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "skald/base/numbers/group_types.h"
#include "skald/base/numbers/numeric.h"
#include "skald/base/result.h"
#include "skald/base/text/message.h"
#include "skald/base/threads/executor.h"
#include "skald/weights/adapters/adapter.h"
#include "skald/weights/adapters/adapter_file.h"
#include "skald/weights/files/checkpoint.h"
#include "skald/weights/files/tensor_names.h"
#include "skald/weights/files/tensor_view.h"
#include "skald/weights/packing/pack.h"
#include "skald/weights/parameters.h"
#include "skald/weights/tensor_finder.h"
#include "skald/weights/types/matrix.h"

namespace skald::internal {

/// The name of the tensor with a part.
inline std::string TensorOf(const TensorNames& names, size_t layer, const Spelling& spelling, size_t expert = 0) {
  std::string name = names.OfLayer(layer, spelling.name);
  if (const size_t number = name.find('#'); number != name.npos) name.replace(number, 1, std::to_string(expert));
  return name;
}

/// Returns which of the names in `known` the pairs follow: those with which most of them match a parameter of `list`.
inline const TensorNames& DetectAdapterNames(const AdapterFile& file, const ParameterList& list,
                                             std::span<const TensorNames> known) {
  const TensorNames* best = &known.front();
  size_t most = 0;
  for (const TensorNames& names : known) {
    size_t found = 0;
    for (const Parameter& parameter : list.parameters()) {
      const auto* const matrix = std::get_if<MatrixParameter>(&parameter.value);
      if (matrix == nullptr || !parameter.layer) continue;
      for (const Part& part : matrix->parts) {
        if (part.expert && part.expert->index > 0) continue;
        for (const Spelling& spelling : names.SpellingsOf(part.name)) {
          found += file.Find(TensorOf(names, *parameter.layer, spelling)) != nullptr;
        }
      }
    }
    if (found <= most) continue;
    most = found;
    best = &names;
  }
  return *best;
}

/// The file, the list and the possible names of tensors must outlive it.
class AdapterPlan {
 public:
  AdapterPlan(const AdapterFile& file, const ParameterList& list, std::span<const TensorNames> known)
      : file_(file),
        list_(list),
        names_(DetectAdapterNames(file, list, known)),
        second_halves_(file.path(), SecondHalves(file)),
        finder_(second_halves_, names_) {}

  /// Returns what is added to an embedding [entries, dim], `name` in the model's own list, if there is something: of
  /// files whose pairs of embeddings are [entries, rank] and [rank, dim]. Call before Make. Errors as those of Make.
  Result<std::optional<LowRankEmbedding>> MakeEmbedding(std::string_view name, size_t entries, size_t dim,
                                                        ExecutorRef executor) {
    const std::string spelled = names_.NameOf(name, {});
    const LoraPair* const pair = file_.Find(spelled);
    if (pair == nullptr) return std::optional<LowRankEmbedding>();
    used_.insert(spelled);
    const auto rank = static_cast<size_t>(pair->a->shape[1]);
    SKALD_TRY(CheckShape(*pair->a, entries, rank));
    SKALD_TRY(CheckShape(*pair->b, rank, dim));
    std::vector<float> b, turned(rank * dim);
    AppendFloats(pair->b->bytes.data(), *pair->b->dtype, rank * dim, b);
    for (size_t i = 0; i < b.size(); ++i) turned[i % dim * rank + i / dim] = static_cast<float>(pair->scale * b[i]);
    const WeightPacker& packer = *FindType(WeightPackersOf<WeightTypeList<float>>(), kAdapterType);
    const PackSource a_source[] = {{pair->a->bytes.data(), *pair->a->dtype, entries}};
    const PackSource b_source[] = {{reinterpret_cast<const std::byte*>(turned.data()), DType::kF32, dim}};
    return std::optional<LowRankEmbedding>(
        {PackMatrix(a_source, rank, packer, executor), PackMatrix(b_source, rank, packer, executor)});
  }

  /// Returns the products that the adapter adds to each matrix, in order. Errors name the tensor and what was expected:
  /// kUnsupported for a tensor that nothing can be added to, kInvalidArgument for sizes other than the model's.
  Result<std::vector<LowRank>> Make(ExecutorRef executor) {
    std::vector<LowRank> low_ranks;
    size_t number = 0;
    for (const Parameter& parameter : list_.parameters()) {
      const auto* const matrix = std::get_if<MatrixParameter>(&parameter.value);
      if (matrix == nullptr || !parameter.layer) continue;
      SKALD_ASSIGN(auto low, MakeOne(*matrix, *parameter.layer, number++, executor));
      if (low) low_ranks.push_back(std::move(*low));
    }
    SKALD_TRY(CheckAllUsed());
    return low_ranks;
  }

 private:
  using Place = TensorFinder::Place;

  /// A part of a matrix that has a pair.
  struct AdaptedPart {
    const Part* part;
    size_t row;  ///< first row of the part in the matrix
    Place place;
    const LoraPair* pair;
  };

  /// The second halves of all pairs. Their rows are laid out like those of the model's tensors whose names they have.
  static std::vector<TensorView> SecondHalves(const AdapterFile& file) {
    std::vector<TensorView> tensors;
    for (const auto& [name, pair] : file.pairs()) tensors.emplace_back(*pair.b).name = name;
    return tensors;
  }

  Result<std::optional<LowRank>> MakeOne(const MatrixParameter& matrix, size_t layer, size_t number,
                                         ExecutorRef executor) {
    SKALD_ASSIGN(const auto parts, PartsOf(matrix, layer));
    if (parts.empty()) return std::optional<LowRank>();
    std::vector<const LoraPair*> pairs;  // each once: their ranks are concatenated
    std::vector<PackSource> sources;
    size_t rank = 0;
    for (const AdaptedPart& part : parts) {
      if (std::ranges::find(pairs, part.pair) != pairs.end()) continue;
      pairs.push_back(part.pair);
      rank += static_cast<size_t>(part.pair->rank());
      sources.push_back({part.pair->a->bytes.data(), *part.pair->a->dtype, static_cast<size_t>(part.pair->rank())});
    }
    std::vector<float> b(matrix.rows() * rank);
    for (const AdaptedPart& part : parts) {
      size_t column = 0;
      for (const LoraPair* pair : pairs) {
        if (pair == part.pair) break;
        column += static_cast<size_t>(pair->rank());
      }
      SKALD_TRY(FillRows(part, column, rank, b));
    }
    const PackSource b_source[] = {{reinterpret_cast<const std::byte*>(b.data()), DType::kF32, matrix.rows()}};
    const WeightPacker& packer = *FindType(WeightPackersOf<WeightTypeList<float>>(), kAdapterType);
    return std::optional<LowRank>(
        {number, PackMatrix(sources, matrix.cols, packer, executor), PackMatrix(b_source, rank, packer, executor)});
  }

  /// Returns the parts of a matrix that have a pair, with checked sizes.
  Result<std::vector<AdaptedPart>> PartsOf(const MatrixParameter& matrix, size_t layer) {
    std::vector<AdaptedPart> adapted;
    if (matrix.parts.front().expert) return NoExperts(matrix, layer, adapted);
    const auto places = finder_.PlacesOf(matrix.parts, layer, [](const Part& part) { return part.rows; });
    size_t row = 0;
    for (size_t i = 0; i < places.size(); row += matrix.parts[i++].rows) {
      AdaptedPart part = {&matrix.parts[i], row, places[i], file_.Find(places[i].spelling.name)};
      if (part.pair == nullptr || IsOfAnother(part, layer)) continue;
      used_.insert(part.place.spelling.name);
      SKALD_TRY(CheckSizes(part, matrix.cols));
      adapted.push_back(std::move(part));
    }
    return adapted;
  }

  /// Some files have a tensor for two parts under the name that it has in others for one of them alone: a pair with the
  /// rows of that one belongs to that one.
  bool IsOfAnother(AdaptedPart& part, size_t layer) const {
    const uint64_t rows = part.pair->b->shape[0];
    if (rows == part.place.rows || rows != part.part->rows || part.place.spelling.layout.interleaved) return false;
    part.place.rows = part.part->rows, part.place.begin = 0;
    return part.place.spelling.name != names_.NameOf(part.part->name, layer);
  }

  Result<void> CheckSizes(const AdaptedPart& part, size_t cols) const {
    SKALD_TRY(CheckShape(*part.pair->a, part.pair->rank(), cols));
    return CheckShape(*part.pair->b, part.place.rows, part.pair->rank());
  }

  Result<void> CheckShape(const TensorView& tensor, uint64_t rows, uint64_t columns) const {
    if (tensor.shape[0] == rows && tensor.shape[1] == columns) return {};
    const uint64_t expected[] = {rows, columns};
    return file_.Refuse(ErrorCode::kInvalidArgument,
                        Concat({QuotedName(tensor.name), ": expected shape ", ShapeText(expected), ", found ",
                                ShapeText(tensor.shape), "; the adapter is for another model"}));
  }

  /// Refuses pairs of an expert's matrix, which is multiplied by a choice of rows.
  Result<std::vector<AdaptedPart>> NoExperts(const MatrixParameter& matrix, size_t layer,
                                             std::vector<AdaptedPart> none) const {
    for (const Part& part : matrix.parts) {
      for (const Spelling& spelling : names_.SpellingsOf(part.name)) {
        const std::string name = TensorOf(names_, layer, spelling, part.expert->index);
        if (file_.Find(name) == nullptr) continue;
        return file_.Refuse(ErrorCode::kUnsupported,
                            Concat({QuotedName(name), ": adapters of experts are not supported"}));
      }
    }
    return none;
  }

  /// Writes the part's rows of its pair's second half, scaled, to columns from `column` on of `b`, [rows, rank].
  Result<void> FillRows(const AdaptedPart& part, size_t column, size_t rank, std::vector<float>& b) {
    const auto own_rank = static_cast<size_t>(part.pair->rank());
    Place place = part.place;
    RowLayout& layout = place.spelling.layout;
    if (!layout.interleaved) layout.transposed = false;  // pairs are not, where the model's matrices are
    const TensorRows rows = finder_.RequireRows(*part.part, place, own_rank);
    if (!finder_.status()) return finder_.status();
    const std::vector<std::byte> moved = MovedRows(rows, TurnedRows(*part.part));
    std::vector<float> values;
    AppendFloats(moved.empty() ? rows.view->bytes.data() : moved.data(), *rows.view->dtype, part.part->rows * own_rank,
                 values);
    for (size_t i = 0; i < values.size(); ++i) {
      b[(part.row + i / own_rank) * rank + column + i % own_rank] = static_cast<float>(part.pair->scale * values[i]);
    }
    return {};
  }

  /// Refuses pairs that belong to no matrix.
  Result<void> CheckAllUsed() {
    for (const auto& [layer, name] : list_.unused()) {
      if (layer) used_.insert(names_.NameOf(name, layer));
    }
    for (const auto& [name, pair] : file_.pairs()) {
      if (used_.contains(name)) continue;
      return file_.Refuse(
          ErrorCode::kUnsupported,
          Concat({QuotedName(name), IsParameter(name) ? ": adapters of embeddings, output heads, norms, convolutions "
                                                        "and stacked matrices of heads are not supported"
                                                      : ": the model has no matrix of this name that an adapter may "
                                                        "add to; is the adapter for another model?"}));
    }
    return {};
  }

  /// Whether a tensor is a parameter of the model other than the layers' matrices.
  bool IsParameter(std::string_view tensor) const {
    for (const Parameter& parameter : list_.parameters()) {
      const bool found = std::visit(
          [&](const auto& value) {
            return std::ranges::any_of(value.parts, [&](const auto& part) {
              if (!parameter.layer) return names_.NameOf(part.name, {}) == tensor;
              return std::ranges::any_of(names_.SpellingsOf(part.name), [&](const Spelling& spelling) {
                return TensorOf(names_, *parameter.layer, spelling) == tensor;
              });
            });
          },
          parameter.value);
      if (found) return true;
    }
    return tensor == names_.NameOf("lm_head.weight", {});
  }

  const AdapterFile& file_;
  const ParameterList& list_;
  const TensorNames& names_;
  const Checkpoint second_halves_;
  TensorFinder finder_;
  std::set<std::string, std::less<>> used_;
};

}  // namespace skald::internal

#endif  // SKALD_WEIGHTS_ADAPTERS_ADAPTER_PLAN_H_
