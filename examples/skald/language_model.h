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
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "skald/base/result.h"
#include "skald/cache/block_pool.h"
#include "skald/cache/kv_cache.h"
#include "skald/cache/runtime_config.h"
#include "skald/model/workspace.h"
#include "skald/weights/load.h"

namespace skald::program {

// What config.json, or a GGUF file's metadata, say, before any weights are read.
struct ModelInfo {
  size_t config;  // index into the list of Configs
  std::string_view name;
  size_t vocab_size;
  uint32_t trained_context;  // tokens; 0 if the file does not say
  std::shared_ptr<const nlohmann::json> metadata;  // of a GGUF file, else null
};

class LanguageModel {
 public:
  virtual ~LanguageModel() = default;

  // Memory for conversations; see CreateBlockPool.
  virtual Result<std::shared_ptr<BlockPool>> CreatePool(const RuntimeConfig& runtime) const = 0;
  // See Model::Forward.
  virtual Result<std::span<const float>> Forward(KVCache& cache, std::span<const int32_t> tokens,
                                                 Workspace& workspace) const = 0;
};

// Finds the Config of the model at `path`, a folder or a GGUF file. Errors: no config.json there, or nothing that fits
// a known Config.
Result<ModelInfo> IdentifyModel(const std::filesystem::path& path);

// Loads the weights of the model that IdentifyModel found at `path`. Errors: see LoadWeights.
Result<std::unique_ptr<LanguageModel>> LoadLanguageModel(const ModelInfo& info, const std::filesystem::path& path,
                                                         const LoadOptions& options);

// The names of all Configs that IdentifyModel knows.
std::vector<std::string_view> KnownModels();

}  // namespace skald::program

#endif  // SKALD_EXAMPLES_SKALD_LANGUAGE_MODEL_H_
