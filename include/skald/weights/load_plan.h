// SPDX-License-Identifier: Apache-2.0
//
// Loading in two steps. A LoadPlan first finds and checks every tensor that a model needs and
// refuses those it does not expect, without reading a parameter; then it packs them. So a bad
// checkpoint fails at once, and whole.

#ifndef SKALD_WEIGHTS_LOAD_PLAN_H_
#define SKALD_WEIGHTS_LOAD_PLAN_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <functional>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "skald/base/message.h"
#include "skald/base/numbers/numeric.h"
#include "skald/base/result.h"
#include "skald/base/threads/executor.h"
#include "skald/weights/files/checkpoint.h"
#include "skald/weights/files/tensor_names.h"
#include "skald/weights/files/tensor_view.h"
#include "skald/weights/load_options.h"
#include "skald/weights/packing/pack.h"
#include "skald/weights/packing/recurrent_transforms.h"
#include "skald/weights/packing/rope_rows.h"
#include "skald/weights/parameters.h"
#include "skald/weights/types/matrix.h"

namespace skald {

namespace internal {

// Collects where each tensor goes. The checkpoint, the names and all targets must outlive the plan.
class LoadPlan {
 public:
  // Matrices of floats are packed as `of_floats`, which must be among the packers' types.
  LoadPlan(const Checkpoint& checkpoint, const TensorNames& names, DType of_floats,
           std::span<const WeightPacker> packers)
      : checkpoint_(checkpoint), names_(names), of_floats_(of_floats), packers_(packers) {
    for (const TensorView& tensor : checkpoint.tensors()) within_layers_.insert(names.WithinLayer(tensor.name));
  }

  void Add(const Parameter& parameter) {
    std::visit([&](const auto& value) { Add(value, parameter.layer); }, parameter.value);
  }

  // Lets `our_name` be absent, or be a copy of the tensor `our_original`.
  void AllowCopy(std::string_view our_name, std::string_view our_original) {
    const std::string name = names_.NameOf(our_name, {}), original = names_.NameOf(our_original, {});
    const TensorView* copy = checkpoint_.Find(name);
    const TensorView* planned = checkpoint_.Find(original);
    if (copy == nullptr || planned == nullptr) return;
    used_.insert(copy->name);
    const bool same = copy->dtype_name == planned->dtype_name && std::ranges::equal(copy->shape, planned->shape) &&
                      copy->bytes.size() == planned->bytes.size() &&
                      std::memcmp(copy->bytes.data(), planned->bytes.data(), copy->bytes.size()) == 0;
    if (!same) {
      Complain(ErrorCode::kInvalidArgument, Concat({name, ": expected none, or a copy of ", original,
                                                    ", because the Config ties the output head to the embedding"}));
    }
  }

  // Refuses tensors of the language model that nothing above asked for: leaving out a bias or a
  // layer would give wrong numbers without a word. Returns the first complaint of the whole plan.
  Result<void> Check() {
    for (MatrixStep& step : matrices_) ChoosePacker(step);
    for (const TensorView& tensor : checkpoint_.tensors()) {
      const bool is_ours = names_.Covers(tensor.name) && !IsDerivedTensor(tensor.name);
      if (!is_ours || used_.contains(tensor.name)) continue;
      Complain(ErrorCode::kInvalidArgument,
               Concat({QuotedName(tensor.name), ": the Config has no place for this tensor, of shape ",
                       ShapeText(tensor.shape)}));
    }
    return status_;
  }

  // Fills every target. Call after Check succeeded.
  void Execute(ExecutorRef executor, const std::function<void(const LoadProgress&)>& progress) {
    for (const VectorStep& step : vectors_) ReadVector(step, progress);
    for (const TransposedStep& step : transposed_) ReadTransposed(step, executor, progress);
    for (const MatrixStep& step : matrices_) ReadMatrix(step, executor, progress);
  }

 private:
  struct MatrixStep {
    Matrix* target;
    size_t cols;
    std::vector<const TensorView*> tensors;
    std::vector<size_t> head_dims;  // of each tensor; see Part
    std::optional<DType> dtype;
    const WeightPacker* packer = nullptr;
  };
  struct TransposedStep {
    std::vector<Matrix>* targets;
    std::vector<const TensorView*> tensors;
  };
  // Rows of a tensor.
  struct SlicedTensor {
    uint64_t rows;
    TensorView view;
  };
  struct VectorStep {
    std::vector<float>* target;
    std::vector<const TensorView*> tensors;
    Conversion convert;
  };

  void Add(const MatrixParameter& parameter, std::optional<size_t> layer) {
    MatrixStep step{parameter.target, parameter.cols, {}, {}, parameter.dtype};
    const std::vector<Place> places = PlacesOf(parameter.parts, layer, [](const Part& part) { return part.rows; });
    for (size_t i = 0; i < places.size(); ++i) {
      step.tensors.push_back(RequirePart(parameter.parts[i], places[i], parameter.cols));
      step.head_dims.push_back(parameter.parts[i].head_dim);
    }
    matrices_.push_back(std::move(step));
  }

  void Add(const BlocksParameter& parameter, std::optional<size_t> layer) {
    TransposedStep step{parameter.targets, {}};
    for (const Part& part : parameter.parts) {
      const uint64_t shape[] = {parameter.count, parameter.cols, part.rows};
      step.tensors.push_back(Require(names_.NameOf(part.name, layer), shape));
    }
    transposed_.push_back(std::move(step));
  }

  void Add(const VectorParameter& parameter, std::optional<size_t> layer) {
    VectorStep step{parameter.target, {}, parameter.convert};
    const auto rows = [](const ArrayPart& part) -> size_t { return part.shape.empty() ? 1 : part.shape.front(); };
    const std::vector<Place> places = PlacesOf(parameter.parts, layer, rows);
    for (size_t i = 0; i < places.size(); ++i) {
      const auto& [name, rows_there, begin] = places[i];
      std::vector<uint64_t> shape = parameter.parts[i].shape;
      if (!shape.empty()) shape.front() = rows_there;
      const TensorView* tensor = Slice(Require(name, shape), rows_there, begin, rows(parameter.parts[i]));
      step.tensors.push_back(tensor);
      if (tensor == nullptr || !tensor->rope_pairs_adjacent) continue;
      Complain(ErrorCode::kUnsupported, Concat({name,
                                                ": biases of queries and keys cannot be read from a GGUF "
                                                "file of the architecture llama"}));
    }
    if (parameter.unit_offset && !names_.norms_with_offset) {
      step.convert = [](std::vector<float>& values) {
        for (float& value : values) value += 1.0f;
      };
    }
    vectors_.push_back(std::move(step));
  }

  // Finds how a matrix is packed once its tensors are known.
  void ChoosePacker(MatrixStep& step) {
    if (!status_) return;
    const DType type = step.dtype ? *step.dtype : PackedType(step.tensors, of_floats_);
    step.packer = FindType(packers_, type);
    if (step.packer != nullptr) return;
    Complain(ErrorCode::kUnsupported, Concat({step.tensors.front()->name, ": would be packed as ", NameOf(type),
                                              ", which is not among the WeightTypes of the Config"}));
  }

  void Complain(ErrorCode code, const std::string& what) {
    if (status_) status_ = Fail(code, Concat({checkpoint_.path().string(), ": ", what}));
  }

  // GGUF files leave out axes of one element where they are not the first.
  bool IsOfShape(const TensorView& tensor, std::span<const uint64_t> shape) const {
    if (std::ranges::equal(tensor.shape, shape)) return true;
    if (checkpoint_.gguf() == nullptr) return false;
    const auto long_axes = [](std::span<const uint64_t> axes) {
      std::vector<uint64_t> result(axes.begin(), axes.end());
      std::erase(result, 1);
      return result;
    };
    return long_axes(tensor.shape) == long_axes(shape);
  }

  // Returns the tensor of this name if it is a parameter of this shape; else notes why not and
  // returns null.
  const TensorView* Require(const std::string& name, std::span<const uint64_t> shape, bool takes_groups = false) {
    const TensorView* tensor = checkpoint_.Find(name);
    if (tensor == nullptr) {
      Complain(ErrorCode::kNotFound, Concat({name, ": expected a tensor of shape ", ShapeText(shape), ", found none"}));
      return nullptr;
    }
    used_.insert(tensor->name);
    if (!IsOfShape(*tensor, shape)) {
      Complain(ErrorCode::kInvalidArgument,
               Concat({name, ": expected shape ", ShapeText(shape), ", found ", ShapeText(tensor->shape)}));
    } else if (!tensor->dtype && !(takes_groups && tensor->format != nullptr)) {
      const bool may_be_grouped = takes_groups && checkpoint_.gguf() != nullptr;
      Complain(ErrorCode::kUnsupported, Concat({name, ": expected F32, F16 or BF16",
                                                may_be_grouped ? " or a quantised type that Skald reads" : "",
                                                ", found ", QuotedName(tensor->dtype_name)}));
    }
    bytes_total_ += tensor->bytes.size();
    return tensor;
  }

  // The tensor that a part is in, and where in its rows it begins.
  struct Place {
    std::string name;
    size_t rows, begin;  // of the tensor, of one expert where those of all are stacked; of the part
  };

  // Parts of one name lie one after the other.
  template <class Parts, class RowsOf>
  std::vector<Place> PlacesOf(const Parts& parts, std::optional<size_t> layer, RowsOf rows_of) const {
    std::vector<Place> places;
    for (const auto& part : parts) {
      Place place{SpelledName(part.name, layer), 0, 0};
      for (const Place& earlier : places) place.begin = earlier.name == place.name ? earlier.rows : place.begin;
      place.rows = place.begin + rows_of(part);
      for (Place& earlier : places) earlier.rows = earlier.name == place.name ? place.rows : earlier.rows;
      places.push_back(std::move(place));
    }
    return places;
  }

  // Returns the part of a tensor of `rows` rows, a multiple of which may be stacked, that begins at row `begin` and has
  // `count` rows; null for null.
  const TensorView* Slice(const TensorView* tensor, size_t rows, size_t begin, size_t count) {
    if (tensor == nullptr || !status_ || (begin == 0 && count == rows)) return tensor;
    const size_t row_bytes = tensor->bytes.size() / rows;
    bytes_total_ -= (rows - count) * row_bytes;
    SlicedTensor& slice = slices_.emplace_back(SlicedTensor{count, *tensor});
    slice.view.shape = {&slice.rows, 1};
    slice.view.bytes = tensor->bytes.subspan(begin * row_bytes, count * row_bytes);
    return &slice.view;
  }

  // Returns the rows of a part of a matrix, of a tensor that is required; where those of all experts are stacked, one
  // expert's.
  const TensorView* RequirePart(const Part& part, const Place& place, size_t cols) {
    std::string name = place.name;
    const size_t number = name.find('#');
    const bool is_stacked = part.expert && number == name.npos;
    if (part.expert && !is_stacked) name.replace(number, 1, std::to_string(part.expert->index));
    const uint64_t stacked_shape[] = {is_stacked ? part.expert->count : 1, place.rows, cols};
    const std::span<const uint64_t> shape = std::span(stacked_shape).subspan(is_stacked ? 0 : 1);
    const size_t experts = is_stacked ? part.expert->count : 1, expert = is_stacked ? part.expert->index : 0;
    return Slice(Require(name, shape, /*takes_groups=*/true), experts * place.rows, expert * place.rows + place.begin,
                 part.rows);
  }

  // Returns the first spelling of a name that any layer of the checkpoint has, else the first.
  std::string SpelledName(std::string_view name, std::optional<size_t> layer) const {
    if (!layer) return names_.NameOf(name, layer);
    const std::vector<std::string> spellings = names_.SpellingsOf(name);
    const auto is_there = [&](std::string spelling) {
      if (const size_t number = spelling.find('#'); number != spelling.npos) spelling.replace(number, 1, "0");
      return within_layers_.contains(spelling);
    };
    const auto found = std::ranges::find_if(spellings, is_there);
    return names_.OfLayer(*layer, found == spellings.end() ? spellings.front() : *found);
  }

  void Report(const TensorView& tensor, uint64_t bytes, const std::function<void(const LoadProgress&)>& progress) {
    bytes_done_ += bytes;
    if (progress) progress({tensor.name, bytes_done_, bytes_total_});
  }

  void ReadVector(const VectorStep& step, const std::function<void(const LoadProgress&)>& progress) {
    step.target->clear();
    for (const TensorView* tensor : step.tensors) {
      AppendFloats(tensor->bytes.data(), *tensor->dtype, tensor->bytes.size() / SizeOf(*tensor->dtype), *step.target);
      Report(*tensor, tensor->bytes.size(), progress);
    }
    if (step.convert) step.convert(*step.target);
  }

  void ReadTransposed(const TransposedStep& step, ExecutorRef executor,
                      const std::function<void(const LoadProgress&)>& progress) {
    Matrix* target = step.targets->data();
    const WeightPacker& packer = *FindType(packers_, of_floats_);
    for (const TensorView* tensor : step.tensors) {
      const auto count = static_cast<size_t>(tensor->shape[0]), cols = static_cast<size_t>(tensor->shape[1]),
                 rows = static_cast<size_t>(tensor->shape[2]);
      const size_t element_size = SizeOf(*tensor->dtype);
      for (size_t i = 0; i < count; ++i) {
        const std::vector<std::byte> bytes =
            TransposedBytes(tensor->bytes.data() + i * rows * cols * element_size, cols, rows, element_size);
        const PackSource source[] = {{bytes.data(), *tensor->dtype, rows}};
        *target++ = PackMatrix(source, cols, packer, executor);
      }
      Report(*tensor, tensor->bytes.size(), progress);
    }
  }

  void ReadMatrix(const MatrixStep& step, ExecutorRef executor,
                  const std::function<void(const LoadProgress&)>& progress) {
    std::vector<PackSource> sources;
    std::vector<std::vector<std::byte>> moved(step.tensors.size());  // what cannot be used as it lies
    for (size_t i = 0; i < step.tensors.size(); ++i) {
      const TensorView& tensor = *step.tensors[i];
      const std::byte* bytes = tensor.bytes.data();
      if (tensor.rope_pairs_adjacent) {
        moved[i] = WithRopePairsApart(tensor.bytes, static_cast<size_t>(tensor.shape[0]), step.head_dims[i]);
        bytes = moved[i].data();
      }
      sources.push_back(
          {bytes, tensor.dtype.value_or(DType::kF32), static_cast<size_t>(tensor.shape[0]), tensor.format});
    }
    size_t part = 0, row = 0;  // the row of step.tensors[part] that is packed next
    *step.target = PackMatrix(sources, step.cols, *step.packer, executor, [&](size_t rows) {
      while (rows != 0) {
        const size_t here = std::min(rows, sources[part].rows - row);
        Report(*step.tensors[part], uint64_t{here} * RowBytes(sources[part], step.cols), progress);
        rows -= here;
        row += here;
        if (row < sources[part].rows) continue;
        ++part;
        row = 0;
      }
    });
  }

  // Returns the type that the stacked tensors are packed as: the one that means exactly what the file's quantised types
  // mean, or the type for floats where any tensor holds such.
  static DType PackedType(std::span<const TensorView* const> tensors, DType of_floats) {
    DType packed = of_floats;
    bool all_fit = true;  // Q6A

    for (size_t i = 0; i < tensors.size(); ++i) {
      const GroupFormat* const format = tensors[i]->format;
      if (format == nullptr) return of_floats;
      const DType exact = format->packed;
      all_fit &= format->FitsQ6A();
      packed = i == 0 || packed == exact ? exact : all_fit ? DType::kQ6A : DType::kQ8A;
    }
    return packed;
  }

  const Checkpoint& checkpoint_;
  const TensorNames& names_;
  const DType of_floats_;
  const std::span<const WeightPacker> packers_;
  std::set<std::string_view> used_;
  std::set<std::string_view> within_layers_;  // names of tensors without those of their layers
  std::deque<SlicedTensor> slices_;
  std::vector<MatrixStep> matrices_;
  std::vector<TransposedStep> transposed_;
  std::vector<VectorStep> vectors_;
  uint64_t bytes_done_ = 0, bytes_total_ = 0;
  Result<void> status_;
};

}  // namespace internal
}  // namespace skald

#endif  // SKALD_WEIGHTS_LOAD_PLAN_H_
