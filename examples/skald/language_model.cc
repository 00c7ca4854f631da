// SPDX-License-Identifier: Apache-2.0

#include "language_model.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <system_error>
#include <utility>

#include "demo_model/demo_config.h"
#include "skald/cache/create.h"
#include "skald/configs/identify.h"
#include "skald/configs/published.h"
#include "skald/model/model.h"
#include "skald/weights/checkpoint.h"
#include "skald/weights/gguf_config.h"

namespace skald::program {
namespace {

// https://huggingface.co/karpathy/tinyllamas/tree/main/stories260K
struct Stories260K : LlamaFamily {
  static constexpr std::string_view kName = "stories260k";
  static constexpr int kModelDim = 64, kFeedForwardDim = 172, kVocabSize = 512;
  static constexpr int kHeads = 8, kKVHeads = 4, kHeadDim = 8;
  static constexpr auto kLayers = RepeatLayers<5>({LayerKind::kFullAttention});
  static constexpr RopeSpec kRope = {.base = 10000.0};
  static constexpr bool kTiedEmbeddings = true;
};

using KnownConfigs = PublishedConfigs::With<DemoModel, Stories260K>;

template <ModelConfig C>
class LanguageModelOf : public LanguageModel {
 public:
  explicit LanguageModelOf(ModelWeights weights) : model_(std::move(weights)) {}

  Result<std::shared_ptr<BlockPool>> CreatePool(const RuntimeConfig& runtime) const override {
    return CreateBlockPool<C>(runtime);
  }

  Result<std::span<const float>> Forward(KVCache& cache, std::span<const int32_t> tokens,
                                         Workspace& workspace) const override {
    return model_.Forward(cache, tokens, workspace);
  }

 private:
  Model<C> model_;
};

// How long the texts were that the model learned from, which no Config says: it changes no logit.
uint32_t TrainedContext(const nlohmann::json& json, const std::string& field) {
  const nlohmann::json::json_pointer pointer(field);
  if (!json.contains(pointer) || !json[pointer].is_number_unsigned()) return 0;
  return static_cast<uint32_t>(std::min<uint64_t>(json[pointer].get<uint64_t>(), kMaxTokens));
}

ModelInfo InfoOf(size_t config, uint32_t trained_context) {
  return VisitConfig(KnownConfigs{}, config, [&]<ModelConfig C>() {
    return ModelInfo{config, C::kName, size_t{C::kVocabSize}, trained_context, nullptr};
  });
}

Result<ModelInfo> IdentifyFolder(const std::filesystem::path& folder) {
  const std::filesystem::path path = folder / "config.json";
  std::ifstream file(path, std::ios::binary);
  if (!file)
    return Fail(ErrorCode::kNotFound, path.string() + ": cannot be read, but says what the model is");
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};

  const Result<size_t> config = IdentifyConfig(KnownConfigs{}, text);
  if (!config) return Annotate(folder.string(), config);
  const auto json = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  const uint32_t of_text_model = TrainedContext(json, "/text_config/max_position_embeddings");
  return InfoOf(*config, of_text_model != 0 ? of_text_model : TrainedContext(json, "/max_position_embeddings"));
}

Result<ModelInfo> IdentifyGguf(const std::filesystem::path& path) {
  const Result<Checkpoint> checkpoint = Checkpoint::Open(path);
  if (!checkpoint) return Failure(checkpoint.error());
  const GgufFile& file = *checkpoint->gguf();
  const Result<size_t> config = IdentifyConfig(KnownConfigs{}, file);
  if (!config) return Annotate(path.string(), config);
  const auto& architecture = file.metadata()["general.architecture"].get_ref<const std::string&>();
  ModelInfo info = InfoOf(*config, TrainedContext(file.metadata(), "/" + architecture + ".context_length"));
  info.metadata = std::make_shared<const nlohmann::json>(file.metadata());
  return info;
}

template <ModelConfig... Configs>
std::vector<std::string_view> NamesOf(ConfigList<Configs...>) {
  return {Configs::kName...};
}

}  // namespace

Result<ModelInfo> IdentifyModel(const std::filesystem::path& path) {
  std::error_code ignored;  // what cannot be asked is no folder
  if (std::filesystem::is_directory(path, ignored)) return IdentifyFolder(path);
  if (IsGgufFile(path)) return IdentifyGguf(path);
  return Fail(ErrorCode::kNotFound, path.string() + ": no such folder or GGUF file, expected one with a model");
}

Result<std::unique_ptr<LanguageModel>> LoadLanguageModel(const ModelInfo& info,
                                                         const std::filesystem::path& path,
                                                         const LoadOptions& options) {
  using Loaded = Result<std::unique_ptr<LanguageModel>>;
  return VisitConfig(KnownConfigs{}, info.config, [&]<ModelConfig C>() -> Loaded {
    auto weights = LoadWeights<C>(path, options);
    if (!weights) return Failure(weights.error());
    return std::make_unique<LanguageModelOf<C>>(std::move(*weights));
  });
}

std::vector<std::string_view> KnownModels() { return NamesOf(KnownConfigs{}); }

}  // namespace skald::program
