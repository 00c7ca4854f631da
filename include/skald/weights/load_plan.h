// SPDX-License-Identifier: Apache-2.0
//
// Loading in two steps. A LoadPlan first finds and checks every tensor that a model needs and refuses unexpected ones,
// without reading a parameter; then it packs them. So a bad checkpoint fails at once, before anything is loaded.

#ifndef SKALD_WEIGHTS_LOAD_PLAN_H_
#define SKALD_WEIGHTS_LOAD_PLAN_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "skald/base/numbers/numeric.h"
#include "skald/base/ranks/rank_share.h"
#include "skald/base/result.h"
#include "skald/base/threads/executor.h"
#include "skald/weights/files/checkpoint.h"
#include "skald/weights/files/tensor_names.h"
#include "skald/weights/files/tensor_view.h"
#include "skald/weights/load_options.h"
#include "skald/weights/packing/pack.h"
#include "skald/weights/packing/pack_rows.h"
#include "skald/weights/parameters.h"
#include "skald/weights/partitioned_parameters.h"
#include "skald/weights/tensor_finder.h"
#include "skald/weights/types/column_inputs.h"
#include "skald/weights/types/matrix.h"
#include "skald/weights/types/planned_matrix.h"

namespace skald {

namespace internal {

/// Collects where each tensor goes. The checkpoint, the names and all targets must outlive the plan.
class LoadPlan {
 public:
  // Matrices of floats are packed as `of_floats`, which must be among the packers' types. Fills in `share`'s part of
  // each parameter.
  LoadPlan(const Checkpoint& checkpoint, const TensorNames& names, DType of_floats,
           std::span<const WeightPacker> packers, const RankShare& share = {});

  /// `parameter` must outlive the plan.
  void Add(const Parameter& parameter);

  /// Permits `our_name` to be present; it is not used.
  void AllowUnused(std::optional<size_t> layer, std::string_view our_name) { finder_.AllowUnused(layer, our_name); }

  /// Permits `our_name` to be absent, or a copy of the tensor `our_original`.
  void AllowCopy(std::string_view our_name, std::string_view our_original);

  /// Returns the first error of the whole plan. Tensors of the language model that no parameter needs are an error,
  /// unless the plan `is_part` of what the checkpoint is for.
  Result<void> Check(bool is_part = false);

  /// Returns how matrices are packed, in the order of packed files. Call after Check succeeded.
  std::vector<PlannedMatrix> Matrices() const;

  /// Returns the tensors that no parameter needs. Call after Check succeeded.
  std::vector<const TensorView*> LeftOut() const { return finder_.LeftOut(); }

  /// Fills every target. Call after Check succeeded.
  void Execute(ExecutorRef executor, const std::function<void(const LoadProgress&)>& progress);

 private:
  struct MatrixStep {
    Matrix* target;  ///< null if other ranks have it
    size_t cols;
    std::vector<TensorRows> parts;
    std::vector<TurnedRows> turned;  ///< of each part
    std::optional<DType> dtype;
    PartitionedRows here;
    const WeightPacker* packer = nullptr;
    bool may_have_inputs = false;  ///< ColumnInputs
    bool row_scale = false;
    ColumnInputs inputs = {};
  };
  struct VectorStep {
    const VectorParameter* parameter;
    std::vector<TensorRows> parts;
  };

  void Add(const MatrixParameter& parameter, std::optional<size_t> layer);

  void AddRows(const MatrixParameter& parameter, PartitionedRows here, std::optional<size_t> layer,
               bool may_have_inputs);

  void Add(const BlocksParameter& parameter, std::optional<size_t> layer);

  void Add(const VectorParameter& parameter, std::optional<size_t> layer);

  /// Takes the codes that the file has, if the columns of all parts multiply the same inputs.
  void ChooseInputs(MatrixStep& step);

  /// Determines how a matrix is packed once its tensors are known.
  void ChoosePacker(MatrixStep& step);

  /// Determines whether inputs have a scale for each row, once the packer is known.
  void ChooseRowScale(MatrixStep& step);

  void RefuseRowScale(const TensorView& tensor);

  void Report(const TensorView& tensor, uint64_t bytes, const std::function<void(const LoadProgress&)>& progress);

  void ReadVector(const VectorStep& step, const std::function<void(const LoadProgress&)>& progress);

  /// The stacked tensors' rows in `ranges`, and the tensor that each source is from.
  struct CutRows {
    std::vector<PackSource> sources;
    std::vector<const TensorView*> tensors;
    uint64_t left_out = 0;  ///< bytes

    CutRows(std::span<const PackSource> whole, std::span<const TensorRows> parts,
            std::span<const PartitionedRange> ranges, size_t cols);
  };

  void ReadMatrix(const MatrixStep& step, ExecutorRef executor,
                  const std::function<void(const LoadProgress&)>& progress);

  /// Returns the type that the stacked tensors are packed as: the one that represents the file's quantised types
  /// exactly, or the type for floats if any tensor holds floats.
  static DType PackedType(std::span<const TensorRows> parts, DType of_floats);

  TensorFinder finder_;
  const DType of_floats_;
  const std::span<const WeightPacker> packers_;
  const RankShare share_;
  std::vector<MatrixStep> matrices_;
  std::vector<VectorStep> vectors_;
  uint64_t bytes_done_ = 0;
};

}  // namespace internal
}  // namespace skald

#ifndef SKALD_COMPILED
#include "skald/weights/detail/load_plan.h"
#endif

#endif  // SKALD_WEIGHTS_LOAD_PLAN_H_
