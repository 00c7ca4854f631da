// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/weights/load_plan.h.

#ifndef SKALD_WEIGHTS_DETAIL_LOAD_PLAN_H_
#define SKALD_WEIGHTS_DETAIL_LOAD_PLAN_H_

#include "skald/weights/load_plan.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "skald/base/inline.h"
#include "skald/base/numbers/xxh64.h"
#include "skald/base/text/message.h"
#include "skald/weights/types/code_group.h"
#include "skald/weights/types/division.h"
#include "skald/weights/types/matrix_bytes.h"

namespace skald {

namespace internal {

SKALD_INLINE LoadPlan::LoadPlan(const Checkpoint& checkpoint, const TensorNames& names, DType of_floats,
                                std::span<const WeightPacker> packers, const RankShare& share)
    : finder_(checkpoint, names), of_floats_(of_floats), packers_(packers), share_(share) {}

SKALD_INLINE void LoadPlan::Add(const Parameter& parameter) {
  std::visit([&](const auto& value) { Add(value, parameter.layer); }, parameter.value);
}

SKALD_INLINE void LoadPlan::AllowCopy(std::string_view our_name, std::string_view our_original) {
  finder_.AllowCopy(our_name, our_original);
}

SKALD_INLINE Result<void> LoadPlan::Check(bool is_part) {
  for (MatrixStep& step : matrices_) {
    ChooseInputs(step);
    ChoosePacker(step);
    ChooseRowScale(step);
  }
  if (!is_part) finder_.CheckAllUsed();
  return finder_.status();
}

SKALD_INLINE std::vector<PlannedMatrix> LoadPlan::Matrices() const {
  std::vector<PlannedMatrix> matrices;
  for (const MatrixStep& step : matrices_) {
    PlannedMatrix& matrix = matrices.emplace_back(
        PlannedMatrix{step.packer->type, !step.inputs.order.empty(), !step.inputs.factors.empty(), step.row_scale});
    for (const TensorRows& part : step.parts) matrix.tensors.push_back(part.view->name);
  }
  return matrices;
}

SKALD_INLINE void LoadPlan::Execute(ExecutorRef executor, const std::function<void(const LoadProgress&)>& progress) {
  for (const VectorStep& step : vectors_) ReadVector(step, progress);
  for (const MatrixStep& step : matrices_) ReadMatrix(step, executor, progress);
}

SKALD_INLINE void LoadPlan::Add(const MatrixParameter& parameter, std::optional<size_t> layer) {
  AddRows(parameter, RowsHere(parameter, share_), layer, !parameter.looked_up && !parameter.dtype);
}

SKALD_INLINE void LoadPlan::AddRows(const MatrixParameter& parameter, PartitionedRows here, std::optional<size_t> layer,
                                    bool may_have_inputs) {
  MatrixStep step{parameter.target, parameter.cols, {}, {}, parameter.dtype, std::move(here)};
  const auto places = finder_.PlacesOf(parameter.parts, layer, [](const Part& part) { return part.rows; });
  for (size_t i = 0; i < places.size(); ++i) {
    step.parts.push_back(finder_.RequireRows(parameter.parts[i], places[i], parameter.cols));
    step.turned.emplace_back(parameter.parts[i]);
  }
  step.may_have_inputs = may_have_inputs;
  matrices_.push_back(std::move(step));
}

SKALD_INLINE void LoadPlan::Add(const BlocksParameter& parameter, std::optional<size_t> layer) {
  ForEachBlock(parameter, [&](const Part& part, size_t i, Matrix* target) {
    Part block = part;
    block.expert = {i, parameter.count};
    AddRows(MatrixParameter{target, parameter.cols, {std::move(block)}}, {{{0, part.rows}}}, layer,
            /*may_have_inputs=*/false);
    const TensorView* const tensor = matrices_.back().parts.front().view;
    if (tensor != nullptr && tensor->row_scale) RefuseRowScale(*tensor);
  });
}

SKALD_INLINE void LoadPlan::Add(const VectorParameter& parameter, std::optional<size_t> layer) {
  VectorStep step{&parameter, {}};
  const auto rows = [](const ArrayPart& part) -> size_t { return part.shape.empty() ? 1 : part.shape.front(); };
  const auto places = finder_.PlacesOf(parameter.parts, layer, rows);
  for (size_t i = 0; i < places.size(); ++i) {
    TensorRows& part = step.parts.emplace_back(finder_.RequireArray(parameter.parts[i], places[i]));
    const size_t head_dim = parameter.parts[i].head_dim;
    if (part.view == nullptr || !part.view->rope_pairs_adjacent || head_dim == 0) continue;
    part.gather = [part, head_dim] { return MovedRows(part, TurnedRows(head_dim)); };
  }
  vectors_.push_back(std::move(step));
}

SKALD_INLINE void LoadPlan::ChooseInputs(MatrixStep& step) {
  if (!step.may_have_inputs || !finder_.status() || step.parts.front().coded == nullptr) return;
  const ColumnInputs inputs = step.parts.front().coded->inputs();
  const auto has = [&](const TensorRows& part) { return part.coded != nullptr && part.coded->inputs() == inputs; };
  if (!std::ranges::all_of(step.parts, has)) return;
  step.inputs = inputs;
  for (TensorRows& part : step.parts) finder_.TakeCoded(part);
}

SKALD_INLINE void LoadPlan::ChoosePacker(MatrixStep& step) {
  if (!finder_.status()) return;
  const DType type = step.dtype ? *step.dtype : PackedType(step.parts, of_floats_);
  step.packer = FindType(packers_, type);
  if (step.packer != nullptr) return;
  finder_.Complain(ErrorCode::kUnsupported,
                   Concat({step.parts.front().view->name, ": would be packed as ", NameOf(type),
                           ", which is not among the WeightTypes of the Config"}));
}

SKALD_INLINE void LoadPlan::ChooseRowScale(MatrixStep& step) {
  if (!finder_.status()) return;
  const auto has = [](const TensorRows& part) { return part.view->row_scale; };
  const auto found = std::ranges::find_if(step.parts, has);
  if (found == step.parts.end()) return;
  step.row_scale = IsGrouped(step.packer->type) && std::ranges::all_of(step.parts, has);
  if (!step.row_scale) RefuseRowScale(*found->view);
}

SKALD_INLINE void LoadPlan::RefuseRowScale(const TensorView& tensor) {
  finder_.Complain(
      ErrorCode::kUnsupported,
      Concat({tensor.name, ": its inputs are rounded to 8 bits row by row, which is possible only for rows ",
              "of a multiple of 16 weights that are joined with others of the same kind (q, k and v; "
              "gates)"}));
}

SKALD_INLINE void LoadPlan::Report(const TensorView& tensor, uint64_t bytes,
                                   const std::function<void(const LoadProgress&)>& progress) {
  bytes_done_ += bytes;
  if (progress) progress({tensor.name, bytes_done_, finder_.bytes_total()});
}

SKALD_INLINE void LoadPlan::ReadVector(const VectorStep& step,
                                       const std::function<void(const LoadProgress&)>& progress) {
  std::vector<float>& target = *step.parameter->target;
  target.clear();
  for (const TensorRows& part : step.parts) {
    const TensorView& tensor = *part.view;
    const std::vector<std::byte> gathered = part.gather ? part.gather() : std::vector<std::byte>();
    const std::span<const std::byte> bytes = part.gather ? std::span<const std::byte>(gathered) : tensor.bytes;
    AppendFloats(bytes.data(), *tensor.dtype, bytes.size() / SizeOf(*tensor.dtype), target);
    Report(tensor, tensor.bytes.size(), progress);
  }
  const VectorParameter& parameter = *step.parameter;
  if (parameter.stored && !finder_.names().stores_converted) parameter.stored(target);
  if (parameter.convert) parameter.convert(target);
  KeepPartitioned(*step.parameter, share_);
}

SKALD_INLINE LoadPlan::CutRows::CutRows(std::span<const PackSource> whole, std::span<const TensorRows> parts,
                                        std::span<const PartitionedRange> ranges, size_t cols) {
  for (const PackSource& source : whole) left_out += uint64_t{source.rows} * RowBytes(source, cols);
  for (const PartitionedRange& range : ranges) {
    size_t first = 0;
    for (size_t i = 0; i < whole.size(); first += whole[i++].rows) {
      const size_t begin = std::max(range.begin, first), end = std::min(range.end, first + whole[i].rows);
      if (begin >= end) continue;
      PackSource& source = sources.emplace_back(whole[i]);
      source.bytes += (begin - first) * RowBytes(source, cols);
      source.rows = end - begin;
      tensors.push_back(parts[i].view);
      left_out -= uint64_t{source.rows} * RowBytes(source, cols);
    }
  }
}

SKALD_INLINE void LoadPlan::ReadMatrix(const MatrixStep& step, ExecutorRef executor,
                                       const std::function<void(const LoadProgress&)>& progress) {
  if (step.target == nullptr) return Report(*step.parts[0].view, step.parts[0].view->bytes.size(), progress);
  std::vector<PackSource> whole;
  std::vector<std::vector<std::byte>> moved(step.parts.size());  // rows that cannot be used in place
  for (size_t i = 0; i < step.parts.size(); ++i) {
    const TensorView& tensor = *step.parts[i].view;
    moved[i] = MovedRows(step.parts[i], step.turned[i]);
    const std::byte* const bytes = moved[i].empty() ? tensor.bytes.data() : moved[i].data();
    whole.push_back({bytes, tensor.dtype.value_or(DType::kF32), static_cast<size_t>(tensor.shape[0]), tensor.format,
                     FactorOf(tensor)});
  }
  const CutRows cut(whole, step.parts, step.here.ranges, step.cols);
  size_t part = 0, row = 0;  // the next row of cut.sources[part] to pack
  const auto report = [&](size_t rows) {
    while (rows != 0) {
      const size_t here = std::min(rows, cut.sources[part].rows - row);
      Report(*cut.tensors[part], uint64_t{here} * RowBytes(cut.sources[part], step.cols), progress);
      rows -= here;
      row += here;
      if (row < cut.sources[part].rows) continue;
      ++part;
      row = 0;
    }
  };
  *step.target = PackMatrix(cut.sources, step.cols, *step.packer, executor, report, step.inputs);
  step.target->row_scale = step.row_scale;
  if (step.here.division != nullptr) {
    const CutRows first(whole, step.parts, step.here.first, step.cols);
    step.here.division->known_by =
        Xxh64(PackMatrix(first.sources, step.cols, *step.packer, executor, {}, step.inputs).data);
    step.target->division = step.here.division;
  }
  if (cut.left_out > 0) Report(*step.parts.back().view, cut.left_out, progress);
}

SKALD_INLINE DType LoadPlan::PackedType(std::span<const TensorRows> parts, DType of_floats) {
  DType packed = of_floats;
  bool all_fit_6 = true, all_fit_8 = true;  // Q6A, Q8A32

  // Numbers of a quantised folder are never rounded: those that become floats keep their type.
  const auto is = [&](auto test) {
    return std::ranges::all_of(parts, [&](const auto& part) { return test(*part.view); });
  };
  const bool none_quantised = is([](const TensorView& tensor) { return tensor.quantised == nullptr; });
  if (!none_quantised && !is([](const TensorView& tensor) { return tensor.format != nullptr; })) {
    const bool all_short = is([](const TensorView& tensor) { return tensor.dtype == DType::kBF16; });
    return all_short && of_floats == DType::kBF16 ? DType::kBF16 : DType::kF32;
  }
  for (size_t i = 0; i < parts.size(); ++i) {
    const GroupFormat* const format = parts[i].view->format;
    if (format == nullptr) return of_floats;
    const DType exact = format->packed;
    all_fit_6 &= format->FitsQ6A(), all_fit_8 &= format->FitsQ8A32();
    if (i != 0 && packed != exact && (IsFloatCoded(packed) || IsFloatCoded(exact))) return DType::kF32;
    packed = i == 0 || packed == exact ? exact : all_fit_6 ? DType::kQ6A : all_fit_8 ? DType::kQ8A32 : DType::kQ8A;
  }
  return packed;
}

}  // namespace internal
}  // namespace skald

#endif  // SKALD_WEIGHTS_DETAIL_LOAD_PLAN_H_
