// SPDX-License-Identifier: Apache-2.0

#include "language_model.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "demo_model/demo_config.h"
#include "skald/base/memory_limit.h"
#include "skald/cache/create.h"
#include "skald/configs/identify.h"
#include "skald/configs/published.h"
#include "skald/model/model.h"
#include "skald/weights/packed_file.h"
#include "skald/weights/packed_source.h"
#include "skald/weights/packed_writer.h"
#include "skald/weights/random_weights.h"

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

// For one row of activations.
double FlopsOf(const Matrix& matrix) {
  return 2.0 * static_cast<double>(matrix.rows) * static_cast<double>(matrix.cols);
}

ModelCost CostOf(const ModelWeights& weights, const WeightShapes& shapes, int window) {
  // Multiplying by queries and by probabilities.
  const double attention_flops = 2.0 * 2.0 * static_cast<double>(shapes.query_dim);
  ModelCost cost;
  cost.step_bytes = MemoryBytes(weights) - (weights.head ? weights.embedding.data.size() : 0);
  cost.flops_per_output = FlopsOf(weights.embedding);
  struct Adder {
    ModelCost& cost;
    void operator()(const Matrix& matrix) const { cost.flops_per_token += FlopsOf(matrix); }
    void operator()(const std::vector<float>&) const {}
  };
  VisitParameters(weights, Adder{cost});
  cost.flops_per_token -= cost.flops_per_output * (weights.head ? 2 : 1);
  for (const LayerKind kind : shapes.layers) {
    if (kind == LayerKind::kFullAttention) cost.attention_flops += attention_flops;
    if (kind == LayerKind::kSlidingAttention) cost.window_flops += attention_flops;
  }
  cost.window = static_cast<uint32_t>(window);
  return cost;
}

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
  Result<Outputs> Forward(const Batch& batch, Workspace& workspace) const override {
    return model_.Forward(batch, workspace);
  }

  ModelCost Cost() const override { return CostOf(model_.weights(), WeightShapesOf<C>(), WindowOf<C>()); }

 private:
  Model<C> model_;
};

// How long the texts were that the model learned from, which no Config says: it changes no logit.
uint32_t TrainedContext(std::string_view config_json) {
  const auto json = nlohmann::json::parse(config_json, nullptr, /*allow_exceptions=*/false);
  for (const char* text_model : {"", "/text_config"}) {
    const nlohmann::json::json_pointer field(std::string(text_model) + "/max_position_embeddings");
    if (!json.contains(field) || !json[field].is_number_unsigned()) continue;
    return static_cast<uint32_t>(std::min<uint64_t>(json[field].get<uint64_t>(), kMaxTokens));
  }
  return 0;
}

template <ModelConfig... Configs>
std::vector<std::string_view> NamesOf(ConfigList<Configs...>) {
  return {Configs::kName...};
}

ModelInfo InfoOf(size_t config, uint32_t trained_context, DType weight_type) {
  return VisitConfig(KnownConfigs{}, config, [&]<ModelConfig C>() {
    return ModelInfo{config, C::kName, size_t{C::kVocabSize}, trained_context, weight_type};
  });
}

Result<size_t> FindByName(std::string_view name) {
  const auto names = KnownModels();
  const auto found = std::ranges::find(names, name);
  if (found != names.end()) return static_cast<size_t>(found - names.begin());
  return Fail(ErrorCode::kNotFound, std::string(name) + " is none of the models that 'skald models' lists");
}

// The small files that a packed file takes along.
constexpr const char* kAttachedFiles[] = {"config.json", "tokenizer.model", "tokenizer_config.json",
                                          "chat_template.jinja"};

Result<ModelInfo> IdentifyPacked(const std::filesystem::path& path) {
  const auto file = PackedFile::Open(path);
  if (!file) return Failure(file.error());
  const PackedTable& table = (*file)->table();
  const auto config = FindByName(table.config);
  if (!config) return Annotate(path.string() + ": packed for another Config", config);
  const auto config_json = (*file)->Attachment(kAttachedFiles[0]);
  return InfoOf(*config, config_json ? TrainedContext(*config_json) : 0, table.dtype);
}

}  // namespace

Result<std::string> ReadModelFile(const std::filesystem::path& model, std::string_view name) {
  if (PackedFile::Recognises(model)) {
    const auto file = PackedFile::Open(model);
    if (!file) return Failure(file.error());
    const auto content = (*file)->Attachment(name);
    if (!content) return Failure(content.error());
    return std::string(*content);
  }
  const std::filesystem::path path = model / name;
  std::ifstream file(path, std::ios::binary);
  if (!file) return Fail(ErrorCode::kNotFound, path.string() + ": cannot be read");
  return std::string{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

Result<ModelInfo> IdentifyModel(const std::filesystem::path& path) {
  if (PackedFile::Recognises(path)) return IdentifyPacked(path);
  std::error_code ignored;  // what cannot be asked is no folder
  if (!std::filesystem::is_directory(path, ignored)) {
    return Fail(ErrorCode::kNotFound, path.string() + ": no such folder or packed file, expected one with a model");
  }
  const auto text = ReadModelFile(path, "config.json");
  if (!text) return Fail(text.error().code, text.error().message + ", but says what the model is");
  const Result<size_t> config = IdentifyConfig(KnownConfigs{}, *text);
  if (!config) return Annotate(path.string(), config);
  return InfoOf(*config, TrainedContext(*text), DType::kBF16);
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

Result<std::unique_ptr<LanguageModel>> RandomLanguageModel(std::string_view name, DType weight_type) {
  using Made = Result<std::unique_ptr<LanguageModel>>;
  const auto config = FindByName(name);
  if (!config) return Failure(config.error());
  if (weight_type == DType::kF16) {
    return Fail(ErrorCode::kUnsupported, "F16 is a type of files, not of weights in memory");
  }
  return VisitConfig(KnownConfigs{}, *config, [&]<ModelConfig C>() -> Made {
    return CatchOutOfMemory(std::string(name), [&]() -> Made {
      return std::make_unique<LanguageModelOf<C>>(RandomWeights<C>(1, weight_type));
    });
  });
}

Result<void> PackLanguageModel(const ModelInfo& info, const std::filesystem::path& folder, const LoadOptions& options,
                               const std::filesystem::path& output) {
  const auto source = DescribeSource(folder);
  if (!source) return Failure(source.error());
  PackedOrigin origin{info.name, 0, *source, {}};
  for (const char* name : kAttachedFiles) {
    if (auto content = ReadModelFile(folder, name)) origin.attachments.emplace_back(name, std::move(*content));
  }
  return VisitConfig(KnownConfigs{}, info.config, [&]<ModelConfig C>() -> Result<void> {
    const auto weights = LoadWeights<C>(folder, options);
    if (!weights) return Failure(weights.error());
    origin.shapes = Fingerprint(WeightShapesOf<C>());
    return WritePackedFile(output, *weights, origin);
  });
}

std::vector<std::string_view> KnownModels() { return NamesOf(KnownConfigs{}); }

}  // namespace skald::program
