// SPDX-License-Identifier: Apache-2.0
//
// The checkpoints of the small reference models, loaded and compared element by element with the
// file, which is read a second time by a reader that shares no code with the library.

#include <string>
#include <vector>

#include "doctest/doctest.h"
#include "skald/base/numbers/bf16.h"
#include "skald/model/load.h"
#include "tests/support/golden_configs.h"
#include "tests/support/layer_blocks.h"
#include "tests/support/test_data.h"
#include "tests/support/unpack.h"
#include "tests/weights/raw_file.h"

namespace skald {
namespace golden_load_test {

// The file's values, as the weights should hold them.
struct Expectation {
  const testing::RawFile& file;
  DType dtype;
  bool unit_offset;

  bool Matrix(const skald::Matrix& matrix, const std::string& prefix, const std::vector<std::string>& names) const {
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
void CheckLayer(const BlockWeights& mixer, const BlockWeights& mlp, const std::string& prefix,
                const Expectation& expect) {
  CAPTURE(prefix);
  const ShortForm form = ShortFormOf<C>();
  const Attention::Weights& attention = mixer.Of<Attention>();
  const GatedFeedForward::Weights& feed_forward = mlp.Of<GatedFeedForward>();
  CHECK(expect.Norm(mixer.norm.Of<RmsNorm>(), prefix + "input_layernorm.weight"));
  CHECK(expect.Matrix(attention.qkv, prefix + "self_attn.", {"q_proj.weight", "k_proj.weight", "v_proj.weight"}));
  CHECK(attention.qkv_bias.empty() == !form.qkv_bias);
  if (form.qkv_bias) {
    CHECK(attention.qkv_bias ==
          expect.file.Tensors(prefix + "self_attn.", {"q_proj.bias", "k_proj.bias", "v_proj.bias"}));
  }
  CHECK(attention.query_norm.empty() == !form.qk_norm);
  if (form.qk_norm) {
    CHECK(expect.Norm(attention.query_norm.Of<RmsNorm>(), prefix + "self_attn.q_norm.weight"));
    CHECK(expect.Norm(attention.key_norm.Of<RmsNorm>(), prefix + "self_attn.k_norm.weight"));
  }
  CHECK(expect.Matrix(attention.output, prefix, {"self_attn.o_proj.weight"}));
  CHECK(mixer.post_norm.empty() == !form.post_norms);
  if (form.post_norms) {
    CHECK(expect.Norm(mixer.post_norm.Of<RmsNorm>(), prefix + "post_attention_layernorm.weight"));
    CHECK(expect.Norm(mlp.norm.Of<RmsNorm>(), prefix + "pre_feedforward_layernorm.weight"));
    CHECK(expect.Norm(mlp.post_norm.Of<RmsNorm>(), prefix + "post_feedforward_layernorm.weight"));
  } else {
    CHECK(expect.Norm(mlp.norm.Of<RmsNorm>(), prefix + "post_attention_layernorm.weight"));
  }
  CHECK(expect.Matrix(feed_forward.gate_up, prefix + "mlp.", {"gate_proj.weight", "up_proj.weight"}));
  CHECK(expect.Matrix(feed_forward.down, prefix + "mlp.", {"down_proj.weight"}));
}

template <ModelConfig C>
void CheckFile(const std::string& name) {
  const auto path = GoldenPath(name);
  const testing::RawFile file(path);
  for (const DType dtype : {DType::kF32, DType::kBF16}) {
    const Result<ModelWeights> weights = LoadWeights<C>(path, {.dtype = dtype, .threads = 2});
    REQUIRE_MESSAGE(weights.has_value(), weights.error().message);
    const Expectation expect{file, dtype, ShortFormOf<C>().unit_offset_norms};
    CHECK(expect.Matrix(weights->embedding, "", {"model.embed_tokens.weight"}));
    CHECK(expect.Norm(weights->final_norm.Of<RmsNorm>(), "model.norm.weight"));
    CHECK(weights->head.has_value() == !C::kTiedEmbeddings);
    if (weights->head) CHECK(expect.Matrix(*weights->head, "", {"lm_head.weight"}));
    REQUIRE(weights->blocks.size() == 2 * C::kLayers.size());
    for (size_t i = 0; i < C::kLayers.size(); ++i) {
      CheckLayer<C>(testing::MixerOf(*weights, i), testing::FeedForwardOf(*weights, i),
                    "model.layers." + std::to_string(i) + ".", expect);
    }
  }
}

TEST_CASE("Every element of every reference checkpoint arrives where it belongs") {
  CheckFile<testing::GoldenLlama>("llama/model.safetensors");
  CheckFile<testing::GoldenLlama>("llama/model.bf16.safetensors");
  CheckFile<testing::GoldenMistral>("mistral/model.safetensors");
  CheckFile<testing::GoldenQwen2>("qwen2/model.safetensors");
  CheckFile<testing::GoldenQwen3>("qwen3/model.safetensors");
  CheckFile<testing::GoldenGemma>("gemma/model.safetensors");
  CheckFile<testing::GoldenGemma2>("gemma2/model.safetensors");
  CheckFile<testing::GoldenGemma3>("gemma3/model.safetensors");
  CheckFile<Stories260K>("stories260K/model.safetensors");
}

TEST_CASE("The Config of another model of the same family does not fit") {
  const auto path = GoldenPath("llama");
  const Result<ModelWeights> weights = LoadWeights<Stories260K>(path);
  REQUIRE(!weights);
  const std::string sentence =
      (path / "config.json").string() + ": what it says of the model is not what the Config says: ";
  CHECK_MESSAGE(weights.error().message.starts_with(sentence), weights.error().message);
  CHECK(weights.error().message.find("vocab_size (272, expected 512)") != std::string::npos);
  const auto checkpoint = Checkpoint::Open(path);
  REQUIRE(checkpoint);
  CHECK(LoadWeights<Stories260K>(*checkpoint).error().message ==
        (path / "model.safetensors").string() +
            ": model.embed_tokens.weight: expected shape [512, 64], found [272, 64]");
}

}  // namespace golden_load_test
}  // namespace skald
