// SPDX-License-Identifier: Apache-2.0
//
// A GGUF file with a drafter of Gemma 4.

#ifndef SKALD_TESTS_GOLDEN_HEADS_ASSISTANT_FILE_H_
#define SKALD_TESTS_GOLDEN_HEADS_ASSISTANT_FILE_H_

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "skald/base/files/small_file.h"
#include "skald/families/config_json.h"
#include "tests/support/gguf_convert.h"
#include "tests/support/gguf_writer.h"
#include "tests/weights/raw_file.h"

namespace skald::testing {

// A folder's drafter as llama.cpp's converter writes it (conversion/gemma.py of
// https://github.com/ggml-org/llama.cpp): without groups of tokens.
inline void WriteAssistantFile(const std::filesystem::path& folder, const std::filesystem::path& file) {
  const auto config = nlohmann::json::parse(*ReadSmallFile(folder / "config.json", kMaxConfigJson));
  const nlohmann::json& text = config["text_config"];
  const uint32_t layers = text["num_hidden_layers"], width = text["head_dim"];
  const uint32_t full = text["per_layer_config"]["3"]["head_dim"], kv_heads = text["num_key_value_heads"];
  std::vector<NewGgufTensor> tensors;
  for (const NewTensor& tensor : RawFile(folder / "model.safetensors").Tensors()) {
    if (tensor.name.starts_with("masked_embedding.")) continue;
    std::string name = GgufName(tensor.name, /*has_post_norms=*/true);
    if (name.ends_with(".layer_scalar")) name.replace(name.size() - 12, 12, "layer_output_scale.weight");
    if (name.ends_with("_projection.weight")) name.insert(0, "nextn.");
    tensors.push_back({name, 0, tensor.shape, tensor.bytes});
  }
  std::vector<float> divisors(full / 2, 1e30f);
  std::fill_n(divisors.begin(), full / 8, 1.0f);
  tensors.push_back({"rope_freqs.weight", 0, {divisors.size()}, BytesOf(divisors)});
  std::vector<uint8_t> slides;
  for (const auto& type : text["layer_types"]) slides.push_back(type == "sliding_attention");
  const std::string name = "gemma4-assistant.";
  const GgufValues values = GgufValues()
                                .String("general.architecture", "gemma4-assistant")
                                .U32(name + "block_count", layers)
                                .U32(name + "nextn_predict_layers", layers)
                                .U32(name + "attention.shared_kv_layers", layers)
                                .U32(name + "context_length", 256)
                                .U32(name + "embedding_length", text["hidden_size"])
                                .U32(name + "embedding_length_out", config["backbone_hidden_size"])
                                .U32(name + "embedding_length_per_layer_input", 0)
                                .U32(name + "feed_forward_length", text["intermediate_size"])
                                .U32(name + "attention.head_count", text["num_attention_heads"])
                                .U32(name + "attention.head_count_kv", kv_heads)
                                .U32(name + "attention.key_length", full)
                                .U32(name + "attention.value_length", full)
                                .U32(name + "attention.key_length_swa", width)
                                .U32(name + "attention.value_length_swa", width)
                                .U32(name + "attention.sliding_window", text["sliding_window"])
                                .Numbers(name + "attention.sliding_window_pattern", 7, slides)
                                .U32(name + "rope.dimension_count", full)
                                .U32(name + "rope.dimension_count_swa", width)
                                .F32(name + "rope.freq_base", 1e6f)
                                .F32(name + "rope.freq_base_swa", 1e4f)
                                .F32(name + "attention.layer_norm_rms_epsilon", text["rms_norm_eps"]);
  WriteFile(file, GgufImage(values, tensors));
}

}  // namespace skald::testing

#endif  // SKALD_TESTS_GOLDEN_HEADS_ASSISTANT_FILE_H_
