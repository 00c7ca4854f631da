// SPDX-License-Identifier: Apache-2.0

#include "language_model.h"

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "known_configs.h"
#include "skald/base/no_throw.h"
#include "skald/configs/create.h"
#include "skald/model/model.h"
#include "skald/weights/packed_source.h"
#include "skald/weights/packed_writer.h"
#include "skald/model/load.h"

namespace skald::program {
namespace {

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
  std::map<DType, double> flops_of;
  struct Adder {
    std::map<DType, double>& flops_of;
    void operator()(const Matrix& matrix) const { flops_of[matrix.dtype] += FlopsOf(matrix); }
    void operator()(const std::vector<float>&) const {}
  };
  VisitParameters(weights, Adder{flops_of});
  cost.weight_type = std::ranges::max_element(flops_of, {}, &std::pair<const DType, double>::second)->first;
  for (const auto& [type, flops] : flops_of) cost.flops_per_token += flops;
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

// What a packed file takes along of the files that go with the weights.
constexpr const char* kAttachedFiles[] = {"config.json", "tokenizer.model", "tokenizer_config.json",
                                          "chat_template.jinja"};

// Those that there are. A model whose tokenizer is of a kind that Skald does not read still runs on token ids.
Result<void> Attach(const ReadModelFile& read_file, PackedOrigin& origin) {
  for (const char* name : kAttachedFiles) {
    auto content = read_file(name);
    if (content) {
      origin.attachments.emplace_back(name, std::move(*content));
    } else if (content.error().code != ErrorCode::kNotFound && content.error().code != ErrorCode::kUnsupported) {
      return Failure(content.error());
    }
  }
  return {};
}

}  // namespace

Result<std::unique_ptr<LanguageModel>> LoadLanguageModel(const ModelInfo& info, const std::filesystem::path& path,
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
  const auto config = FindModelByName(name);
  if (!config) return Failure(config.error());
  if (weight_type == DType::kF16) {
    return Fail(ErrorCode::kUnsupported, "F16 is a type of files, not of weights in memory");
  }
  return VisitConfig(KnownConfigs{}, *config, [&]<ModelConfig C>() -> Made {
    return NoThrow(name, [&]() -> Made {
      return std::make_unique<LanguageModelOf<C>>(RandomWeights<C>(1, weight_type));
    });
  });
}

Result<void> PackLanguageModel(const ModelInfo& info, const std::filesystem::path& path, const LoadOptions& options,
                               const std::filesystem::path& output) {
  const auto source = DescribeSource(path);
  if (!source) return Failure(source.error());
  PackedOrigin origin{info.name, 0, *source, {}};
  if (auto attached = Attach(info.read_file, origin); !attached) return attached;
  return VisitConfig(KnownConfigs{}, info.config, [&]<ModelConfig C>() -> Result<void> {
    const auto weights = LoadWeights<C>(path, options);
    if (!weights) return Failure(weights.error());
    origin.shapes = Fingerprint(WeightShapesOf<C>());
    return WritePackedFile(output, *weights, origin);
  });
}

}  // namespace skald::program
