// SPDX-License-Identifier: Apache-2.0
//
// ParameterList: every parameter of a model once, with the tensors that it is made from and its destination. Loading,
// packing, packed files, random weights and byte counts are loops over such a list; a model names its parameters
// nowhere else.

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

/// The expert that a tensor belongs to. Checkpoints hold a tensor for each, or all of them stacked in one.
struct ExpertIndex {
  /// Which expert it is; experts of the layer.
  size_t index, count;
  size_t chosen = count;  ///< how many of them compute one row
};

/// Where a part begins in a tensor that holds parts of several kinds, one head after the other, and all rows of that
/// tensor.
struct Interleaved {
  /// Rows of the tensor.
  size_t begin, rows;
};

/// A tensor by its name and its number of rows: outputs of a matrix, or elements of a vector. Names are those of the
/// Llama lineage; tensor_names.h translates them.
struct Part {
  std::string name;                        ///< within the layer
  Axis rows;                               ///< outputs, with the label by which ranks partition them
  size_t head_dim = 0;                     ///< rows of each head, if RoPE rotates them
  std::optional<ExpertIndex> expert = {};  ///< unset: of no expert
  Interleaved interleaved = {};            ///< in tensors whose names say that they are interleaved (Renaming)
  bool transposed = false;                 ///< stored as columns
  size_t paired = 0;  ///< of each head the first rows, which RoPE turns as neighbours in every file; 0: none
  /// Each column is divided by its norm (plus 1e-7), as NormHead has it (modeling_bailing_moe.py of
  /// https://github.com/inclusionAI/Ling, compute_logit): by the root of the sum of the squares of its elements in all
  /// rows.
  bool normed_columns = false;
};

/// A tensor of floats with any number of axes.
struct ArrayPart {
  std::string name;                        ///< within the layer
  std::vector<uint64_t> shape;             ///< outermost axis first
  std::optional<ExpertIndex> expert = {};  ///< unset: of no expert
  size_t units = 0;                        ///< of its outermost axis, as Axis has them
  size_t head_dim = 0;                     ///< elements of each head, if RoPE rotates them
};

/// The centre of a vector's random values, and their largest distance from it.
struct RandomRange {
  /// Values are in [center - spread, center + spread].
  float center = 0.0f, spread = 0.1f;
};

/// A function applied to the floats of a vector once they are read.
using Conversion = std::function<void(std::vector<float>&)>;

/// The matrices [rows, cols] of `parts`, stacked. Ranks partition its rows and columns by their labels. Where the label
/// of columns partitions them, each rank has the inputs of its own columns; where no label of rows does, all rows are
/// partitioned alike and every rank is given all outputs.
struct MatrixParameter {
  Matrix* target;                   ///< filled by loading; not owned
  Axis cols;                        ///< terms of each sum
  std::vector<Part> parts;          ///< one below the other
  std::optional<DType> dtype = {};  ///< its packed type, independent of the others; small, and every rank has all of it
  std::vector<Axis> row_axes = {};  ///< where the parts have more axes, or fewer, than each its own
  bool looked_up = false;           ///< an embedding: its rows are inputs, in the order of its columns

  /// Of all parts.
  size_t rows() const;
};

/// The matrices of `parts`, one after the other: each part is a tensor [count, rows, cols], `count` matrices [rows,
/// cols] or, transposed, [count, cols, rows].
struct BlocksParameter {
  std::vector<Matrix>* targets;  ///< those of each part that are `here`, one after the other
  /// Blocks of each part, and columns of each block.
  size_t count, cols;
  std::vector<Part> parts;  ///< each of `count` blocks
  PartitionedRange here;    ///< numbers of the blocks that this rank has
};

/// The elements of `parts`, row-major, joined and then converted.
struct VectorParameter {
  std::vector<float>* target;    ///< filled by loading; not owned
  std::vector<ArrayPart> parts;  ///< one after the other
  RandomRange random;            ///< for RandomWeights
  Conversion stored = {};        ///< of each element by itself; some files hold its results; null: none
  Conversion convert = {};       ///< after that, in all files; null: none
  std::vector<Axis> axes = {};   ///< of the elements after conversion; none: every rank has all

  size_t size() const;
};

/// Assumptions of a model about weights that files of some architectures break: converters to GGUF have changed them.
enum class Assumption : uint8_t {
  kNotMultiplied,  ///< without the constants that the model also multiplies by
  kHeadsInGroups,  ///< value heads that share a key head are neighbours
};

/// One array of weights, and the tensors that it is made from.
struct Parameter {
  std::optional<size_t> layer;  ///< the layer in whose names it is; of no layer: embedding, head and final norm
  std::variant<MatrixParameter, BlocksParameter, VectorParameter> value;  ///< matrix, blocks or vector
};

/// Refers to the weights that it lists, which must outlive it. Names are given without the layer's number.
class ParameterList {
 public:
  /// In the order in which they were added.
  const std::vector<Parameter>& parameters() const { return parameters_; }

  /// Tensors that may be present if they are copies of others: name and original.
  const std::vector<std::pair<std::string, std::string>>& copies() const { return copies_; }

  /// Tensors that may be present and are not read: layer and name.
  const std::vector<std::pair<std::optional<size_t>, std::string>>& unused() const { return unused_; }

  /// All that were added.
  const std::vector<Assumption>& assumptions() const { return assumptions_; }

  /// The rank whose part of each parameter is to be filled in. The list itself describes the whole parameters.
  const RankShare& share() const { return share_; }
  /// See share().
  void SetShare(const RankShare& share) { share_ = share; }

  /// Layer that the parameters added now belong to; nothing for those of none.
  std::optional<size_t> layer() const { return layer_; }
  /// Layer that the parameters added from now on belong to.
  void SetLayer(std::optional<size_t> layer) { layer_ = layer; }

  /// Adds a matrix that is multiplied. `target` must outlive the list; `row_axes` as in MatrixParameter.
  void AddMatrix(Matrix& target, Axis cols, std::vector<Part> parts, std::vector<Axis> row_axes = {});
  /// Adds an embedding, whose rows are looked up; it may be multiplied too.
  void AddEmbedding(Matrix& target, Axis cols, std::vector<Part> parts);
  /// Adds a matrix of a type of its own, which every rank has whole.
  void AddMatrix(Matrix& target, Axis cols, std::vector<Part> parts, DType dtype);
  /// Makes room for as many matrices as are here; they are multiplied together, by Operations::BlockMatMul. `count` is
  /// the axis of the blocks of each part.
  void AddBlocks(std::vector<Matrix>& targets, Axis count, size_t cols, std::vector<Part> parts);
  /// `axes` are those of the elements after conversion; none: every rank has all.
  void AddArray(std::vector<float>& target, std::vector<ArrayPart> parts, RandomRange random, Conversion convert = {},
                std::vector<Axis> axes = {});
  /// Adds the vectors of `parts`, joined: each part is a tensor of its rows' size. `axes` as in AddArray; none: those
  /// of the parts.
  void AddVector(std::vector<float>& target, const std::vector<Part>& parts, RandomRange random = {},
                 std::vector<Axis> axes = {});
  /// Adds the weight of a norm; the model multiplies by `offset` plus it.
  void AddNorm(std::vector<float>& target, std::string_view name, Axis size, float offset);
  /// The factor of time steps, given as a logarithm. `shape` is the tensor's where it has further axes of 1.
  void AddDecay(std::vector<float>& target, std::string name, Axis size, RandomRange random,
                std::vector<uint64_t> shape = {});
  /// The same of a matrix [rows, cols] in files, which becomes its transpose.
  void AddDecays(std::vector<float>& target, std::string name, Axis rows, size_t cols, RandomRange random);
  /// Notes what the model relies on; loading refuses files that break it.
  void Assume(Assumption assumption) { assumptions_.push_back(assumption); }
  /// Allows a tensor of the present layer that is not read.
  void AllowUnused(std::string name) { unused_.emplace_back(layer_, std::move(name)); }
  /// Allows a tensor that is a copy of another.
  void AllowCopy(std::string name, std::string original) { copies_.emplace_back(std::move(name), std::move(original)); }

 private:
  template <class Value>
  void Add(Value value);

  void MayBeStored(Conversion convert);

  RankShare share_;
  std::optional<size_t> layer_;
  std::vector<Parameter> parameters_;
  std::vector<std::pair<std::string, std::string>> copies_;
  std::vector<std::pair<std::optional<size_t>, std::string>> unused_;
  std::vector<Assumption> assumptions_;
};

/// Calls on_block(part, number, target) for every block of every part; the target is null if another rank has it.
template <class OnBlock>
void ForEachBlock(const BlocksParameter& blocks, OnBlock on_block) {
  Matrix* next = blocks.targets->data();
  for (const Part& part : blocks.parts) {
    for (size_t i = 0; i < blocks.count; ++i) on_block(part, i, blocks.here.Contains(i) ? next++ : nullptr);
  }
}

/// Calls on_matrix(matrix, rows, cols) or on_vector(vector, size) with every array of numbers that the list refers to
/// and its present or intended shape, in order.
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

/// Returns the type of a matrix that `table` has no entry for, or nothing if it has all of them.
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

/// Returns the bytes of all listed parameters, padding included.
size_t MemoryBytes(const ParameterList& list);

}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/weights/detail/parameters.h"
#endif

#endif  // SKALD_WEIGHTS_PARAMETERS_H_
