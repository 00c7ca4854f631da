// SPDX-License-Identifier: Apache-2.0
//
// Parameters of norms and feed-forward layers that only some models have, and of types of a user's own, from
// safetensors by the names that the types give them.

#include <string>
#include <variant>
#include <vector>

#include "doctest/doctest.h"
#include "skald/layers/model_weights.h"
#include "tests/support/layer_blocks.h"
#include "tests/support/small_configs.h"
#include "tests/support/unpack.h"
#include "tests/weights/load_tensors.h"
#include "tests/weights/tiny_checkpoint.h"

namespace skald::testing {
namespace own_types_load_test {

// Returns a checkpoint with a tensor for each parameter that the model lists.
template <ModelConfig C>
std::vector<NewTensor> TensorsOf() {
  ModelWeights weights{SpecOf<C>()};
  std::vector<NewTensor> tensors;
  const ParameterList list = ParametersOf(weights);
  for (const Parameter& parameter : list.parameters()) {
    const auto add = [&](const std::string& name, const std::vector<uint64_t>& shape) {
      const std::string front = parameter.layer ? "model.layers." + std::to_string(*parameter.layer) + "." : "model.";
      tensors.push_back(TinyTensor((name == "lm_head.weight" ? "" : front) + name, shape));
    };
    if (const auto* matrix = std::get_if<MatrixParameter>(&parameter.value)) {
      for (const Part& part : matrix->parts) add(part.name, {part.rows, matrix->cols});
    } else {
      for (const ArrayPart& part : std::get<VectorParameter>(parameter.value).parts) add(part.name, part.shape);
    }
  }
  // As files of the Llama lineage have it.
  for (NewTensor& tensor : tensors) {
    const size_t at = tensor.name.find("feed_forward_norm.");
    if (at != std::string::npos) tensor.name.replace(at, 17, "post_attention_layernorm");
  }
  return tensors;
}

TEST_CASE("LayerNorms and feed-forward layers without a gate are loaded by name, biases too") {
  std::vector<NewTensor> tensors = TensorsOf<AllBiases>();
  const Result<ModelWeights> weights = LoadTensors<AllBiases>(tensors, {.dtype = DType::kF32});
  REQUIRE(weights);
  const auto raw = [&](const std::string& name) { return FloatsOf(TensorNamed(tensors, name)); };
  CHECK(weights->final_norm.Of<LayerNorm>().weight == raw("model.norm.weight"));
  CHECK(weights->final_norm.Of<LayerNorm>().bias == raw("model.norm.bias"));
  const BlockWeights &mixer = weights->blocks[2], &mlp = weights->blocks[3];
  const std::string layer = "model.layers.1.";
  CHECK(mixer.norm.Of<LayerNorm>().bias == raw(layer + "input_layernorm.bias"));
  CHECK(mixer.Of<Attention>().query_norm.Of<LayerNorm>().bias == raw(layer + "self_attn.q_norm.bias"));
  CHECK(mixer.Of<Attention>().output_bias == raw(layer + "self_attn.o_proj.bias"));
  CHECK(mlp.norm.Of<LayerNorm>().weight == raw(layer + "post_attention_layernorm.weight"));
  CHECK(Unpack(mlp.Of<FeedForward>().up) == raw(layer + "mlp.up_proj.weight"));
  CHECK(mlp.Of<FeedForward>().up_bias == raw(layer + "mlp.up_proj.bias"));
  CHECK(Unpack(mlp.Of<FeedForward>().down) == raw(layer + "mlp.down_proj.weight"));
  CHECK(mlp.Of<FeedForward>().down_bias == raw(layer + "mlp.down_proj.bias"));
}

struct WithoutNormBias : AllBiases {
  static constexpr LayerNorm kNorm = {.bias = false};
};
struct WithoutNormParameters : AllBiases {
  static constexpr LayerNorm kNorm = {.weight = false, .bias = false};
};

TEST_CASE("a bias that a model has or lacks is not passed over") {
  std::vector<NewTensor> tensors = TensorsOf<AllBiases>();
  CHECK(ErrorOf<WithoutNormBias>(tensors) ==
        "'model.layers.0.input_layernorm.bias': the Config has no place for this tensor, of shape [60]");
  TensorNamed(tensors, "model.norm.bias").name = "model.norm.bais";
  CHECK(ErrorOf<AllBiases>(tensors) == "model.norm.bias: expected a tensor of shape [60], found none");
  CHECK(ErrorOf<WithoutNormBias>(TensorsOf<WithoutNormBias>()) == "accepted");
  CHECK(ErrorOf<WithoutNormParameters>(TensorsOf<WithoutNormParameters>()) == "accepted");
  CHECK(ErrorOf<WithoutNormBias>(TensorsOf<WithoutNormParameters>()) ==
        "model.norm.weight: expected a tensor of shape [60], found none");
}

TEST_CASE("the types of a user's own are loaded by the names that they give") {
  std::vector<NewTensor> tensors = TensorsOf<OwnTypes>();
  const Result<ModelWeights> weights = LoadTensors<OwnTypes>(tensors, {.dtype = DType::kF32});
  REQUIRE(weights);
  const auto raw = [&](const std::string& name) { return FloatsOf(TensorNamed(tensors, name)); };
  CHECK(weights->final_norm.Of<MagnitudeNorm>().shift == raw("model.norm.shift"));
  CHECK(weights->blocks[0].norm.Of<MagnitudeNorm>().gain == raw("model.layers.0.input_layernorm.gain"));
  CHECK(Unpack(weights->blocks[0].Of<FadingMemory>(1).output) == raw("model.layers.0.memory.o_proj.weight"));
  CHECK(weights->blocks[0].Of<Attention>(0).key_norm.Of<MagnitudeNorm>().gain ==
        raw("model.layers.0.self_attn.k_norm.gain"));
  CHECK(weights->blocks[2].post_norm.Of<MagnitudeNorm>().gain == raw("model.layers.1.memory_norm.gain"));
}

}  // namespace own_types_load_test
}  // namespace skald::testing
