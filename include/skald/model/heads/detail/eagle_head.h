// SPDX-License-Identifier: Apache-2.0
//
// Definitions of skald/model/heads/eagle_head.h. Sources: vllm/model_executor/models/llama_eagle3.py of
// https://github.com/vllm-project/vllm, and src/models/eagle3.cpp of https://github.com/ggml-org/llama.cpp.

#ifndef SKALD_MODEL_HEADS_DETAIL_EAGLE_HEAD_H_
#define SKALD_MODEL_HEADS_DETAIL_EAGLE_HEAD_H_

#include "skald/model/heads/eagle_head.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "skald/base/files/path_text.h"
#include "skald/base/inline.h"
#include "skald/base/no_throw.h"
#include "skald/base/text/message.h"
#include "skald/base/threads/executor.h"
#include "skald/base/threads/float_environment.h"
#include "skald/base/threads/thread_pool.h"
#include "skald/families/config/usual_layer.h"
#include "skald/layers/kinds/attention.h"
#include "skald/layers/kinds/gated_feed_forward.h"
#include "skald/layers/kinds/wide_attention.h"
#include "skald/layers/standard_layers.h"
#include "skald/model/heads/detail/eagle_config.h"
#include "skald/model/heads/detail/head_loader.h"
#include "skald/model/heads/detail/matrix_views.h"
#include "skald/model/load.h"
#include "skald/weights/files/checkpoint.h"
#include "skald/weights/files/tensor_names.h"
#include "skald/weights/random_weights.h"

namespace skald {

namespace internal {

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

inline std::vector<LayerFunction> EagleFunctions() {
  std::vector<LayerFunction> functions = StandardLayers::Functions();
  functions.push_back(LayerFunctionOf<WideAttention>());
  return functions;
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

// Reads the tokens of the draft vocabulary: of GGUF files their ids, of folders the distances to them. Without the
// tensor they are the model's first ones.
inline Result<std::vector<int32_t>> IdsOf(const Checkpoint& checkpoint, size_t drafts, int vocab_size) {
  std::vector<int64_t> numbers(drafts);
  const TensorView* const tensor = checkpoint.Find("d2t");
  if (tensor != nullptr) {
    if (tensor->dtype_name != "I64" || tensor->bytes.size() != drafts * sizeof(int64_t)) {
      return Fail(ErrorCode::kInvalidArgument, "d2t: expected I64, one for each of the output head's tokens");
    }
    std::memcpy(numbers.data(), tensor->bytes.data(), tensor->bytes.size());
  }
  const bool are_ids = tensor != nullptr && checkpoint.gguf() != nullptr;
  std::vector<int32_t> ids;
  for (size_t i = 0; i < drafts; ++i) {
    const int64_t from = are_ids ? 0 : static_cast<int64_t>(i);
    if (numbers[i] < -from || numbers[i] >= vocab_size - from) {
      return Fail(ErrorCode::kInvalidArgument, "d2t: names a token that the model does not have");
    }
    ids.push_back(static_cast<int32_t>(from + numbers[i]));
  }
  return ids;
}

// Refuses tensors of another number of tokens than they are for. Without an output head it is the model's.
inline Result<void> CheckVocabularies(const EagleConfig& config, const Checkpoint& checkpoint, const TensorView* output,
                                      int vocab_size) {
  const auto vocab = static_cast<uint64_t>(vocab_size), drafts = output != nullptr ? output->shape[0] : vocab;
  if (config.drafts != 0 && config.drafts != drafts) {
    const std::string_view whose = output != nullptr ? output->name : "the model's output head";
    return Fail(ErrorCode::kInvalidArgument,
                Concat({whose, ": has ", std::to_string(drafts), " rows, but draft_vocab_size is ",
                        std::to_string(config.drafts)}));
  }
  const TensorView* const mask = checkpoint.Find("t2d");
  if (mask == nullptr || (mask->shape.size() == 1 && mask->shape[0] == vocab)) return {};
  return Fail(ErrorCode::kInvalidArgument,
              Concat({"t2d: expected one for each of the model's ", std::to_string(vocab), " tokens"}));
}

// The names of what is around the layer, and within it.
struct EagleNames {
  TensorNames around, layer;
};

inline constexpr Renaming kEagleFolderNames[] = {{"feed_forward_norm.", "post_attention_layernorm."}};

inline constexpr RowLayout kEaglePairs = {.pairs_adjacent = true};
inline constexpr Renaming kEagleGgufNames[] = {{"input_layernorm.", "attn_norm."},
                                               {"hidden_norm.", "attn_norm_2."},
                                               {"feed_forward_norm.", "ffn_norm."},
                                               {"self_attn.q_proj.", "attn_q.", kEaglePairs},
                                               {"self_attn.k_proj.", "attn_k.", kEaglePairs},
                                               {"self_attn.v_proj.", "attn_v."},
                                               {"self_attn.o_proj.", "attn_output."},
                                               {"mlp.gate_proj.", "ffn_gate."},
                                               {"mlp.up_proj.", "ffn_up."},
                                               {"mlp.down_proj.", "ffn_down."},
                                               {"input_norm.", "enc.output_norm."}};

inline EagleNames EagleNamesOf(const Checkpoint& checkpoint) {
  if (checkpoint.gguf() != nullptr) {
    const TensorNames names = {.body = "",
                               .head = "output.",
                               .embedding = "token_embd.weight",
                               .final_norm = "output_norm.",
                               .layers = "blk.",
                               .renamings = kEagleGgufNames};
    return {names, names};
  }
  const TensorNames names = {.body = "", .head = "lm_head.", .layers = "", .renamings = kEagleFolderNames};
  EagleNames all = {names, names};
  all.layer.body = checkpoint.Find("layers.0.hidden_norm.weight") != nullptr ? "layers.0." : "midlayer.";
  return all;
}

inline Result<EagleConfig> ReadEagleConfig(const std::filesystem::path& path, const Checkpoint& checkpoint,
                                           const ModelSpec& model) {
  if (checkpoint.gguf() != nullptr) return ReadEagleGguf(*checkpoint.gguf(), model.vocab_size);
  return ReadEagleFolder(path);
}

inline Result<DraftHead> LoadEagle(const std::filesystem::path& path, const AnyModel& model,
                                   const LoadOptions& options) {
  SKALD_TRY(CheckLoadOptions(options, WeightPackersOf<AllWeights>()));
  SKALD_ASSIGN(const auto checkpoint, Checkpoint::Open(path));
  SKALD_ASSIGN(const auto config, ReadEagleConfig(path, checkpoint, model.spec()));
  auto spec = EagleSpec(config);
  if (!spec) return Fail(ErrorCode::kUnsupported, "expected a head of one layer with attention");
  if (const char* why = WhyImpossible(*spec)) return Fail(ErrorCode::kUnsupported, why);
  SKALD_ASSIGN(auto places, PlacesOf(config, model.spec()));
  const EagleNames names = EagleNamesOf(checkpoint);
  const auto find = [&](std::string_view name) { return checkpoint.Find(names.around.NameOf(name, std::nullopt)); };
  const bool has_embedding = find("embed_tokens.weight") != nullptr;
  if (spec->vocab_size != model.spec().vocab_size || (!has_embedding && spec->model_dim != model.spec().model_dim)) {
    return Fail(ErrorCode::kInvalidArgument,
                Concat({"has a vocabulary of ", std::to_string(spec->vocab_size), " tokens and a width of ",
                        std::to_string(spec->model_dim), ", which are not those of the model ", model.name()}));
  }
  const auto dim = static_cast<size_t>(spec->model_dim), vocab = static_cast<size_t>(spec->vocab_size);
  const size_t read = places.size() * static_cast<size_t>(model.spec().model_dim);
  HeadWeights weights(*std::move(spec), model);
  HeadParts& parts = weights.parts;
  weights.body.dtype = options.dtype;
  parts.watches = std::move(places);
  parts.entry = 1;

  ParameterList around, layer;
  const NormSpec& norm = weights.body.spec.final_norm;
  around.AddMatrix(parts.projection, read, {{"fc.weight", dim}});
  const TensorView* output = find("lm_head.weight");
  if (output != nullptr && output->shape.empty()) output = nullptr;
  SKALD_TRY(CheckVocabularies(config, checkpoint, output, model.spec().vocab_size));
  if (output != nullptr) {
    const auto drafts = static_cast<size_t>(std::min<uint64_t>(output->shape[0], vocab));
    SKALD_ASSIGN(parts.ids, IdsOf(checkpoint, drafts, model.spec().vocab_size));
    around.AddMatrix(parts.output.emplace(), dim, {{"lm_head.weight", drafts}});
  } else {
    weights.body.spec.tied_embeddings = false;  // its own embedding is not the model's head
    weights.body.head = ViewOf(model.weights().head ? *model.weights().head : model.weights().embedding);
  }
  if (config.norm_before_projection) norm.ListParameters(parts.read_norm, "input_norm", read, around);
  if (has_embedding) around.AddEmbedding(weights.body.embedding, dim, {{"embed_tokens.weight", vocab}});
  norm.ListParameters(weights.body.final_norm, "norm", dim, around);
  ListBlocks(weights.body, layer);
  if (config.norm_before_residual) norm.ListParameters(parts.hidden_norm, "hidden_norm", dim, layer);
  HeadLoader loader(checkpoint, options);
  SKALD_TRY(loader.Fill(names.around, around.parameters()));
  SKALD_TRY(loader.Fill(names.layer, layer.parameters()));
  constexpr std::string_view kOthers[] = {"d2t", "t2d"};  // the first is read already, the second says no more
  SKALD_TRY(loader.CheckLeftOut(kOthers));
  return DraftHead(model, std::move(weights), EagleFunctions());
}

}  // namespace internal

SKALD_INLINE bool HasEagleHead(const std::filesystem::path& path) {
  const auto found = NoThrow("HasEagleHead", [&]() -> Result<bool> {
    if (internal::IsFileOf(internal::kEagleArchitecture, path)) return true;
    return internal::IsEagleJson(internal::HeadJson(path).json);
  });
  return found && *found;
}

SKALD_INLINE Result<DraftHead> LoadEagleHead(const std::filesystem::path& path, const AnyModel& model,
                                             const LoadOptions& options) {
  const std::string name = PathText(path);
  return NoThrow(name, [&]() -> Result<DraftHead> {
    if (model.weights().share.ranks > 1) {
      return Fail(ErrorCode::kUnsupported, name + ": heads are not divided among ranks");
    }
    if (!HasEagleHead(path)) {
      return Fail(ErrorCode::kNotFound, name + ": expected a folder or a GGUF file with a head of EAGLE-3");
    }
    auto head = internal::LoadEagle(path, model, options);
    if (!head) return Annotate(name, head);
    return head;
  });
}

SKALD_INLINE Result<DraftHead> RandomEagleHead(const AnyModel& model, uint64_t seed, DType dtype) {
  return NoThrow("RandomEagleHead", [&]() -> Result<DraftHead> {
    const ModelSpec& of = model.spec();
    const auto dim = static_cast<size_t>(of.model_dim);
    internal::EagleConfig config;
    config.layer = {.model_dim = of.model_dim, .vocab_size = of.vocab_size, .tied_embeddings = of.tied_embeddings};
    const Attention attention = {.heads = 4, .kv_heads = 2, .head_dim = 16, .rotary_dim = 16, .query_pre_scale = 16.0};
    AddUsualLayer(config.layer, 0, RmsNorm(), attention, GatedFeedForward{.width = 2 * of.model_dim});
    HeadWeights weights(*internal::EagleSpec(config), model);
    HeadParts& parts = weights.parts;
    weights.body.dtype = dtype;
    parts.watches = {0, of.blocks.size() / 2, of.blocks.size()};
    parts.entry = 1;
    for (int32_t id = 0; id < of.vocab_size; id += 2) parts.ids.push_back(id);
    ParameterList list;
    list.AddMatrix(parts.projection, parts.watches.size() * dim, {{"fc.weight", dim}});
    list.AddMatrix(parts.output.emplace(), dim, {{"lm_head.weight", parts.ids.size()}});
    weights.body.spec.final_norm.ListParameters(weights.body.final_norm, "norm", dim, list);
    ListBlocks(weights.body, list);
    const FloatEnvironment plain(Denormals::kKept);
    ThreadPool pool(1);
    FillWithRandom(list, seed, dtype, ExecutorRef(pool));
    return DraftHead(model, std::move(weights), internal::EagleFunctions());
  });
}

}  // namespace skald

#endif  // SKALD_MODEL_HEADS_DETAIL_EAGLE_HEAD_H_
