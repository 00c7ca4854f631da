// SPDX-License-Identifier: Apache-2.0
//
// How checkpoints name the tensors of a head for further tokens, and which of them are there. A head may have an
// embedding and an output head of its own, as those of DeepSeek-V3 and GLM-4.5 have; vLLM and llama.cpp use them. Most
// are copies of the model's: these are not loaded, and the model's are used.

#ifndef SKALD_MODEL_HEADS_DETAIL_HEAD_NAMES_H_
#define SKALD_MODEL_HEADS_DETAIL_HEAD_NAMES_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "skald/base/result.h"
#include "skald/base/text/message.h"
#include "skald/families/registry.h"
#include "skald/layers/model_spec.h"
#include "skald/model/heads/detail/head_loader.h"
#include "skald/weights/files/checkpoint.h"
#include "skald/weights/files/tensor_names.h"
#include "skald/weights/files/tensor_view.h"

namespace skald::internal {

// How checkpoints name the parameters of a head besides those of its layers.
struct HeadForm {
  std::string_view body = {}, layers = {};  // as in TensorNames; empty: the head's layer is one more of the model
  std::string_view embedding_norm, hidden_norm, projection, final_norm;
  bool in_layers = true;        // they are within the first layer, the final norm within the last one
  bool hidden_first = false;    // the projection reads the hidden state before the embedding
  std::string_view whole = {};  // the beginning of all names of heads; empty: it is that of the layers
};

constexpr HeadForm QwenHead(std::string_view body) {
  return {.body = body,
          .layers = "layers.",
          .embedding_norm = "pre_fc_norm_embedding",
          .hidden_norm = "pre_fc_norm_hidden",
          .projection = "fc",
          .final_norm = "norm",
          .in_layers = false,
          .whole = body};
}

inline constexpr HeadForm kHeadForms[] = {
    // DeepSeek-V3, GLM; all families in GGUF files
    {.embedding_norm = "enorm", .hidden_norm = "hnorm", .projection = "eh_proj", .final_norm = "shared_head.norm"},
    QwenHead("mtp."),
    QwenHead("model.mtp."),
    // Nemotron 3
    {.body = "mtp.",
     .layers = "layers.",
     .embedding_norm = "enorm",
     .hidden_norm = "hnorm",
     .projection = "eh_proj",
     .final_norm = "final_layernorm",
     .whole = "mtp."},
    // MiMo
    {.body = "model.",
     .layers = "mtp_layers.",
     .embedding_norm = "token_layernorm",
     .hidden_norm = "hidden_layernorm",
     .projection = "input_proj",
     .final_norm = "final_layernorm",
     .hidden_first = true,
     .whole = "model.mtp_"}};

// Within a layer, in folders and in GGUF files: an embedding and an output head of the head's own.
inline constexpr std::string_view kOwnEmbedding[] = {"embed_tokens.weight", "nextn.embed_tokens.weight"};
inline constexpr std::string_view kOwnOutput[] = {"shared_head.head.weight", "nextn.shared_head_head.weight"};

// A table of tokens in a head's first layer, which has the place of one of the model's.
struct HeadTable {
  const TensorView* tensor = nullptr;  // null: there is none
  bool is_copy = false;                // of the model's, which is used instead

  bool is_own() const { return tensor != nullptr && !is_copy; }
};

// The names that a checkpoint has for its head.
struct HeadNames {
  HeadForm form;
  TensorNames names;     // with those of the tables that are its own
  uint32_t layer;        // the number of its first layer
  bool has_norm = true;  // its own final norm; else it is the model's
  HeadTable embedding = {}, output = {};
};

// Finds a head's tables, which are compared with the model's.
inline void FindTables(const Checkpoint& checkpoint, const TensorNames& of_model, HeadNames& head) {
  const auto table = [&](std::span<const std::string_view> spellings, const TensorView* original) {
    HeadTable found;
    for (const std::string_view name : spellings) {
      if (found.tensor == nullptr) found.tensor = checkpoint.Find(head.names.OfLayer(head.layer, name));
    }
    found.is_copy = found.tensor != nullptr && original != nullptr && IsCopyOf(*found.tensor, *original);
    return found;
  };
  const TensorView* const embedding = checkpoint.Find(of_model.NameOf("embed_tokens.weight", {}));
  const TensorView* const output = checkpoint.Find(of_model.NameOf("lm_head.weight", {}));
  head.embedding = table(kOwnEmbedding, embedding);
  head.output = table(kOwnOutput, output != nullptr ? output : embedding);
  constexpr std::string_view kEnding = "weight";
  if (head.embedding.is_own()) head.names.embedding = head.embedding.tensor->name.substr(head.names.body.size());
  if (head.output.is_own()) {
    head.names.head = head.output.tensor->name;
    head.names.head.remove_suffix(kEnding.size());
  }
}

inline std::optional<HeadNames> FindPredictionHead(const Checkpoint& checkpoint, const ModelSpec& spec) {
  const TensorNames names = TensorNamesOf(checkpoint);
  for (const HeadForm& form : kHeadForms) {
    const bool is_apart = !form.body.empty();
    const uint32_t first = is_apart ? 0 : static_cast<uint32_t>(NumLayers(spec));
    HeadNames found = {form, names, first};
    if (is_apart) found.names.body = form.body, found.names.layers = form.layers, found.names.final_norm = "norm.";
    const std::optional<size_t> within = form.in_layers ? std::optional<size_t>(found.layer) : std::nullopt;
    const auto has = [&](std::string_view name) {
      return checkpoint.Find(found.names.NameOf(Concat({name, ".weight"}), within)) != nullptr;
    };
    if (!has(form.projection)) continue;
    found.has_norm = is_apart || has(form.final_norm);
    FindTables(checkpoint, names, found);
    return found;
  }
  return std::nullopt;
}

// Refuses tensors of the head that no part needed: all in its layers, and all outside of layers. Further layers are
// further heads, which are passed over: this one is asked again instead.
inline Result<void> CheckAllUsed(const HeadNames& head, const ModelSpec& body,
                                 std::span<const TensorView* const> left) {
  std::vector<std::string> layers;
  for (const Block& block : body.blocks) layers.push_back(head.names.OfLayer(block.number, ""));
  for (const TensorView* const tensor : left) {
    const std::string_view name = tensor->name, within = head.names.WithinLayer(name);
    const auto begins = [name](std::string_view part) { return name.starts_with(part); };
    const bool is_beside = within.empty() && !head.form.whole.empty() && begins(head.form.whole);
    if (!is_beside && !std::ranges::any_of(layers, begins)) continue;
    if (tensor == head.embedding.tensor || tensor == head.output.tensor) continue;  // copies
    return FailUnneeded(*tensor);
  }
  return {};
}

}  // namespace skald::internal

#endif  // SKALD_MODEL_HEADS_DETAIL_HEAD_NAMES_H_
