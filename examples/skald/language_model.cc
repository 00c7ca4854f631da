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
#include "skald/cache/create.h"
#include "skald/configs/identify.h"
#include "skald/configs/published.h"
#include "skald/model/model.h"
#include "skald/weights/packed_file.h"
#include "skald/weights/packed_source.h"
#include "skald/weights/packed_writer.h"

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

// The small files that a packed file takes along.
constexpr const char* kAttachedFiles[] = {"config.json", "tokenizer.model", "tokenizer_config.json",
                                          "chat_template.jinja"};

Result<ModelInfo> IdentifyPacked(const std::filesystem::path& path) {
  const auto file = PackedFile::Open(path);
  if (!file) return Failure(file.error());
  const PackedTable& table = (*file)->table();
  const auto names = KnownModels();
  const auto name = std::ranges::find(names, table.config);
  if (name == names.end()) {
    return Fail(ErrorCode::kUnsupported, path.string() + ": packed for the Config " + table.config +
                                             ", which is none of those that 'skald models' lists");
  }
  const auto config_json = (*file)->Attachment(kAttachedFiles[0]);
  return InfoOf(static_cast<size_t>(name - names.begin()), config_json ? TrainedContext(*config_json) : 0, table.dtype);
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
