// SPDX-License-Identifier: Apache-2.0
//
// ParameterList: every parameter of a model once, with the tensors that it is made from and where it goes. Loading,
// packing, packed files, random weights and byte counts are loops over such a list; what makes a model names its
// parameters nowhere else.

#ifndef SKALD_WEIGHTS_PARAMETERS_H_
#define SKALD_WEIGHTS_PARAMETERS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "skald/base/numbers/numeric.h"
#include "skald/base/ranks/rank_share.h"
#include "skald/weights/types/matrix.h"

namespace skald {

/// Which of a number of experts a tensor belongs to. Checkpoints hold a tensor for each, or all of them stacked in one.
struct ExpertIndex {
  size_t index, count;
  size_t chosen = count;  ///< how many of them compute one row
};

/// Where a part begins in a tensor that holds parts of several kinds, one head after the other, and all rows of that.
struct Interleaved {
  size_t begin, rows;
};

/// A tensor by its name and its number of rows: outputs of a matrix, or elements of a vector. Names are those of the
/// Llama lineage; tensor_names.h translates them.
struct Part {
  std::string name;
  size_t rows;
  size_t head_dim = 0;  ///< rows of each head, if RoPE turns them
  std::optional<ExpertIndex> expert = {};
  Interleaved interleaved = {};  ///< in tensors whose names say that they are so (Renaming)
  bool transposed = false;       ///< lies as columns
};

/// A tensor of floats with any number of axes.
struct ArrayPart {
  std::string name;
  std::vector<uint64_t> shape;
  std::optional<ExpertIndex> expert = {};
};

/// What random values of a vector lie around, and how far from it they go.
struct RandomRange {
  float center = 0.0f, spread = 0.1f;
};

/// What becomes of the floats of a vector once they are read.
using Conversion = std::function<void(std::vector<float>&)>;

/// How a matrix is partitioned to ranks by what a layer has: heads, say, or columns of a feed-forward layer. Where
/// there are fewer of those than ranks, or none are named, all rows are partitioned alike and every rank is given all
/// outputs.
struct Partitioning {
  size_t output_units = 0;   ///< that the rows of each part are: those of a rank's units stay with it
  size_t input_units = 0;    ///< that the columns are: each rank has the inputs of its own units
  size_t input_tiles = 1;    ///< tiles of columns, one after the other, each of which is partitioned in these units
  size_t input_sharers = 1;  ///< ranks that may share a unit (PartitionedSection)
  std::vector<PartitionedSection> sections = {};  ///< of the rows, where these are not the parts
};

/// The matrices [rows, cols] of `parts`, stacked.
struct MatrixParameter {
  Matrix* target;
  size_t cols;
  std::vector<Part> parts;
  std::optional<DType> dtype = {};  ///< packed so, whatever the rest is; small, and every rank has all of it
  Partitioning partitioning = {};

  size_t rows() const;
};

/// The matrices of `parts`, one after the other: each part is a tensor [count, rows, cols], `count` matrices [rows,
/// cols] or, transposed, [count, cols, rows].
struct BlocksParameter {
  std::vector<Matrix>* targets;  ///< of each part, one after the other, those that are `here`
  size_t count, cols;
  std::vector<Part> parts;
  PartitionedRange here;  ///< numbers of the blocks that this rank has
};

/// The elements of `parts`, row-major, joined and then converted.
struct VectorParameter {
  std::vector<float>* target;
  std::vector<ArrayPart> parts;
  RandomRange random;
  Conversion convert = {};
  bool may_be_converted = false;                  ///< some files store what it is converted to
  std::vector<PartitionedSection> sections = {};  ///< of the elements once they are converted; none: every rank has all

  size_t size() const;
};

/// What a model takes weights for, where files of some architectures hold others: converters to GGUF have changed them.
enum class Assumption : uint8_t {
  kNotMultiplied,  ///< without the constants that the model multiplies by besides
  kHeadsInGroups,  ///< value heads that share a key head are neighbours
};

struct Parameter {
  std::optional<size_t> layer;  ///< whose part of the names it has; of no layer: embedding, head and final norm
  std::variant<MatrixParameter, BlocksParameter, VectorParameter> value;
};

/// Refers to the weights that it lists, which must outlive it. Names are given without the layer's number.
class ParameterList {
 public:
  const std::vector<Parameter>& parameters() const { return parameters_; }

  /// A tensor that may be there if it is a copy of another one: name and original.
  const std::vector<std::pair<std::string, std::string>>& copies() const { return copies_; }

  /// Tensors that may be there and are not read: layer and name.
  const std::vector<std::pair<std::optional<size_t>, std::string>>& unused() const { return unused_; }

  const std::vector<Assumption>& assumptions() const { return assumptions_; }

  /// Whose part of each parameter is to be filled in. The list itself says what the whole ones are.
  const RankShare& share() const { return share_; }
  void SetShare(const RankShare& share) { share_ = share; }

  /// Layer that the parameters added from now on belong to.
  void SetLayer(std::optional<size_t> layer) { layer_ = layer; }

  void AddMatrix(Matrix& target, size_t cols, std::vector<Part> parts, std::optional<DType> dtype = {});
  void AddMatrix(Matrix& target, size_t cols, std::vector<Part> parts, Partitioning partitioning);
  /// Makes room for as many matrices as are here; they are multiplied together, by Operations::BlockMatMul. The blocks
  /// of each part are partitioned to ranks in `units`; 0: every rank has all.
  void AddBlocks(std::vector<Matrix>& targets, size_t count, size_t cols, std::vector<Part> parts, size_t units = 0);
  void AddArray(std::vector<float>& target, std::vector<ArrayPart> parts, RandomRange random, Conversion convert = {});
  void AddVector(std::vector<float>& target, const std::vector<Part>& parts, RandomRange random = {});
  /// One that goes with the outputs of a matrix, each part partitioned to ranks by the same units.
  void AddPartitionedVector(std::vector<float>& target, const std::vector<Part>& parts, size_t units,
                            RandomRange random = {});
  /// Says how the vector that was added last is partitioned to ranks.
  void PartitionVector(std::vector<PartitionedSection> sections);
  void AddNorm(std::vector<float>& target, std::string_view name, size_t size, bool unit_offset);
  /// What time steps are multiplied by, given as a logarithm.
  void AddDecay(std::vector<float>& target, std::string name, size_t size, RandomRange random);
  void Assume(Assumption assumption) { assumptions_.push_back(assumption); }
  void AllowUnused(std::string name) { unused_.emplace_back(layer_, std::move(name)); }
  void AllowCopy(std::string name, std::string original) { copies_.emplace_back(std::move(name), std::move(original)); }

 private:
  template <class Value>
  void Add(Value value);

  void MayBeConverted(Conversion convert);

  static std::vector<ArrayPart> ArraysOf(const std::vector<Part>& parts);

  RankShare share_;
  std::optional<size_t> layer_;
  std::vector<Parameter> parameters_;
  std::vector<std::pair<std::string, std::string>> copies_;
  std::vector<std::pair<std::optional<size_t>, std::string>> unused_;
  std::vector<Assumption> assumptions_;
};

/// Calls on_block(part, number, target) for every block of every part; the target is null where other ranks have it.
template <class OnBlock>
void ForEachBlock(const BlocksParameter& blocks, OnBlock on_block) {
  Matrix* next = blocks.targets->data();
  for (const Part& part : blocks.parts) {
    for (size_t i = 0; i < blocks.count; ++i) on_block(part, i, blocks.here.Contains(i) ? next++ : nullptr);
  }
}

/// Calls on_matrix(matrix, rows, cols) or on_vector(vector, size) with every array of numbers that the list refers to
/// and the shape it has or is to have, in order.
template <class OnMatrix, class OnVector>
void ForEachArray(const ParameterList& list, OnMatrix on_matrix, OnVector on_vector) {
  for (const Parameter& parameter : list.parameters()) {
    if (const auto* matrix = std::get_if<MatrixParameter>(&parameter.value)) {
      on_matrix(*matrix->target, matrix->rows(), matrix->cols);
    } else if (const auto* blocks = std::get_if<BlocksParameter>(&parameter.value)) {
      for (size_t i = 0; i < blocks->targets->size(); ++i) {
        on_matrix((*blocks->targets)[i], blocks->parts[i / blocks->here.size()].rows, blocks->cols);
      }
    } else {
      const auto& vector = std::get<VectorParameter>(parameter.value);
      on_vector(*vector.target, vector.size());
    }
  }
}

/// Returns the type of a matrix that `table` has no entry for, or nothing where it has all of them.
template <class Entry>
std::optional<DType> FindTypeOutside(std::span<const Entry> table, const ParameterList& list) {
  std::optional<DType> outside;
  ForEachArray(
      list,
      [&](const Matrix& matrix, size_t, size_t) {
        if (FindType(table, matrix.dtype) == nullptr) outside = matrix.dtype;
      },
      [](const std::vector<float>&, size_t) {});
  return outside;
}

/// Returns the bytes of all that the list refers to, padding included.
size_t MemoryBytes(const ParameterList& list);

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/weights/detail/parameters.h"
#endif

#endif  // SKALD_WEIGHTS_PARAMETERS_H_
