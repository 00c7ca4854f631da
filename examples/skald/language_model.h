// SPDX-License-Identifier: Apache-2.0
//
// A model whose Config is chosen at run time: the program is handed a folder and finds out what it holds.
// Behind this interface only language_model.cc knows Configs, and only it compiles kernels.

#ifndef SKALD_EXAMPLES_SKALD_LANGUAGE_MODEL_H_
#define SKALD_EXAMPLES_SKALD_LANGUAGE_MODEL_H_

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "skald/base/result.h"
#include "skald/cache/block_pool.h"
#include "skald/cache/kv_cache.h"
#include "skald/cache/runtime_config.h"
#include "skald/model/batch.h"
#include "skald/model/workspace.h"
#include "skald/weights/load.h"

namespace skald::program {

// What config.json says, before any weights are read.
struct ModelInfo {
  size_t config;  // index into the list of Configs
  std::string_view name;
  size_t vocab_size;
  uint32_t trained_context;  // tokens; 0 if the file does not say
  DType weight_type = DType::kBF16;  // to load the weights as: of a packed file, the only one
};

// What computing takes at least, whatever computes it.
struct ModelCost {
  uint64_t step_bytes = 0;           // parameters that are read once in a step, however many tokens it has
  double flops_per_token = 0;        // of multiplications by weights
  double flops_per_output = 0;       // the same for each row of logits
  double attention_flops = 0;        // for one token and one position that it looks back at, of all full layers
  double window_flops = 0;           // the same of the layers that look back at most `window` positions
  uint32_t window = 0;
};

class LanguageModel {
 public:
  virtual ~LanguageModel() = default;

  // Memory for conversations; see CreateBlockPool.
  virtual Result<std::shared_ptr<BlockPool>> CreatePool(const RuntimeConfig& runtime) const = 0;
  // See Model::Forward.
  virtual Result<std::span<const float>> Forward(KVCache& cache, std::span<const int32_t> tokens,
                                                 Workspace& workspace) const = 0;
  virtual Result<Outputs> Forward(const Batch& batch, Workspace& workspace) const = 0;

  virtual ModelCost Cost() const = 0;
};

// Returns the content of a small file of the model at `path`, such as its tokenizer, from its folder or from within the
// packed file. Error: there is none.
Result<std::string> ReadModelFile(const std::filesystem::path& path, std::string_view name);

// Finds the Config of the model at `path`, a folder or a packed file. Errors: no config.json there, or one that fits no
// known Config.
Result<ModelInfo> IdentifyModel(const std::filesystem::path& path);

// Loads the weights of the model that IdentifyModel found at `path`. Errors: see LoadWeights.
Result<std::unique_ptr<LanguageModel>> LoadLanguageModel(const ModelInfo& info,
                                                         const std::filesystem::path& path,
                                                         const LoadOptions& options);

// Makes a model of the known Config of that name with random weights. Errors: there is none, or the type is none of
// weights in memory.
Result<std::unique_ptr<LanguageModel>> RandomLanguageModel(std::string_view name, DType weight_type);

// Loads the weights as LoadLanguageModel does and writes them to the packed file `output`, with the small files of the
// folder that go with them. Errors: those of LoadWeights and WritePackedFile.
Result<void> PackLanguageModel(const ModelInfo& info, const std::filesystem::path& folder, const LoadOptions& options,
                               const std::filesystem::path& output);

// The names of all Configs that IdentifyModel knows.
std::vector<std::string_view> KnownModels();

}  // namespace skald::program

#endif  // SKALD_EXAMPLES_SKALD_LANGUAGE_MODEL_H_
