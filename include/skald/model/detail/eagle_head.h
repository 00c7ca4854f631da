// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/model/eagle_head.h. Sources: vllm/model_executor/models/llama_eagle3.py of
// https://github.com/vllm-project/vllm, and src/models/eagle3.cpp of https://github.com/ggml-org/llama.cpp.

#ifndef SKALD_MODEL_DETAIL_EAGLE_HEAD_H_
#define SKALD_MODEL_DETAIL_EAGLE_HEAD_H_

#include "skald/model/eagle_head.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "skald/base/files/path_text.h"
#include "skald/base/files/small_file.h"
#include "skald/base/inline.h"
#include "skald/base/json/json_tree.h"
#include "skald/base/no_throw.h"
#include "skald/base/text/message.h"
#include "skald/base/threads/executor.h"
#include "skald/base/threads/float_environment.h"
#include "skald/base/threads/thread_pool.h"
#include "skald/families/config_json.h"
#include "skald/layers/kinds/attention.h"
#include "skald/layers/kinds/wide_attention.h"
#include "skald/layers/standard_layers.h"
#include "skald/model/load.h"
#include "skald/weights/files/checkpoint.h"
#include "skald/weights/files/tensor_names.h"
#include "skald/weights/load_plan.h"

namespace skald {

namespace internal {

struct EagleConfig {
  ModelSpec layer;  // a model of the layer alone, as Llama has it
  int draft_vocab_size = 0;
  bool norm_before_residual = false;
  std::vector<size_t> places = {};  // numbers of the model's layers; none: the usual ones
};

inline nlohmann::json EagleJson(const std::filesystem::path& folder) {
  const auto text = ReadSmallFile(folder / "config.json", kMaxConfigJson);
  nlohmann::json json;
  if (!text || !ParseJson(*text, json).empty()) return {};
  return json;
}

// Takes a field out, so that what is left is a config.json of Llama.
template <class T>
T Taken(nlohmann::json& json, const char* name, T otherwise) {
  const auto found = json.find(name);
  if (found == json.end()) return otherwise;
  T value = found->is_null() ? otherwise : found->get<T>();
  json.erase(found);
  return value;
}

inline Result<EagleConfig> ReadEagleConfig(const std::filesystem::path& folder) {
  nlohmann::json json = EagleJson(folder);
  EagleConfig config;
  config.draft_vocab_size = Taken(json, "draft_vocab_size", 0);
  config.norm_before_residual = Taken(json, "norm_before_residual", false);
  config.places = Taken(json, "eagle_aux_hidden_state_layer_ids", config.places);
  if (Taken(json, "norm_before_fc", false)) {
    return Fail(ErrorCode::kUnsupported,
                "norm_before_fc is true, expected a head that does not normalise what it reads");
  }
  if (auto own = json.find("eagle_config"); own != json.end() && own->is_object()) {
    config.places = Taken(*own, "eagle_aux_hidden_state_layer_ids", config.places);
  }
  for (const char* const name : {"eagle_config", "target_hidden_size", "parallel_drafting"}) json.erase(name);
  json["model_type"] = "llama";
  SKALD_ASSIGN(auto described, ParseConfigJson(json.dump()));
  config.layer = std::move(described.spec);
  return config;
}

// The layer: the embedding is normalised and carried, then attention reads it beside the stream.
inline std::optional<ModelSpec> EagleSpec(const EagleConfig& config) {
  const ModelSpec& layer = config.layer;
  if (layer.blocks.size() != 2) return std::nullopt;
  const auto* const attention = layer.blocks[0].layers[0].As<Attention>();
  if (attention == nullptr) return std::nullopt;
  Block carries = {.number = 0, .norm = layer.final_norm};
  carries.layers.push_back(CarriedInput{.width = layer.model_dim});
  Block attends = {.number = 0, .norm = layer.final_norm, .norm_name = "hidden_norm"};
  if (config.norm_before_residual) attends.norm.reset();
  attends.layers.push_back(WideAttention{.attention = *attention, .width = layer.model_dim});
  ModelSpec spec = layer;
  spec.blocks = {std::move(carries), std::move(attends), layer.blocks[1]};
  return spec;
}

inline Result<std::vector<size_t>> PlacesOf(const EagleConfig& config, const ModelSpec& model) {
  const size_t layers = NumLayers(model);
  std::vector<size_t> numbers = config.places, places;
  if (numbers.empty() && layers > 3) numbers = {2, layers / 2, layers - 3};
  for (const size_t number : numbers) {
    const auto block = std::ranges::find(model.blocks, number, [](const Block& one) { return size_t{one.number}; });
    if (number > layers) break;
    places.push_back(static_cast<size_t>(block - model.blocks.begin()));
  }
  if (places.empty() || places.size() != numbers.size()) {
    return Fail(ErrorCode::kInvalidArgument, "reads layers that the model does not have");
  }
  return places;
}

// Reads the distances of the draft vocabulary's tokens to those of the model.
inline Result<std::vector<int32_t>> IdsOf(const Checkpoint& checkpoint, size_t drafts, int vocab_size) {
  std::vector<int64_t> distances(drafts);
  if (const TensorView* const tensor = checkpoint.Find("d2t")) {
    if (tensor->dtype_name != "I64" || tensor->bytes.size() != drafts * sizeof(int64_t)) {
      return Fail(ErrorCode::kInvalidArgument, "d2t: expected I64, one for each of draft_vocab_size tokens");
    }
    std::memcpy(distances.data(), tensor->bytes.data(), tensor->bytes.size());
  }
  std::vector<int32_t> ids;
  for (size_t i = 0; i < drafts; ++i) {
    const int64_t most = vocab_size - static_cast<int64_t>(i);
    if (distances[i] < -static_cast<int64_t>(i) || distances[i] >= most) {
      return Fail(ErrorCode::kInvalidArgument, "d2t: names a token that the model does not have");
    }
    ids.push_back(static_cast<int32_t>(static_cast<int64_t>(i) + distances[i]));
  }
  return ids;
}

inline constexpr Renaming kEagleNames[] = {{"feed_forward_norm.", "post_attention_layernorm."}};

// Loads parameters from the tensors whose names begin with `body`.
inline Result<void> FillPart(const Checkpoint& checkpoint, std::string_view body, std::vector<Parameter> parameters,
                             const LoadOptions& options) {
  const TensorNames names = {.body = body, .head = "lm_head.", .renamings = kEagleNames};
  LoadPlan plan(checkpoint, names, options.dtype, WeightPackersOf<AllWeights>());
  for (Parameter& parameter : parameters) {
    parameter.layer.reset();  // `body` says it
    plan.Add(parameter);
  }
  SKALD_TRY(plan.Check(/*is_part=*/true));
  const FloatEnvironment plain(Denormals::kKept);
  ThreadPool pool(options.threads);
  plan.Execute(ExecutorRef(pool), {});
  return {};
}

inline Result<DraftHead> LoadEagle(const std::filesystem::path& folder, const AnyModel& model,
                                   const LoadOptions& options) {
  SKALD_TRY(CheckLoadOptions(options, WeightPackersOf<AllWeights>()));
  SKALD_ASSIGN(const auto config, ReadEagleConfig(folder));
  auto spec = EagleSpec(config);
  if (!spec) return Fail(ErrorCode::kUnsupported, "expected a head of one layer with attention");
  if (const char* why = WhyImpossible(*spec)) return Fail(ErrorCode::kUnsupported, why);
  SKALD_ASSIGN(auto places, PlacesOf(config, model.spec()));
  SKALD_ASSIGN(const auto checkpoint, Checkpoint::Open(folder));
  const bool has_embedding = checkpoint.Find("embed_tokens.weight") != nullptr;
  if (spec->vocab_size != model.spec().vocab_size || (!has_embedding && spec->model_dim != model.spec().model_dim)) {
    return Fail(ErrorCode::kInvalidArgument,
                Concat({"has a vocabulary of ", std::to_string(spec->vocab_size), " tokens and a width of ",
                        std::to_string(spec->model_dim), ", which are not those of the model ", model.name()}));
  }
  const auto dim = static_cast<size_t>(spec->model_dim), vocab = static_cast<size_t>(spec->vocab_size);
  const auto width = static_cast<size_t>(model.spec().model_dim);
  const auto drafts = static_cast<size_t>(config.draft_vocab_size);
  HeadWeights weights(*std::move(spec), model);
  HeadParts& parts = weights.parts;
  weights.body.dtype = options.dtype;
  parts.watches = std::move(places);
  parts.entry = 1;
  SKALD_ASSIGN(parts.ids, IdsOf(checkpoint, drafts, model.spec().vocab_size));

  ParameterList around, layer;
  const NormSpec& norm = weights.body.spec.final_norm;
  around.AddMatrix(parts.projection, parts.watches.size() * width, {{"fc.weight", dim}});
  around.AddMatrix(parts.output.emplace(), dim, {{"lm_head.weight", drafts}});
  if (has_embedding) around.AddMatrix(weights.body.embedding, dim, {{"embed_tokens.weight", vocab}});
  norm.ListParameters(weights.body.final_norm, "norm", dim, around);
  ListBlocks(weights.body, layer);
  if (config.norm_before_residual) norm.ListParameters(parts.hidden_norm, "hidden_norm", dim, layer);
  SKALD_TRY(FillPart(checkpoint, "", around.parameters(), options));
  const bool is_numbered = checkpoint.Find("layers.0.hidden_norm.weight") != nullptr;
  SKALD_TRY(FillPart(checkpoint, is_numbered ? "layers.0." : "midlayer.", layer.parameters(), options));
  std::vector<LayerFunction> functions = StandardLayers::Functions();
  functions.push_back(LayerFunctionOf<CarriedInput>());
  functions.push_back(LayerFunctionOf<WideAttention>());
  return DraftHead(model, std::move(weights), functions);
}

}  // namespace internal

SKALD_INLINE bool HasEagleHead(const std::filesystem::path& folder) {
  const auto found = NoThrow("HasEagleHead", [&]() -> Result<bool> {
    const nlohmann::json json = internal::EagleJson(folder);
    return json.is_object() && json.contains("draft_vocab_size") && json.value("num_hidden_layers", 0) == 1;
  });
  return found && *found;
}

SKALD_INLINE Result<DraftHead> LoadEagleHead(const std::filesystem::path& folder, const AnyModel& model,
                                             const LoadOptions& options) {
  const std::string path = PathText(folder);
  return NoThrow(path, [&]() -> Result<DraftHead> {
    if (model.weights().share.ranks > 1) {
      return Fail(ErrorCode::kUnsupported, path + ": heads are not divided among ranks");
    }
    if (!HasEagleHead(folder)) {
      return Fail(ErrorCode::kNotFound, path + ": expected a config.json of a head of EAGLE-3");
    }
    auto head = internal::LoadEagle(folder, model, options);
    if (!head) return Annotate(path, head);
    return head;
  });
}

}  // namespace skald

#endif  // SKALD_MODEL_DETAIL_EAGLE_HEAD_H_
