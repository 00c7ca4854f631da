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
#include <functional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "skald/base/executor.h"
#include "skald/base/message.h"
#include "skald/base/numeric.h"
#include "skald/base/result.h"
#include "skald/weights/checkpoint.h"
#include "skald/weights/load_options.h"
#include "skald/weights/matrix.h"
#include "skald/weights/pack.h"
#include "skald/weights/recurrent_transforms.h"
#include "skald/weights/rope_rows.h"
#include "skald/weights/tensor_names.h"
#include "skald/weights/tensor_view.h"

namespace skald {

namespace internal {

// A tensor by name and by the number of rows it adds: outputs of a matrix, or elements of a vector.
struct Part {
  std::string name;
  size_t rows;
  size_t head_dim = 0;  // rows of each head, if RoPE turns them
};

// A tensor of floats with any number of axes.
struct ArrayPart {
  std::string name;
  std::vector<uint64_t> shape;
};

// What becomes of the floats of a vector once they are read.
using Conversion = std::function<void(std::vector<float>&)>;

// Collects where each tensor goes. The checkpoint and all targets must outlive the plan.
class LoadPlan {
 public:
  explicit LoadPlan(const Checkpoint& checkpoint) : checkpoint_(checkpoint) {}

  // Plans `target` as the matrices [rows, cols] of `parts`, stacked.
  void AddMatrix(Matrix& target, size_t cols, const std::vector<Part>& parts) {
    MatrixStep step{&target, cols, {}, {}};
    for (const Part& part : parts) {
      const uint64_t shape[] = {part.rows, cols};
      step.tensors.push_back(Require(part.name, shape, /*takes_groups=*/true));
      step.head_dims.push_back(part.head_dim);
    }
    matrices_.push_back(std::move(step));
  }

  // Plans `targets` as the matrices of `parts`, one after the other. Each part is a tensor [count, cols, rows]: `count`
  // matrices [rows, cols], transposed.
  void AddTransposed(std::vector<Matrix>& targets, size_t count, size_t cols, const std::vector<Part>& parts) {
    TransposedStep step{&targets, {}};
    for (const Part& part : parts) {
      const uint64_t shape[] = {count, cols, part.rows};
      step.tensors.push_back(Require(part.name, shape));
    }
    transposed_.push_back(std::move(step));
  }

  // Plans `target` as the elements of `parts`, row-major, joined and then converted.
  void AddArray(std::vector<float>& target, const std::vector<ArrayPart>& parts, Conversion convert = {}) {
    VectorStep step{&target, {}, std::move(convert)};
    for (const ArrayPart& part : parts) {
      const TensorView* tensor = Require(part.name, part.shape);
      step.tensors.push_back(tensor);
      if (tensor == nullptr || !tensor->rope_pairs_adjacent) continue;
      Complain(ErrorCode::kUnsupported, Concat({part.name, ": biases of queries and keys cannot be read from a GGUF "
                                                           "file of the architecture llama"}));
    }
    vectors_.push_back(std::move(step));
  }

  // Plans `target` as the vectors of `parts`, joined, with `offset` added to each element.
  void AddVector(std::vector<float>& target, const std::vector<Part>& parts, float offset = 0.0f) {
    std::vector<ArrayPart> arrays;
    for (const Part& part : parts) arrays.push_back({part.name, {part.rows}});
    Conversion add_offset;
    if (offset != 0.0f) {  // adding zero would turn -0 into 0
      add_offset = [offset](std::vector<float>& values) {
        for (float& value : values) value += offset;
      };
    }
    AddArray(target, arrays, std::move(add_offset));
  }

  // Lets `name` be absent, or be a copy of the tensor `original`.
  void AllowCopy(const std::string& name, const std::string& original) {
    const TensorView* copy = checkpoint_.Find(name);
    const TensorView* planned = checkpoint_.Find(original);
    if (copy == nullptr || planned == nullptr) return;
    used_.insert(copy->name);
    const bool same =
        copy->dtype_name == planned->dtype_name &&
        std::ranges::equal(copy->shape, planned->shape) &&
        copy->bytes.size() == planned->bytes.size() &&
        std::memcmp(copy->bytes.data(), planned->bytes.data(), copy->bytes.size()) == 0;
    if (!same) {
      Complain(ErrorCode::kInvalidArgument,
               Concat({name, ": expected none, or a copy of ", original,
                       ", because the Config ties the output head to the embedding"}));
    }
  }

  // Refuses tensors of the language model that nothing above asked for: leaving out a bias or a
  // layer would give wrong numbers without a word. Returns the first complaint of the whole plan.
  Result<void> Check(const TensorNames& names) {
    for (const TensorView& tensor : checkpoint_.tensors()) {
      const bool is_ours = names.Covers(tensor.name) && !IsDerivedTensor(tensor.name);
      if (!is_ours || used_.contains(tensor.name)) continue;
      Complain(
          ErrorCode::kInvalidArgument,
          Concat({QuotedName(tensor.name), ": the Config has no place for this tensor, of shape ",
                  ShapeText(tensor.shape)}));
    }
    return status_;
  }

  // Fills every target. Call after Check succeeded.
  void Execute(DType dtype, ExecutorRef executor,
               const std::function<void(const LoadProgress&)>& progress) {
    for (const VectorStep& step : vectors_) ReadVector(step, progress);
    for (const TransposedStep& step : transposed_) ReadTransposed(step, dtype, executor, progress);
    for (const MatrixStep& step : matrices_) ReadMatrix(step, dtype, executor, progress);
  }

 private:
  struct MatrixStep {
    Matrix* target;
    size_t cols;
    std::vector<const TensorView*> tensors;
    std::vector<size_t> head_dims;  // of each tensor; see Part
  };
  struct TransposedStep {
    std::vector<Matrix>* targets;
    std::vector<const TensorView*> tensors;
  };
  struct VectorStep {
    std::vector<float>* target;
    std::vector<const TensorView*> tensors;
    Conversion convert;
  };

  void Complain(ErrorCode code, const std::string& what) {
    if (status_) status_ = Fail(code, Concat({checkpoint_.path().string(), ": ", what}));
  }

  // Returns the tensor of this name if it is a parameter of this shape; else notes why not and
  // returns null.
  const TensorView* Require(const std::string& name, std::span<const uint64_t> shape, bool takes_groups = false) {
    const TensorView* tensor = checkpoint_.Find(name);
    if (tensor == nullptr) {
      Complain(ErrorCode::kNotFound,
               Concat({name, ": expected a tensor of shape ", ShapeText(shape), ", found none"}));
      return nullptr;
    }
    used_.insert(tensor->name);
    if (!std::ranges::equal(tensor->shape, shape)) {
      Complain(ErrorCode::kInvalidArgument, Concat({name, ": expected shape ", ShapeText(shape),
                                                    ", found ", ShapeText(tensor->shape)}));
    } else if (!tensor->dtype && !(takes_groups && tensor->format != nullptr)) {
      const bool may_be_grouped = takes_groups && checkpoint_.gguf() != nullptr;
      Complain(ErrorCode::kUnsupported,
               Concat({name, ": expected F32, F16 or BF16",
                       may_be_grouped ? " or a quantised type that Skald reads" : "", ", found ",
                       QuotedName(tensor->dtype_name)}));
    }
    bytes_total_ += tensor->bytes.size();
    return tensor;
  }

  void Report(const TensorView& tensor, uint64_t bytes,
              const std::function<void(const LoadProgress&)>& progress) {
    bytes_done_ += bytes;
    if (progress) progress({tensor.name, bytes_done_, bytes_total_});
  }

  void ReadVector(const VectorStep& step,
                  const std::function<void(const LoadProgress&)>& progress) {
    for (const TensorView* tensor : step.tensors) {
      AppendFloats(tensor->bytes.data(), *tensor->dtype, tensor->bytes.size() / SizeOf(*tensor->dtype), *step.target);
      Report(*tensor, tensor->bytes.size(), progress);
    }
    if (step.convert) step.convert(*step.target);
  }

  void ReadTransposed(const TransposedStep& step, DType dtype, ExecutorRef executor,
                      const std::function<void(const LoadProgress&)>& progress) {
    for (const TensorView* tensor : step.tensors) {
      const auto count = static_cast<size_t>(tensor->shape[0]), cols = static_cast<size_t>(tensor->shape[1]),
                 rows = static_cast<size_t>(tensor->shape[2]);
      const size_t element_size = SizeOf(*tensor->dtype);
      for (size_t i = 0; i < count; ++i) {
        const std::vector<std::byte> bytes =
            TransposedBytes(tensor->bytes.data() + i * rows * cols * element_size, cols, rows, element_size);
        const PackSource source[] = {{bytes.data(), *tensor->dtype, rows}};
        step.targets->push_back(PackMatrix(source, cols, dtype, executor));
      }
      Report(*tensor, tensor->bytes.size(), progress);
    }
  }

  void ReadMatrix(const MatrixStep& step, DType dtype, ExecutorRef executor,
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
    *step.target = PackMatrix(sources, step.cols, PackedType(sources, dtype), executor, [&](size_t rows) {
      while (rows != 0) {
        const size_t here = std::min(rows, sources[part].rows - row);
        Report(*step.tensors[part], uint64_t{here} * RowBytes(sources[part], step.cols),
               progress);
        rows -= here;
        row += here;
        if (row < sources[part].rows) continue;
        ++part;
        row = 0;
      }
    });
  }

  // Returns the type that the stacked sources are packed as: the one that means exactly what the file's quantised types
  // mean, or the type for floats where any source holds such.
  static DType PackedType(std::span<const PackSource> sources, DType of_floats) {
    DType packed = of_floats;
    for (size_t i = 0; i < sources.size(); ++i) {
      if (sources[i].format == nullptr) return of_floats;
      const DType exact = sources[i].format->packed;
      packed = i == 0 || packed == exact ? exact : DType::kQ8A;
    }
    return packed;
  }

  const Checkpoint& checkpoint_;
  std::set<std::string_view> used_;
  std::vector<MatrixStep> matrices_;
  std::vector<TransposedStep> transposed_;
  std::vector<VectorStep> vectors_;
  uint64_t bytes_done_ = 0, bytes_total_ = 0;
  Result<void> status_;
};

}  // namespace internal
}  // namespace skald

#endif  // SKALD_WEIGHTS_LOAD_PLAN_H_
