// SPDX-License-Identifier: Apache-2.0
//
// Recurrent layers, from the reference checkpoints and from small ones in which every tensor differs: each element,
// through the changes that loading makes, and each way in which a checkpoint can be wrong.

#include <cmath>
#include <cstddef>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "doctest/doctest.h"
#include "skald/base/numbers/bf16.h"
#include "skald/base/text/message.h"
#include "skald/families/config/layer.h"
#include "skald/model/load.h"
#include "skald/weights/packing/recurrent_transforms.h"
#include "tests/support/golden_configs.h"
#include "tests/support/layer_blocks.h"
#include "tests/support/test_data.h"
#include "tests/support/unpack.h"
#include "tests/weights/load_tensors.h"
#include "tests/weights/raw_file.h"
#include "tests/weights/tiny_checkpoint.h"

namespace skald {
namespace recurrent_load_test {

using testing::ErrorOf;
using testing::FeedForwardOf;
using testing::MixerOf;
using testing::NewTensor;
using testing::TensorNamed;
using testing::TinyHybrid;
using testing::TinyMambaModel;
using testing::TinyTensors;

using Floats = std::vector<float>;

// The tensors of a checkpoint, as the weights should hold them.
struct Expectation {
  std::function<Floats(const std::string&)> tensor;
  DType dtype = DType::kF32;

  Floats Joined(const std::vector<std::string>& names) const {
    Floats all;
    for (const std::string& name : names) {
      const Floats values = tensor(name);
      all.insert(all.end(), values.begin(), values.end());
    }
    return all;
  }

  Floats Rounded(Floats values) const {
    if (dtype == DType::kF32) return values;
    for (float& value : values) value = ToFloat(RoundToBF16(value));
    return values;
  }

  bool Matrix(const skald::Matrix& matrix, const std::vector<std::string>& names) const {
    return matrix.dtype == dtype && testing::Unpack(matrix) == Rounded(Joined(names));
  }
};

// Returns a row-major [rows, cols] matrix transposed.
Floats Transposed(const Floats& values, size_t cols) {
  Floats transposed;
  for (size_t col = 0; col < cols; ++col) {
    for (size_t i = col; i < values.size(); i += cols) transposed.push_back(values[i]);
  }
  return transposed;
}

Floats MinusExp(Floats values) {
  for (float& value : values) value = static_cast<float>(-std::exp(double{value}));
  return values;
}

void CheckGates(const RgLru::Weights& weights, const RgLru& lru, const std::string& prefix, const Expectation& expect) {
  const size_t heads = lru.blocks, block = lru.width / lru.blocks;
  REQUIRE(weights.gates.size() == 2 * heads);
  for (size_t gate = 0; gate < 2; ++gate) {
    const Floats all = expect.tensor(prefix + (gate == 0 ? "input_gate_weight" : "recurrent_gate_weight"));
    for (size_t head = 0; head < heads; ++head) {
      const auto begin = all.begin() + static_cast<std::ptrdiff_t>(head * block * block);
      const Floats stored(begin, begin + static_cast<std::ptrdiff_t>(block * block));
      CHECK(testing::Unpack(weights.gates[gate * heads + head]) == expect.Rounded(Transposed(stored, block)));
    }
  }
  CHECK(weights.gate_bias == expect.Joined({prefix + "input_gate_bias", prefix + "recurrent_gate_bias"}));
}

void CheckConv(const CausalConv::Weights& conv, const std::string& prefix, size_t taps, const Expectation& expect) {
  CHECK(conv.taps == Transposed(expect.tensor(prefix + "weight"), taps));
  CHECK(conv.bias == expect.tensor(prefix + "bias"));
}

void CheckLayer(const RgLru::Weights& weights, const RgLru& lru, const std::string& layer, const Expectation& expect) {
  const std::string block = layer + "temporal_block.";
  CHECK(expect.Matrix(weights.input, {block + "linear_y.weight", block + "linear_x.weight"}));
  CHECK(weights.input_bias == expect.Joined({block + "linear_y.bias", block + "linear_x.bias"}));
  CheckConv(weights.conv, block + "conv_1d.", lru.conv_width, expect);
  CheckGates(weights, lru, block + "rg_lru.", expect);
  const Floats parameter = expect.tensor(block + "rg_lru.recurrent_param");
  REQUIRE(weights.decay.size() == parameter.size());
  for (size_t i = 0; i < parameter.size(); ++i) {
    CHECK(weights.decay[i] == doctest::Approx(-8.0 * std::log(1.0 + std::exp(double{parameter[i]}))).epsilon(1e-7));
  }
  CHECK(expect.Matrix(weights.output, {block + "linear_out.weight"}));
  CHECK(weights.output_bias == expect.tensor(block + "linear_out.bias"));
}

// Tensors of both Mamba kinds.
template <class Weights>
void CheckStateSpace(const Weights& weights, size_t taps, const std::string& mixer, const Expectation& expect) {
  CHECK(expect.Matrix(weights.input, {mixer + "in_proj.weight"}));
  CheckConv(weights.conv, mixer + "conv1d.", taps, expect);
  CHECK(weights.skip == expect.tensor(mixer + "D"));
  CHECK(expect.Matrix(weights.output, {mixer + "out_proj.weight"}));
}

void CheckLayer(const Mamba::Weights& weights, const Mamba& mamba, const std::string& layer,
                const Expectation& expect) {
  const std::string mixer = layer + "mixer.";
  CheckStateSpace(weights, mamba.conv_width, mixer, expect);
  CHECK(weights.time_step_bias == expect.tensor(mixer + "dt_proj.bias"));
  CHECK(weights.decay == Transposed(MinusExp(expect.tensor(mixer + "A_log")), mamba.state_dim));
  CHECK(expect.Matrix(weights.selection, {mixer + "x_proj.weight"}));
  CHECK(expect.Matrix(weights.time_step, {mixer + "dt_proj.weight"}));
}

void CheckLayer(const Mamba2::Weights& weights, const Mamba2& mamba, const std::string& layer,
                const Expectation& expect) {
  const std::string mixer = layer + "mixer.";
  CheckStateSpace(weights, mamba.conv_width, mixer, expect);
  CHECK(weights.time_step_bias == expect.tensor(mixer + "dt_bias"));
  CHECK(weights.decay == MinusExp(expect.tensor(mixer + "A_log")));
  CHECK(weights.norm == expect.tensor(mixer + "norm.weight"));
}

template <ModelConfig C>
void CheckRecurrences(const ModelWeights& weights, const std::string& body, const Expectation& expect) {
  const ModelSpec& spec = weights.spec;
  const size_t blocks_of_layer = testing::HasFeedForward(spec) ? 2 : 1;
  REQUIRE(weights.blocks.size() == blocks_of_layer * C::kLayers.size());
  for (size_t i = 0; i < C::kLayers.size(); ++i) {
    const LayerKind kind = C::kLayers[i];
    const LayerSpec& layer = spec.blocks[testing::FindBlock(spec, i, /*feed_forward=*/false)].layers[0];
    const std::string prefix = body + "layers." + std::to_string(i) + ".";
    CAPTURE(prefix);
    const auto check = [&]<class L>(const L* one) {
      if (one != nullptr) CheckLayer(MixerOf(weights, i).Of<L>(), *one, prefix, expect);
      return one != nullptr;
    };
    CHECK((layer.As<Attention>() != nullptr) == IsAttention(kind));
    CHECK(check(layer.As<RgLru>()) == (kind == LayerKind::kRgLru));
    CHECK(check(layer.As<Mamba>()) == (kind == LayerKind::kMamba));
    CHECK(check(layer.As<Mamba2>()) == (kind == LayerKind::kMamba2));
  }
}

// Names that differ in RecurrentGemma, beside the recurrences.
void CheckRecurrentGemmaBlocks(const ModelWeights& weights, const Expectation& expect) {
  const auto norm = [&](const std::string& name) {
    Floats values = expect.tensor(name);
    for (float& value : values) value += 1.0f;
    return values;
  };
  CHECK(weights.final_norm.Of<RmsNorm>() == norm("model.final_norm.weight"));
  for (size_t i = 0; i < weights.blocks.size() / 2; ++i) {
    const std::string prefix = "model.layers." + std::to_string(i) + ".", mlp = prefix + "mlp_block.";
    CHECK(MixerOf(weights, i).norm.Of<RmsNorm>() == norm(prefix + "temporal_pre_norm.weight"));
    CHECK(FeedForwardOf(weights, i).norm.Of<RmsNorm>() == norm(prefix + "channel_pre_norm.weight"));
    const GatedFeedForward::Weights& feed_forward = FeedForwardOf(weights, i).Of<GatedFeedForward>();
    CHECK(expect.Matrix(feed_forward.gate_up, {mlp + "gate_proj.weight", mlp + "up_proj.weight"}));
    CHECK(feed_forward.gate_up_bias == expect.Joined({mlp + "gate_proj.bias", mlp + "up_proj.bias"}));
    CHECK(expect.Matrix(feed_forward.down, {mlp + "down_proj.weight"}));
    CHECK(feed_forward.down_bias == expect.tensor(mlp + "down_proj.bias"));
  }
  const Attention::Weights& attention = MixerOf(weights, 2).Of<Attention>();
  const std::string block = "model.layers.2.temporal_block.";
  CHECK(expect.Matrix(attention.qkv, {block + "q_proj.weight", block + "k_proj.weight", block + "v_proj.weight"}));
  CHECK(attention.qkv_bias.empty());
  CHECK(expect.Matrix(attention.output, {block + "o_proj.weight"}));
  CHECK(attention.output_bias == expect.tensor(block + "o_proj.bias"));
}

// Names that differ in both Mamba families.
void CheckMambaBlocks(const ModelWeights& weights, const Expectation& expect) {
  CHECK(weights.final_norm.Of<RmsNorm>() == expect.tensor("backbone.norm_f.weight"));
  CHECK(!testing::HasFeedForward(weights.spec));
  for (size_t i = 0; i < weights.blocks.size(); ++i) {
    CHECK(weights.blocks[i].norm.Of<RmsNorm>() ==
          expect.tensor("backbone.layers." + std::to_string(i) + ".norm.weight"));
  }
}

template <ModelConfig C>
void CheckGolden(const std::string& folder, const std::string& body, const std::string& embedding,
                 void (*check_blocks)(const ModelWeights&, const Expectation&)) {
  const auto path = GoldenPath(folder + "/model.safetensors");
  const testing::RawFile file(path);
  for (const DType dtype : {DType::kF32, DType::kBF16}) {
    const Result<ModelWeights> weights = LoadWeights<C>(path, {.dtype = dtype, .threads = 2});
    REQUIRE_MESSAGE(weights.has_value(), weights.error().message);
    const Expectation expect{[&](const std::string& name) { return file.Tensor(name); }, dtype};
    CHECK(expect.Matrix(weights->embedding, {body + embedding}));
    CHECK(!weights->head);
    CheckRecurrences<C>(*weights, body, expect);
    check_blocks(*weights, expect);
  }
}

TEST_CASE("Every element of the recurrent reference checkpoints arrives where it belongs") {
  CheckGolden<testing::GoldenRecurrentGemma>("recurrent_gemma", "model.", "embed_tokens.weight",
                                             CheckRecurrentGemmaBlocks);
  CheckGolden<testing::GoldenMamba>("mamba", "backbone.", "embeddings.weight", CheckMambaBlocks);
  CheckGolden<testing::GoldenMamba2>("mamba2", "backbone.", "embeddings.weight", CheckMambaBlocks);
}

// Changes one tensor after the other and checks the sentences about it.
template <ModelConfig C>
void CheckDamages(const std::vector<NewTensor>& tensors) {
  for (size_t i = 0; i < tensors.size(); ++i) {
    const std::string& name = tensors[i].name;
    const std::string shape = ShapeText(tensors[i].shape);
    std::vector<NewTensor> damaged = tensors;
    damaged.erase(damaged.begin() + static_cast<std::ptrdiff_t>(i));
    CHECK(ErrorOf<C>(damaged) == name + ": expected a tensor of shape " + shape + ", found none");

    damaged = tensors;
    damaged[i].shape.push_back(1);
    CHECK(ErrorOf<C>(damaged) == name + ": expected shape " + shape + ", found " + ShapeText(damaged[i].shape));

    damaged = tensors;
    damaged[i].dtype = "I32";
    CHECK(ErrorOf<C>(damaged) == name + ": expected F32, F16 or BF16, found 'I32'");
  }
}

// The same for tensors that no Config has a place for, in `layer` of a checkpoint.
template <ModelConfig C>
void CheckExtras(const std::vector<NewTensor>& tensors, const std::string& layer,
                 const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    std::vector<NewTensor> more = tensors;
    more.push_back(testing::TinyTensor(layer + name, {8}));
    CHECK(ErrorOf<C>(more) == "'" + layer + name + "': the Config has no place for this tensor, of shape [8]");
  }
}

TEST_CASE("A recurrent reference checkpoint with one damage is refused with the tensor's name") {
  const auto tensors_of = [](const std::string& folder) {
    return testing::RawFile(GoldenPath(folder + "/model.safetensors")).Tensors();
  };
  const auto griffin = tensors_of("recurrent_gemma"), mamba = tensors_of("mamba"), mamba2 = tensors_of("mamba2");
  CheckDamages<testing::GoldenRecurrentGemma>(griffin);
  CheckExtras<testing::GoldenRecurrentGemma>(griffin, "model.layers.2.temporal_block.",
                                             {"q_proj.bias", "linear_x.bias", "rg_lru.recurrent_param"});
  CheckDamages<testing::GoldenMamba>(mamba);
  CheckExtras<testing::GoldenMamba>(mamba, "backbone.layers.1.mixer.",
                                    {"in_proj.bias", "out_proj.bias", "dt_bias", "b_layernorm.weight"});
  CheckDamages<testing::GoldenMamba2>(mamba2);
  CheckExtras<testing::GoldenMamba2>(mamba2, "backbone.layers.1.mixer.", {"in_proj.bias", "x_proj.weight"});
}

TEST_CASE("A model of one's own that mixes kinds of layers loads by the Llama lineage's names") {
  std::vector<NewTensor> tensors = TinyTensors<TinyHybrid>();
  const Expectation expect{[&](const std::string& name) { return testing::FloatsOf(TensorNamed(tensors, name)); }};
  const Result<ModelWeights> weights = testing::LoadTensors<TinyHybrid>(tensors, {.dtype = DType::kF32});
  REQUIRE_MESSAGE(weights.has_value(), weights.error().message);
  CheckRecurrences<TinyHybrid>(*weights, "model.", expect);
  CHECK(MixerOf(*weights, 1).Of<Attention>().output_bias == expect.tensor("model.layers.1.self_attn.o_proj.bias"));
  CHECK(FeedForwardOf(*weights, 2).norm.Of<RmsNorm>() ==
        expect.tensor("model.layers.2.post_attention_layernorm.weight"));
  CHECK(FeedForwardOf(*weights, 3).Of<GatedFeedForward>().down_bias ==
        expect.tensor("model.layers.3.mlp.down_proj.bias"));
  CheckDamages<TinyHybrid>(tensors);
}

// A checkpoint for TinyMambaModel as transformers writes it, with this name for the embedding.
std::vector<NewTensor> MambaTensors(const std::string& embedding) {
  std::vector<NewTensor> tensors;
  for (NewTensor& tensor : TinyTensors<TinyMambaModel>("backbone.")) {
    std::string& name = tensor.name;
    if (name.ends_with("embed_tokens.weight")) name = embedding;
    if (name.ends_with("input_layernorm.weight")) name.replace(name.find("input_"), std::string::npos, "norm.weight");
    if (name == "backbone.norm.weight") name = "backbone.norm_f.weight";
    tensors.push_back(std::move(tensor));
  }
  return tensors;
}

TEST_CASE("Mamba's embedding is found under both of its names") {
  const Result<ModelWeights> newer = testing::LoadTensors<TinyMambaModel>(MambaTensors("backbone.embeddings.weight"));
  const Result<ModelWeights> older = testing::LoadTensors<TinyMambaModel>(MambaTensors("backbone.embedding.weight"));
  REQUIRE_MESSAGE(newer.has_value(), newer.error().message);
  REQUIRE_MESSAGE(older.has_value(), older.error().message);
  CHECK(testing::SameWeights(*newer, *older));
  CheckDamages<TinyMambaModel>(MambaTensors("backbone.embeddings.weight"));
}

TEST_CASE("Mamba's output head may be there as a copy of the embedding") {
  std::vector<NewTensor> tensors = MambaTensors("backbone.embedding.weight");
  NewTensor head = TensorNamed(tensors, "backbone.embedding.weight");
  head.name = "lm_head.weight";
  tensors.push_back(head);
  CHECK(ErrorOf<TinyMambaModel>(tensors) == "accepted");
  tensors.back().bytes[5] ^= 1;
  CHECK(ErrorOf<TinyMambaModel>(tensors).starts_with(
      "lm_head.weight: expected none, or a copy of backbone.embedding.weight"));
}

TEST_CASE("The decay of an RG-LRU is finite and of full precision for every parameter") {
  std::vector<float> values = {-100.0f, -20.0f, 0.0f, 20.0f, 1000.0f};
  internal::DecayFromRgLruParameter(values);
  CHECK(values[0] == doctest::Approx(-8.0 * std::exp(-100.0)).epsilon(1e-6));
  CHECK(values[1] == doctest::Approx(-8.0 * std::exp(-20.0)).epsilon(1e-6));
  CHECK(values[2] == static_cast<float>(-8.0 * std::log(2.0)));
  CHECK(values[3] == doctest::Approx(-160.0));
  CHECK(values[4] == -8000.0f);
}

TEST_CASE("MemoryBytes counts the parameters of recurrent layers") {
  const Result<ModelWeights> weights = testing::LoadTensors<TinyMambaModel>(TinyTensors<TinyMambaModel>());
  REQUIRE(weights);
  const size_t rows = 32 + 2 * (32 + 16 + 16 + 16);         // embedding; input, selection, time_step, output, padded
  const size_t layer = 6 + 2 * 10 + 10 + 4 * 10 + 10 + 10;  // norm, conv, its bias, decay, time_step_bias, skip
  CHECK(MemoryBytes(*weights) == rows * 32 * sizeof(bf16) + (6 + 2 * layer) * sizeof(float));
}

}  // namespace recurrent_load_test
}  // namespace skald
