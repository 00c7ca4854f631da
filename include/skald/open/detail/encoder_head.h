// SPDX-License-Identifier: Apache-2.0
//
// RowHead: layers that turn one row into another, or into scores, after an encoder: dense layers of
// sentence-transformers, and the heads of rerankers. They are computed in f32 (R1), whatever the type of the model's
// weights.

#ifndef SKALD_OPEN_DETAIL_ENCODER_HEAD_H_
#define SKALD_OPEN_DETAIL_ENCODER_HEAD_H_

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "skald/base/threads/executor.h"
#include "skald/base/threads/float_environment.h"
#include "skald/base/threads/thread_pool.h"
#include "skald/layers/norms/layer_norm.h"
#include "skald/layers/run/operations.h"
#include "skald/layers/run/weight_kernels.h"
#include "skald/model/workspace.h"
#include "skald/weights/files/checkpoint.h"
#include "skald/weights/files/tensor_names.h"
#include "skald/weights/load_plan.h"
#include "skald/weights/parameters.h"
#include "skald/weights/types/matrix.h"

namespace skald::internal {

/// One layer: its names in the file, its sizes, and what is done with the product.
struct RowLayer {
  std::string name;  // of its tensors, before ".weight"
  size_t inputs = 0, outputs = 0;
  bool has_bias = true;
  FactorFunction function = FactorFunction::kNone;
  std::optional<Activation> activation = {};  // in place of a function
  std::optional<LayerNorm> norm = {};         // after it
  std::string norm_name = {};

  Matrix weight = {};
  std::vector<float> bias = {};
  NormWeights norm_weights = {};
};

class RowHead {
 public:
  std::vector<RowLayer> layers;  // in order

  // Fills the layers from `first` on.
  Result<void> Load(const Checkpoint& checkpoint, size_t first = 0) {
    ParameterList list;
    for (RowLayer& layer : std::span(layers).subspan(first)) {
      list.AddMatrix(layer.weight, layer.inputs, {{layer.name + ".weight", layer.outputs}}, DType::kF32);
      if (layer.has_bias) list.AddVector(layer.bias, {{layer.name + ".bias", layer.outputs}});
      if (layer.norm) NormSpec(*layer.norm).ListParameters(layer.norm_weights, layer.norm_name, layer.outputs, list);
    }
    LoadPlan plan(checkpoint, TensorNames{}, DType::kF32, WeightPackersOf<AllWeights>());
    for (const Parameter& parameter : list.parameters()) plan.Add(parameter);
    SKALD_TRY(plan.Check(/*is_part=*/true));
    const FloatEnvironment plain(Denormals::kKept);
    ThreadPool pool(1);
    plan.Execute(ExecutorRef(pool), {});
    return {};
  }

  // Returns what the layers make of `count` rows.
  Result<std::vector<float>> Apply(std::vector<float> rows, size_t count, Workspace& workspace) const {
    if (layers.empty() || count == 0) return rows;
    const WorkspaceUse use(workspace);
    if (!use.is_ours()) return Fail(ErrorCode::kFailedPrecondition, "another call is using the workspace");
    const FloatEnvironment contract;
    MatMulScratch& scratch = workspace.activations.matmul;
    Operations ops(workspace.executor(), scratch, WeightKernelsOf<AllWeights>());
    for (const RowLayer& layer : layers) {
      ReserveMatMul(layer.weight, count, scratch);
      std::vector<float> output(count * layer.outputs);
      const Rows to = {output.data(), layer.outputs};
      ops.MatMul(layer.weight, {rows.data(), layer.inputs}, count, layer.bias, to);
      if (layer.activation) ops.Activate(*layer.activation, output.data(), output.size());
      if (layer.function != FactorFunction::kNone) ops.Apply(layer.function, output.data(), output.size());
      if (layer.norm) NormSpec(*layer.norm).Run(layer.norm_weights, ops, to, count, to);
      rows = std::move(output);
    }
    return rows;
  }
};

}  // namespace skald::internal

#endif  // SKALD_OPEN_DETAIL_ENCODER_HEAD_H_
