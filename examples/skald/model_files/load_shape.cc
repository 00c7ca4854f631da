// SPDX-License-Identifier: Apache-2.0

#include "model_files/load_shape.h"

#include <utility>

#include "skald/model/load.h"
#include "skald/model/load_any.h"
#include "skald/model/rank_memory.h"
#include "skald/weights/files/checkpoint.h"
#include "skald/weights/packed_files/packed_file.h"

namespace skald::program {
namespace {

Result<LoadShape> OfPacked(const PackedFile& file, ModelSpec spec) {
  LoadShape shape{std::move(spec), {}};
  for (const PackedParameter& parameter : file.table().parameters) {
    if (parameter.cols == 0) continue;
    const auto dtype = static_cast<DType>(parameter.dtype);
    const auto has = [&](uint64_t what) { return (parameter.inputs & what) != 0; };
    shape.matrices.push_back(
        {dtype, has(PackedParameter::kOrder), has(PackedParameter::kFactors), has(PackedParameter::kRowScale)});
  }
  if (shape.matrices.size() == MatricesOf(shape.spec, DType::kBF16).size()) return shape;
  return Fail(ErrorCode::kDataLoss, file.path().string() + ": its parameters are not those of the model that it names");
}

}  // namespace

Result<LoadShape> ShapeOfLoad(const OpenedModel& model, DType type) {
  SKALD_ASSIGN(auto described, DescribeModel(model));
  if (model.packed() != nullptr) return OfPacked(*model.packed(), std::move(described.spec));
  SKALD_ASSIGN(const auto checkpoint, model.checkpoint());
  SKALD_ASSIGN(auto matrices, MatricesOf(*checkpoint, described.spec, type));
  for (PlannedMatrix& matrix : matrices) matrix.tensors.clear();  // names of the checkpoint
  return LoadShape{std::move(described.spec), std::move(matrices)};
}

}  // namespace skald::program
