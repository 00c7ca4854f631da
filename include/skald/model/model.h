// SPDX-License-Identifier: Apache-2.0
//
// Model<Config>: the weights plus Forward. Const, safe for concurrent calls, and without any conversation state: one
// model serves any number of caches and callers. It is an AnyModel whose spec is that of a Config.

#ifndef SKALD_MODEL_MODEL_H_
#define SKALD_MODEL_MODEL_H_

#include <filesystem>
#include <string>
#include <utility>

#include "skald/base/result.h"
#include "skald/families/config/model_config.h"
#include "skald/layers/run/weight_kernels.h"
#include "skald/model/any_model.h"
#include "skald/model/load.h"

namespace skald {

/// The model that a Config names, which compiles the layer kinds and weight types of that alone.
template <ModelConfig C>
class Model : public AnyModel {
 public:
  using Config = C;  ///< the compile-time description

  /// Takes weights that LoadWeights<C> or RandomWeights<C> made. See LoadModel for the usual way.
  explicit Model(ModelWeights weights)
      : AnyModel(std::string(C::kName), std::move(weights), LayerFunctionsOf<C>(),
                 WeightKernelsOf<WeightTypesOf<C>>()) {
    static_assert(CheckConfig<C>());
  }
};

/// Loads a checkpoint (a folder, a .safetensors or a GGUF file) whose tensors must fit C, and whose metadata must agree
/// with C, if there are some that Skald reads. Errors: see LoadWeights.
template <ModelConfig C>
Result<Model<C>> LoadModel(const std::filesystem::path& path, const LoadOptions& options = {}) {
  return NoThrow("LoadModel", [&]() -> Result<Model<C>> {
    SKALD_ASSIGN(auto weights, LoadWeights<C>(path, options));
    return Model<C>(std::move(weights));
  });
}

}  // namespace skald

#endif  // SKALD_MODEL_MODEL_H_
