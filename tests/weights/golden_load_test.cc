// SPDX-License-Identifier: Apache-2.0
//
// The checkpoints of the small reference models, loaded and compared element by element with the
// file, which is read a second time by a reader that shares no code with the library.

#include <string>
#include <vector>

#include "doctest/doctest.h"
#include "skald/model/load.h"
#include "tests/support/golden_configs.h"
#include "tests/support/test_data.h"
#include "tests/support/unpack.h"
#include "tests/weights/raw_file.h"

namespace skald {
namespace {

// What the file says, as the weights should hold it.
struct Expectation {
  const testing::RawFile& file;
  DType dtype;
  bool unit_offset;

  bool Matrix(const skald::Matrix& matrix, const std::string& prefix,
              const std::vector<std::string>& names) const {
    std::vector<float> values = file.Tensors(prefix, names);
    if (dtype == DType::kBF16) {
      for (float& value : values) value = ToFloat(RoundToBF16(value));
    }
    return matrix.dtype == dtype && testing::Unpack(matrix) == values;
  }

  bool Norm(const std::vector<float>& norm, const std::string& name) const {
    std::vector<float> values = file.Tensor(name);
    for (float& value : values) value += unit_offset ? 1.0f : 0.0f;
    return norm == values;
  }
};

template <ModelConfig C>
void CheckLayer(const LayerWeights& layer, const std::string& prefix, const Expectation& expect) {
  CAPTURE(prefix);
  CHECK(expect.Norm(layer.input_norm, prefix + "input_layernorm.weight"));
  CHECK(expect.Matrix(layer.attention.qkv, prefix + "self_attn.",
                      {"q_proj.weight", "k_proj.weight", "v_proj.weight"}));
  CHECK(layer.attention.qkv_bias.empty() == !HasQKVBias<C>());
  if (HasQKVBias<C>()) {
    CHECK(
        layer.attention.qkv_bias ==
        expect.file.Tensors(prefix + "self_attn.", {"q_proj.bias", "k_proj.bias", "v_proj.bias"}));
  }
  CHECK(layer.attention.query_norm.empty() == !HasQKNorm<C>());
  if (HasQKNorm<C>()) {
    CHECK(expect.Norm(layer.attention.query_norm, prefix + "self_attn.q_norm.weight"));
    CHECK(expect.Norm(layer.attention.key_norm, prefix + "self_attn.k_norm.weight"));
  }
  CHECK(expect.Matrix(layer.attention.output, prefix, {"self_attn.o_proj.weight"}));
  CHECK(layer.post_attention_norm.empty() == !HasPostNorms<C>());
  if (HasPostNorms<C>()) {
    CHECK(expect.Norm(layer.post_attention_norm, prefix + "post_attention_layernorm.weight"));
    CHECK(expect.Norm(layer.feed_forward_norm, prefix + "pre_feedforward_layernorm.weight"));
    CHECK(expect.Norm(layer.post_feed_forward_norm, prefix + "post_feedforward_layernorm.weight"));
  } else {
    CHECK(expect.Norm(layer.feed_forward_norm, prefix + "post_attention_layernorm.weight"));
  }
  CHECK(expect.Matrix(layer.feed_forward.gate_up, prefix + "mlp.",
                      {"gate_proj.weight", "up_proj.weight"}));
  CHECK(expect.Matrix(layer.feed_forward.down, prefix + "mlp.", {"down_proj.weight"}));
}

template <ModelConfig C>
void CheckFile(const std::string& name) {
  const auto path = TestDataPath(name);
  if (!path) return;
  const testing::RawFile file(*path);
  for (const DType dtype : {DType::kF32, DType::kBF16}) {
    const Result<ModelWeights> weights = LoadWeights<C>(*path, {.dtype = dtype, .threads = 2});
    REQUIRE_MESSAGE(weights.has_value(), weights.error().message);
    const Expectation expect{file, dtype, HasUnitOffsetNorms<C>()};
    CHECK(expect.Matrix(weights->embedding, "", {"model.embed_tokens.weight"}));
    CHECK(expect.Norm(weights->final_norm, "model.norm.weight"));
    CHECK(weights->head.has_value() == !C::kTiedEmbeddings);
    if (weights->head) CHECK(expect.Matrix(*weights->head, "", {"lm_head.weight"}));
    REQUIRE(weights->layers.size() == C::kLayers.size());
    for (size_t i = 0; i < C::kLayers.size(); ++i) {
      CheckLayer<C>(weights->layers[i], "model.layers." + std::to_string(i) + ".", expect);
    }
  }
}

TEST_CASE("Every element of every reference checkpoint arrives where it belongs") {
  CheckFile<testing::GoldenLlama>("golden/a/llama/model.safetensors");
  CheckFile<testing::GoldenLlama>("golden/a/llama/model.bf16.safetensors");
  CheckFile<testing::GoldenMistral>("golden/a/mistral/model.safetensors");
  CheckFile<testing::GoldenQwen2>("golden/a/qwen2/model.safetensors");
  CheckFile<testing::GoldenQwen3>("golden/a/qwen3/model.safetensors");
  CheckFile<testing::GoldenGemma>("golden/a/gemma/model.safetensors");
  CheckFile<testing::GoldenGemma2>("golden/a/gemma2/model.safetensors");
  CheckFile<testing::GoldenGemma3>("golden/a/gemma3/model.safetensors");
  CheckFile<testing::Stories260K>("models/stories260K/model.safetensors");
}

TEST_CASE("The Config of another model of the same family does not fit") {
  const auto path = TestDataPath("golden/a/llama");
  if (!path) return;
  const Result<ModelWeights> weights = LoadWeights<testing::Stories260K>(*path);
  REQUIRE(!weights);
  CHECK(weights.error().message ==
        (*path / "model.safetensors").string() +
            ": model.embed_tokens.weight: expected shape [512, 64], found [272, 64]");
}

}  // namespace
}  // namespace skald
