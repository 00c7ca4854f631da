// SPDX-License-Identifier: Apache-2.0

#include "skald/model/load.h"
#include "skald/base/numbers/bf16.h"

#include <cmath>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "doctest/doctest.h"
#include "skald/base/text/message.h"
#include "tests/support/layer_blocks.h"
#include "tests/support/quantised_types.h"
#include "tests/support/safetensors_writer.h"
#include "tests/support/unpack.h"
#include "tests/weights/load_tensors.h"
#include "tests/weights/tiny_checkpoint.h"

namespace skald {
namespace load_test {

using testing::ErrorOf;
using testing::FeedForwardOf;
using testing::FloatsOf;
using testing::LoadTensors;
using testing::MixerOf;
using testing::NewTensor;
using testing::SafetensorsImage;
using testing::TemporaryFolder;
using testing::TensorNamed;
using testing::TinyFull;
using testing::TinyModel;
using testing::TinyTensors;
using testing::TinyTied;
using testing::Unpack;
using testing::WriteFile;

std::vector<float> Joined(std::vector<float> a, const std::vector<float>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

std::vector<float> PlusOne(std::vector<float> values) {
  for (float& value : values) value += 1.0f;
  return values;
}

TEST_CASE("Every tensor of a model with all options arrives where it belongs") {
  std::vector<NewTensor> tensors = TinyTensors<TinyFull>();
  const auto raw = [&](const std::string& name) { return FloatsOf(TensorNamed(tensors, name)); };
  const Result<ModelWeights> weights = LoadTensors<TinyFull>(tensors, {.dtype = DType::kF32});
  REQUIRE(weights);
  CHECK(weights->dtype == DType::kF32);
  CHECK(Unpack(weights->embedding) == raw("model.embed_tokens.weight"));
  REQUIRE(weights->head);
  CHECK(Unpack(*weights->head) == raw("lm_head.weight"));
  CHECK(weights->final_norm.Of<RmsNorm>() == PlusOne(raw("model.norm.weight")));
  REQUIRE(weights->blocks.size() == 2 * 2);
  for (size_t i = 0; i < 2; ++i) {
    const BlockWeights &mixer = MixerOf(*weights, i), &mlp = FeedForwardOf(*weights, i);
    const Attention::Weights& attention = mixer.Of<Attention>();
    const GatedFeedForward::Weights& feed_forward = mlp.Of<GatedFeedForward>();
    const auto part = [&](const std::string& name) { return raw("model.layers." + std::to_string(i) + "." + name); };
    const auto three = [&](const std::string& suffix) {
      return Joined(Joined(part("self_attn.q_proj." + suffix), part("self_attn.k_proj." + suffix)),
                    part("self_attn.v_proj." + suffix));
    };
    CHECK(mixer.norm.Of<RmsNorm>() == PlusOne(part("input_layernorm.weight")));
    CHECK(Unpack(attention.qkv) == three("weight"));
    CHECK(attention.qkv_bias == three("bias"));
    CHECK(attention.query_norm.Of<RmsNorm>() == PlusOne(part("self_attn.q_norm.weight")));
    CHECK(attention.key_norm.Of<RmsNorm>() == PlusOne(part("self_attn.k_norm.weight")));
    CHECK(Unpack(attention.output) == part("self_attn.o_proj.weight"));
    CHECK(mixer.post_norm.Of<RmsNorm>() == PlusOne(part("post_attention_layernorm.weight")));
    CHECK(mlp.norm.Of<RmsNorm>() == PlusOne(part("pre_feedforward_layernorm.weight")));
    CHECK(Unpack(feed_forward.gate_up) == Joined(part("mlp.gate_proj.weight"), part("mlp.up_proj.weight")));
    CHECK(Unpack(feed_forward.down) == part("mlp.down_proj.weight"));
    CHECK(mlp.post_norm.Of<RmsNorm>() == PlusOne(part("post_feedforward_layernorm.weight")));
  }
}

TEST_CASE("Without post-norms, post_attention_layernorm is the norm before the feed-forward block") {
  std::vector<NewTensor> tensors = TinyTensors<TinyTied>();
  const Result<ModelWeights> weights = LoadTensors<TinyTied>(tensors);
  REQUIRE(weights);
  const BlockWeights &mixer = MixerOf(*weights, 1), &mlp = FeedForwardOf(*weights, 1);
  CHECK(mlp.norm.Of<RmsNorm>() == FloatsOf(TensorNamed(tensors, "model.layers.1.post_attention_layernorm.weight")));
  CHECK(mixer.post_norm.empty());
  CHECK(mlp.post_norm.empty());
  CHECK(mixer.Of<Attention>().qkv_bias.empty());
  CHECK(mixer.Of<Attention>().query_norm.empty());
  CHECK(mixer.Of<Attention>().key_norm.empty());
  CHECK(!weights->head);
}

TEST_CASE("The default is bf16 matrices, rounded from F32, and float vectors") {
  std::vector<NewTensor> tensors = TinyTensors<TinyModel>();
  const Result<ModelWeights> weights = LoadTensors<TinyModel>(tensors);
  REQUIRE(weights);
  CHECK(weights->dtype == DType::kBF16);
  std::vector<float> rounded = FloatsOf(TensorNamed(tensors, "model.layers.0.mlp.down_proj.weight"));
  for (float& value : rounded) value = ToFloat(RoundToBF16(value));
  CHECK(Unpack(FeedForwardOf(*weights, 0).Of<GatedFeedForward>().down) == rounded);
  CHECK(weights->final_norm.Of<RmsNorm>() == FloatsOf(TensorNamed(tensors, "model.norm.weight")));
}

struct NormedHead : TinyModel {
  static constexpr bool kNormedHead = true;
};

TEST_CASE("Columns of a normed head are divided by their norms, and rounded once") {
  std::vector<NewTensor> tensors = TinyTensors<NormedHead>();
  NewTensor& head = TensorNamed(tensors, "lm_head.weight");
  std::vector<float> expected = FloatsOf(head);
  constexpr size_t kCols = NormedHead::kModelDim;
  for (size_t i = 0; i < expected.size(); i += kCols) expected[i] = 0.0f;  // a column without a norm
  head = testing::FloatTensor(head.name, head.shape, expected);
  for (size_t col = 0; col < kCols; ++col) {
    double squares = 0.0;
    for (size_t i = col; i < expected.size(); i += kCols) squares += double{expected[i]} * double{expected[i]};
    for (size_t i = col; i < expected.size(); i += kCols) {
      expected[i] = static_cast<float>(double{expected[i]} / (std::sqrt(squares) + 1e-7));
    }
  }
  const Result<ModelWeights> exact = LoadTensors<NormedHead>(tensors, {.dtype = DType::kF32});
  REQUIRE(exact);
  CHECK(Unpack(*exact->head) == expected);
  const Result<ModelWeights> short_floats = LoadTensors<NormedHead>(tensors);
  REQUIRE(short_floats);
  CHECK(short_floats->head->dtype == DType::kBF16);
  for (float& value : expected) value = ToFloat(RoundToBF16(value));
  CHECK(Unpack(*short_floats->head) == expected);
}

TEST_CASE("Threads and shards change no byte") {
  const std::vector<NewTensor> tensors = TinyTensors<TinyFull>();
  const Result<ModelWeights> single = LoadTensors<TinyFull>(tensors);
  const Result<ModelWeights> threaded = LoadTensors<TinyFull>(tensors, {.threads = 3});

  const TemporaryFolder folder;
  std::vector<NewTensor> shards[3];
  nlohmann::json index;
  for (size_t i = 0; i < tensors.size(); ++i) {
    shards[i % 3].push_back(tensors[i]);
    index["weight_map"][tensors[i].name] = "shard" + std::to_string(i % 3);
  }
  for (size_t i = 0; i < 3; ++i) {
    WriteFile(folder.path() / ("shard" + std::to_string(i)), SafetensorsImage(shards[i]));
  }
  WriteFile(folder.path() / "model.safetensors.index.json", index.dump());
  const Result<ModelWeights> sharded = LoadWeights<TinyFull>(folder.path());

  REQUIRE(single);
  REQUIRE(threaded);
  REQUIRE(sharded);
  CHECK(testing::SameWeights(*single, *threaded));
  CHECK(testing::SameWeights(*single, *sharded));
}

TEST_CASE(
    "Text models inside multimodal checkpoints are found under both prefixes, the vision part is "
    "left alone") {
  const Result<ModelWeights> plain = LoadTensors<TinyModel>(TinyTensors<TinyModel>());
  REQUIRE(plain);
  for (const auto& [body, head] : {std::pair("language_model.model.", "language_model.lm_head."),
                                   std::pair("model.language_model.", "lm_head.")}) {
    std::vector<NewTensor> tensors = TinyTensors<TinyModel>(body, head);
    for (NewTensor& tensor : tensors) {  // the values follow the name: take those of the plain one
      std::string name = tensor.name;
      if (name.starts_with(body)) name = "model." + name.substr(std::string(body).size());
      if (name.starts_with(head)) name = "lm_head.weight";
      tensor.bytes = testing::TinyTensor(name, tensor.shape).bytes;
    }
    tensors.push_back(testing::TinyTensor("vision_tower.vision_model.encoder.layers.0.mlp.fc1.weight", {3, 5}));
    tensors.push_back(testing::TinyTensor("model.vision_tower.embeddings.weight", {4}));
    tensors.push_back(testing::TinyTensor("multi_modal_projector.mm_input_projection_weight", {7}));
    const Result<ModelWeights> weights = LoadTensors<TinyModel>(tensors);
    REQUIRE(weights);
    CHECK(testing::SameWeights(*plain, *weights));
  }
}

TEST_CASE("Leaving out any single tensor is an error that names it") {
  const std::vector<NewTensor> tensors = TinyTensors<TinyFull>();
  for (size_t i = 0; i < tensors.size(); ++i) {
    std::vector<NewTensor> fewer = tensors;
    fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(i));
    const Result<ModelWeights> weights = LoadTensors<TinyFull>(fewer);
    REQUIRE(!weights);
    CHECK(weights.error().code == ErrorCode::kNotFound);
    CHECK(weights.error().message ==
          tensors[i].name + ": expected a tensor of shape " + ShapeText(tensors[i].shape) + ", found none");
  }
}

TEST_CASE("Any single tensor of another shape is an error that says both shapes") {
  const std::vector<NewTensor> tensors = TinyTensors<TinyFull>();
  for (size_t i = 0; i < tensors.size(); ++i) {
    for (const bool more_axes : {false, true}) {
      std::vector<NewTensor> changed = tensors;
      std::vector<uint64_t> shape = tensors[i].shape;
      if (more_axes) {
        shape.push_back(1);
      } else {
        ++shape[0];
      }
      changed[i] = testing::TinyTensor(tensors[i].name, shape);
      const Result<ModelWeights> weights = LoadTensors<TinyFull>(changed);
      REQUIRE(!weights);
      CHECK(weights.error().code == ErrorCode::kInvalidArgument);
      CHECK(weights.error().message ==
            tensors[i].name + ": expected shape " + ShapeText(tensors[i].shape) + ", found " + ShapeText(shape));
    }
  }
}

TEST_CASE("A transposed matrix is refused") {
  std::vector<NewTensor> tensors = TinyTensors<TinyModel>();
  TensorNamed(tensors, "model.layers.1.mlp.down_proj.weight").shape = {10, 6};
  CHECK(ErrorOf<TinyModel>(tensors) == "model.layers.1.mlp.down_proj.weight: expected shape [6, 10], found [10, 6]");
}

TEST_CASE("A tensor whose elements are no parameters is an error that names the type") {
  std::vector<NewTensor> tensors = TinyTensors<TinyModel>();
  TensorNamed(tensors, "model.norm.weight").dtype = "I32";
  CHECK(ErrorOf<TinyModel>(tensors) == "model.norm.weight: expected F32, F16 or BF16, found 'I32'");
}

TEST_CASE("F16 and BF16 tensors, also mixed with F32 ones, load exactly") {
  std::vector<NewTensor> tensors = TinyTensors<TinyModel>();
  NewTensor& key = TensorNamed(tensors, "model.layers.0.self_attn.k_proj.weight");
  key.dtype = "F16";
  key.bytes = testing::BytesOf(std::vector<uint16_t>(4 * 6, 0x3E00));  // 1.5
  NewTensor& norm = TensorNamed(tensors, "model.norm.weight");
  norm.dtype = "BF16";
  norm.bytes = testing::BytesOf(std::vector<uint16_t>(6, 0x4020));  // 2.5
  const Result<ModelWeights> weights = LoadTensors<TinyModel>(tensors, {.dtype = DType::kF32});
  REQUIRE(weights);
  const Matrix& qkv = MixerOf(*weights, 0).Of<Attention>().qkv;
  CHECK(testing::UnpackRows(qkv, 0, 8) == FloatsOf(TensorNamed(tensors, "model.layers.0.self_attn.q_proj.weight")));
  CHECK(testing::UnpackRows(qkv, 8, 12) == std::vector<float>(4 * 6, 1.5f));
  CHECK(weights->final_norm.Of<RmsNorm>() == std::vector<float>(6, 2.5f));
}

TEST_CASE("Tensors of the language model that the Config does not know are refused, not ignored") {
  for (const std::string& name :
       std::vector<std::string>{"model.layers.0.self_attn.q_proj.bias", "model.layers.1.mlp.down_proj.bias",
                                "model.layers.2.input_layernorm.weight", "model.layers.01.input_layernorm.weight",
                                "model.embed_positions.weight", "lm_head.bias"}) {
    std::vector<NewTensor> tensors = TinyTensors<TinyModel>();
    tensors.push_back(testing::TinyTensor(name, {8}));
    CHECK(ErrorOf<TinyModel>(tensors) == "'" + name + "': the Config has no place for this tensor, of shape [8]");
  }
  // The post-norms of another family, of exactly the right shape.
  CHECK(ErrorOf<TinyModel>(TinyTensors<TinyFull>()).find("the Config has no place for this tensor") !=
        std::string::npos);
}

TEST_CASE("Saved RoPE frequencies are ignored") {
  std::vector<NewTensor> tensors = TinyTensors<TinyModel>();
  tensors.push_back(testing::TinyTensor("model.layers.0.self_attn.rotary_emb.inv_freq", {1}));
  CHECK(ErrorOf<TinyModel>(tensors) == "accepted");
}

TEST_CASE("With tied embeddings an output head must be a copy of the embedding") {
  std::vector<NewTensor> tensors = TinyTensors<TinyTied>();
  NewTensor head = TensorNamed(tensors, "model.embed_tokens.weight");
  head.name = "lm_head.weight";
  tensors.push_back(head);
  CHECK(ErrorOf<TinyTied>(tensors) == "accepted");
  tensors.back().bytes[5] ^= 1;
  CHECK(ErrorOf<TinyTied>(tensors) ==
        "lm_head.weight: expected none, or a copy of model.embed_tokens.weight, because the Config "
        "ties the output "
        "head to the embedding");
}

TEST_CASE("A tied pair of unknown element types is compared within its bytes") {
  std::vector<NewTensor> tensors = TinyTensors<TinyTied>();
  TensorNamed(tensors, "model.embed_tokens.weight").dtype = "F7";
  tensors.push_back({"lm_head.weight", "F7", {19, 6}, "short"});
  CHECK(ErrorOf<TinyTied>(tensors) == "model.embed_tokens.weight: expected F32, F16 or BF16, found 'F7'");
}

TEST_CASE("Options that cannot work are refused") {
  const Result<ModelWeights> half = LoadTensors<TinyModel>(TinyTensors<TinyModel>(), {.dtype = DType::kF16});
  REQUIRE(!half);
  CHECK(half.error().code == ErrorCode::kUnsupported);
  const Result<ModelWeights> no_threads = LoadTensors<TinyModel>(TinyTensors<TinyModel>(), {.threads = 0});
  REQUIRE(!no_threads);
  CHECK(no_threads.error().message == "LoadOptions::threads: expected 1 to 1024");
}

TEST_CASE("A checkpoint is quantised as it is loaded; vectors stay as they are") {
  const std::vector<NewTensor> tensors = TinyTensors<TinyFull>();
  const Result<ModelWeights> exact = LoadTensors<TinyFull>(tensors, {.dtype = DType::kF32});
  for (const DType dtype : testing::kCodedTypes) {
    const Result<ModelWeights> weights = LoadTensors<TinyFull>(tensors, {.dtype = dtype});
    REQUIRE(weights);
    CHECK(weights->embedding.dtype == dtype);
    CHECK(weights->final_norm.Of<RmsNorm>() == exact->final_norm.Of<RmsNorm>());
    const std::vector<float> expected = Unpack(FeedForwardOf(*exact, 1).Of<GatedFeedForward>().down);
    const std::vector<float> values = Unpack(FeedForwardOf(*weights, 1).Of<GatedFeedForward>().down);
    float largest = 0.0f, worst = 0.0f;
    for (size_t i = 0; i < values.size(); ++i) {
      largest = std::max(largest, std::abs(expected[i]));
      worst = std::max(worst, std::abs(expected[i] - values[i]));
    }
    const float steps = dtype == DType::kF8                                                       ? 27.0f
                        : dtype == DType::kFP4 || dtype == DType::kNVFP4                          ? 5.9f
                        : dtype == DType::kNF4                                                    ? 6.5f
                        : dtype == DType::kMXFP4 || dtype == DType::kQ2_K                         ? 2.0f
                        : dtype == DType::kIQ1 || dtype == DType::kIQ2                            ? 2.0f
                        : dtype == DType::kQ3_K || dtype == DType::kIQ3_XXS                       ? 5.0f
                        : dtype == DType::kQ4_0 || dtype == DType::kQ4_1 || dtype == DType::kQ4_K ? 7.9f
                        : dtype == DType::kIQ4_NL || dtype == DType::kIQ4_XS                      ? 7.9f
                        : dtype == DType::kIQ3_S || dtype == DType::kQ4A                          ? 7.9f
                        : dtype == DType::kQ5_0 || dtype == DType::kQ5_1 || dtype == DType::kQ5_K ? 15.0f
                        : dtype == DType::kQ6_K || dtype == DType::kQ6A                           ? 25.0f
                                                                                                  : 127.0f;
    CHECK(worst <= largest / steps);
  }
}

TEST_CASE("Progress rises tensor by tensor to the total, and a bad checkpoint makes none") {
  std::vector<NewTensor> tensors = TinyTensors<TinyModel>();
  uint64_t total = 0, last = 0;
  for (const NewTensor& tensor : tensors) total += tensor.bytes.size();
  std::vector<std::string> names;
  LoadOptions options;
  options.progress = [&](const LoadProgress& progress) {
    CHECK(progress.bytes_total == total);
    CHECK(progress.bytes_done > last);
    last = progress.bytes_done;
    names.emplace_back(progress.tensor);
  };
  CHECK(LoadTensors<TinyModel>(tensors, options));
  CHECK(last == total);
  CHECK(names.size() == tensors.size());

  names.clear();
  tensors.back().name = "lm_head.wait";
  CHECK(!LoadTensors<TinyModel>(tensors, options));
  CHECK(names.empty());
}

TEST_CASE("MemoryBytes counts every parameter with its padding") {
  const Result<ModelWeights> weights = LoadTensors<TinyFull>(TinyTensors<TinyFull>());
  REQUIRE(weights);
  const size_t vocabulary = 2 * 32 * 32;                        // embedding and head, [19, 6] padded
  const size_t layer = (16 + 16 + 32 + 16) * 32;                // qkv, output, gate_up, down
  const size_t vectors = 6 + 2 * (6 + 16 + 2 + 2 + 6 + 6 + 6);  // floats
  CHECK(MemoryBytes(*weights) == (vocabulary + 2 * layer) * sizeof(bf16) + vectors * sizeof(float));
}

}  // namespace load_test
}  // namespace skald
