// SPDX-License-Identifier: Apache-2.0
//
// Quantised tensors of GGUF files arrive in memory with the very weights that the file holds.

#include <cmath>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "doctest/doctest.h"
#include "skald/base/numbers/bf16.h"
#include "skald/base/numbers/group_layout.h"
#include "skald/base/numbers/packed_element.h"
#include "skald/model/load.h"
#include "skald/weights/files/gguf_types.h"
#include "skald/weights/types/gguf_blocks.h"
#include "tests/support/check_error.h"
#include "tests/support/gguf_convert.h"
#include "tests/support/layer_blocks.h"
#include "tests/weights/tiny_checkpoint.h"

namespace skald::testing {
namespace gguf_quantised_test {

// Wide enough for blocks of 256.
struct Wide : TinyModel {
  static constexpr int kModelDim = 512, kFeedForwardDim = 256, kHeadDim = 4;
  static constexpr auto kLayers = RepeatLayers<1>({LayerKind::kFullAttention});
};

const GgufType& TypeNamed(const std::string& name) {
  for (const GgufType& type : kGgufTypes) {
    if (type.name == name) return type;
  }
  FAIL("no such type");
  return kGgufTypes[0];
}

// Returns blocks of any content but with scales that are finite numbers.
std::string RandomBlocks(const GgufType& type, size_t elements, uint32_t seed) {
  std::mt19937 random(seed);
  std::string bytes;
  for (size_t block = 0; block < elements / type.block_elements; ++block) {
    std::string one(type.block_bytes, '\0');
    for (char& byte : one) byte = static_cast<char>(random());
    for (const size_t at : {1, 3, 53, 55, 65, 81, 83, 109, 209}) {
      if (at < one.size()) one[at] = static_cast<char>(one[at] & 0xBF);
    }
    if (type.name == "MXFP4") one[0] = static_cast<char>(one[0] | 0x40);  // no subnormal numbers
    bytes += one;
  }
  return bytes;
}

// Makes one tensor of `tensors` quantised.
void Quantise(std::vector<NewGgufTensor>& tensors, const std::string& name, const std::string& type_name) {
  for (NewGgufTensor& tensor : tensors) {
    if (tensor.name != name) continue;
    const GgufType& type = TypeNamed(type_name);
    tensor.type = type.id;
    tensor.bytes = RandomBlocks(type, tensor.shape[0] * tensor.shape[1], static_cast<uint32_t>(name.size()));
    return;
  }
  FAIL("no such tensor: " << name);
}

// Returns the weights that a tensor of a file holds, row by row.
std::vector<float> Decoded(const std::vector<NewGgufTensor>& tensors, const std::string& name) {
  const NewGgufTensor& tensor = *std::ranges::find(tensors, name, &NewGgufTensor::name);
  const GgufType& type = *FindGgufType(tensor.type);
  std::vector<float> values;
  if (type.name == "F32") {
    values.resize(tensor.bytes.size() / sizeof(float));
    std::memcpy(values.data(), tensor.bytes.data(), tensor.bytes.size());
    return values;
  }
  const GroupFormat& format = *FindGroupFormat(type.name);
  for (size_t at = 0; at < tensor.bytes.size(); at += format.block_bytes) {
    CodeGroup groups[16];
    format.decode(reinterpret_cast<const std::byte*>(tensor.bytes.data()) + at, groups);
    for (size_t i = 0; i < format.block_elements; ++i) {
      const CodeGroup& group = groups[i / kCodeGroup];
      values.push_back(std::fma(group.scale, static_cast<float>(group.codes[i % kCodeGroup]), group.offset));
    }
  }
  return values;
}

float ElementAt(const Matrix& matrix, size_t row, size_t col) {
  return VisitWeightType(matrix.dtype,
                         [&]<class T>() { return ElementOf(matrix.As<T>(), row, col, matrix.padded_cols); });
}

// Whether rows [begin, begin + values / cols) of a matrix are `values`.
bool HoldsRows(const Matrix& matrix, size_t begin, const std::vector<float>& values) {
  for (size_t i = 0; i < values.size(); ++i) {
    if (ElementAt(matrix, begin + i / matrix.cols, i % matrix.cols) != values[i]) return false;
  }
  return true;
}

std::vector<NewGgufTensor> WideTensors() { return GgufTensors<Wide>(TinyTensors<Wide>(), "qwen2"); }

ModelWeights MustLoad(const std::vector<NewGgufTensor>& tensors, const std::string& architecture = "qwen2") {
  const TemporaryFolder folder;
  const auto path = folder.path() / "model.gguf";
  WriteFile(path, GgufImage(GgufValues().String("general.architecture", architecture), tensors));
  Result<ModelWeights> weights = LoadWeights<Wide>(path, {.threads = 2});
  REQUIRE_MESSAGE(weights.has_value(), weights.error().message);
  return std::move(*weights);
}

TEST_CASE("Every quantised type is packed as the type that means exactly the same") {
  const std::pair<const char*, DType> types[] = {
      {"Q8_0", DType::kQ8_0},   {"Q4_0", DType::kQ4_0},   {"Q4_1", DType::kQ4_1},       {"Q5_0", DType::kQ5_0},
      {"Q5_1", DType::kQ5_1},   {"Q2_K", DType::kQ2_K},   {"Q3_K", DType::kQ3_K},       {"Q4_K", DType::kQ4_K},
      {"Q5_K", DType::kQ5_K},   {"Q6_K", DType::kQ6_K},   {"IQ4_NL", DType::kIQ4_NL},   {"IQ4_XS", DType::kIQ4_XS},
      {"MXFP4", DType::kMXFP4}, {"IQ3_S", DType::kIQ3_S}, {"IQ3_XXS", DType::kIQ3_XXS}, {"IQ1_S", DType::kIQ1},
      {"IQ1_M", DType::kIQ1},   {"IQ2_XXS", DType::kIQ2}, {"IQ2_XS", DType::kIQ2},      {"IQ2_S", DType::kIQ2},
      {"TQ1_0", DType::kQ2_K},  {"TQ2_0", DType::kQ2_K},  {"Q1_0", DType::kQ4_0},       {"Q2_0", DType::kQ4_0},
      {"NVFP4", DType::kNVFP4}};
  for (const auto& [type, packed] : types) {
    CAPTURE(type);
    std::vector<NewGgufTensor> tensors = WideTensors();
    for (const char* name : {"token_embd.weight", "output.weight", "blk.0.ffn_down.weight", "blk.0.ffn_gate.weight",
                             "blk.0.ffn_up.weight"}) {
      Quantise(tensors, name, type);
    }
    const ModelWeights weights = MustLoad(tensors);
    CHECK(weights.embedding.dtype == packed);
    CHECK(HoldsRows(weights.embedding, 0, Decoded(tensors, "token_embd.weight")));
    CHECK(weights.head->dtype == packed);
    CHECK(HoldsRows(*weights.head, 0, Decoded(tensors, "output.weight")));
    const GatedFeedForward::Weights& feed_forward = FeedForwardOf(weights, 0).Of<GatedFeedForward>();
    CHECK(feed_forward.down.dtype == packed);
    CHECK(HoldsRows(feed_forward.down, 0, Decoded(tensors, "blk.0.ffn_down.weight")));
    CHECK(feed_forward.gate_up.dtype == packed);
    CHECK(HoldsRows(feed_forward.gate_up, 0, Decoded(tensors, "blk.0.ffn_gate.weight")));
    CHECK(HoldsRows(feed_forward.gate_up, Wide::kFeedForwardDim, Decoded(tensors, "blk.0.ffn_up.weight")));
    CHECK(MixerOf(weights, 0).Of<Attention>().qkv.dtype == DType::kBF16);  // of floats
  }
}

TEST_CASE("Ternary tensors of BitNet's layers say that their inputs have a scale for each row") {
  std::vector<NewGgufTensor> tensors = WideTensors();
  Quantise(tensors, "blk.0.ffn_down.weight", "TQ2_0");
  Quantise(tensors, "blk.0.ffn_up.weight", "Q4_0");
  Quantise(tensors, "token_embd.weight", "TQ1_0");
  for (const std::string architecture : {"bitnet", "qwen2"}) {
    const TemporaryFolder folder;
    const auto path = folder.path() / "model.gguf";
    WriteFile(path, GgufImage(GgufValues().String("general.architecture", architecture), tensors));
    const auto file = Checkpoint::Open(path);
    REQUIRE(file);
    CHECK(file->Find("blk.0.ffn_down.weight")->row_scale == (architecture == "bitnet"));
    CHECK_FALSE(file->Find("blk.0.ffn_up.weight")->row_scale);
    CHECK_FALSE(file->Find("token_embd.weight")->row_scale);
  }
}

struct OnlyFloats : Wide {
  using WeightTypes = FloatWeights;
};

TEST_CASE("A quantised tensor is refused where the Config leaves out its type") {
  std::vector<NewGgufTensor> tensors = WideTensors();
  Quantise(tensors, "blk.0.ffn_down.weight", "Q4_K");
  const TemporaryFolder folder;
  const auto path = folder.path() / "model.gguf";
  WriteFile(path, GgufImage(GgufValues().String("general.architecture", "qwen2"), tensors));
  CheckError(LoadWeights<OnlyFloats>(path), ErrorCode::kUnsupported,
             "blk.0.ffn_down.weight: would be packed as Q4_K, which is not among the WeightTypes of the Config");
}

TEST_CASE("Stacked tensors of several types are packed as one that holds all of them exactly") {
  std::vector<NewGgufTensor> tensors = WideTensors();
  Quantise(tensors, "blk.0.attn_q.weight", "IQ2_XXS");
  Quantise(tensors, "blk.0.attn_k.weight", "Q8_0");
  Quantise(tensors, "blk.0.attn_v.weight", "Q4_K");
  const ModelWeights weights = MustLoad(tensors);
  const Matrix& qkv = MixerOf(weights, 0).Of<Attention>().qkv;
  constexpr size_t kQuery = Wide::kHeads * Wide::kHeadDim, kKV = Wide::kKVHeads * Wide::kHeadDim;
  CHECK(qkv.dtype == DType::kQ8A);
  CHECK(HoldsRows(qkv, 0, Decoded(tensors, "blk.0.attn_q.weight")));
  CHECK(HoldsRows(qkv, kQuery, Decoded(tensors, "blk.0.attn_k.weight")));
  CHECK(HoldsRows(qkv, kQuery + kKV, Decoded(tensors, "blk.0.attn_v.weight")));
}

TEST_CASE("Stacked tensors of several types with groups of 32 are packed in fewer bits") {
  std::vector<NewGgufTensor> tensors = WideTensors();
  Quantise(tensors, "blk.0.ffn_gate.weight", "Q5_0");
  Quantise(tensors, "blk.0.ffn_up.weight", "Q8_0");
  const ModelWeights weights = MustLoad(tensors);
  const Matrix& both = FeedForwardOf(weights, 0).Of<GatedFeedForward>().gate_up;
  CHECK(both.dtype == DType::kQ8A32);
  CHECK(HoldsRows(both, 0, Decoded(tensors, "blk.0.ffn_gate.weight")));
  CHECK(HoldsRows(both, both.rows / 2, Decoded(tensors, "blk.0.ffn_up.weight")));
}

TEST_CASE("Stacked tensors of several types with scales of scales are packed in fewer bits") {
  for (const char* const value_type : {"Q6_K", "Q2_K", "Q5_K"}) {
    std::vector<NewGgufTensor> tensors = WideTensors();
    Quantise(tensors, "blk.0.attn_q.weight", "Q4_K");
    Quantise(tensors, "blk.0.attn_k.weight", "Q4_K");
    Quantise(tensors, "blk.0.attn_v.weight", value_type);
    const ModelWeights weights = MustLoad(tensors);
    const Matrix& qkv = MixerOf(weights, 0).Of<Attention>().qkv;
    constexpr size_t kQuery = Wide::kHeads * Wide::kHeadDim, kKV = Wide::kKVHeads * Wide::kHeadDim;
    CHECK(qkv.dtype == DType::kQ6A);
    CHECK(HoldsRows(qkv, 0, Decoded(tensors, "blk.0.attn_q.weight")));
    CHECK(HoldsRows(qkv, kQuery, Decoded(tensors, "blk.0.attn_k.weight")));
    CHECK(HoldsRows(qkv, kQuery + kKV, Decoded(tensors, "blk.0.attn_v.weight")));
  }
}

TEST_CASE("Where one of the stacked tensors holds floats, all become the type for floats") {
  std::vector<NewGgufTensor> tensors = WideTensors();
  Quantise(tensors, "blk.0.attn_q.weight", "Q4_K");
  const ModelWeights weights = MustLoad(tensors);
  const Matrix& qkv = MixerOf(weights, 0).Of<Attention>().qkv;
  CHECK(qkv.dtype == DType::kBF16);
  std::vector<float> rounded = Decoded(tensors, "blk.0.attn_q.weight");
  for (float& value : rounded) value = ToFloat(RoundToBF16(value));
  CHECK(HoldsRows(qkv, 0, rounded));
}

TEST_CASE("Rows of quantised queries and keys are put in order as those of floats are") {
  std::vector<NewGgufTensor> tensors = WideTensors();
  for (const char* name : {"blk.0.attn_q.weight", "blk.0.attn_k.weight", "blk.0.attn_v.weight"}) {
    Quantise(tensors, name, "Q6_K");
  }
  const ModelWeights weights = MustLoad(tensors, "llama");
  const Matrix& qkv = MixerOf(weights, 0).Of<Attention>().qkv;
  const std::vector<float> query = Decoded(tensors, "blk.0.attn_q.weight");
  for (size_t head = 0; head < Wide::kHeads; ++head) {
    for (size_t i = 0; i < Wide::kHeadDim; ++i) {
      const size_t row = head * Wide::kHeadDim + i / 2 + i % 2 * (Wide::kHeadDim / 2);
      const float* const stored = &query[(head * Wide::kHeadDim + i) * Wide::kModelDim];
      CHECK(HoldsRows(qkv, row, std::vector<float>(stored, stored + Wide::kModelDim)));
    }
  }
}

void AddNumbers(std::vector<NewGgufTensor>& tensors, const std::string& name, const std::vector<float>& values) {
  NewGgufTensor& tensor = tensors.emplace_back();
  tensor.name = name, tensor.type = 0, tensor.shape = {values.size()};
  tensor.bytes.assign(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float));
}

TEST_CASE("A tensor of NVFP4 is multiplied by the factor that stands beside it, and no other tensor is") {
  std::vector<NewGgufTensor> tensors = WideTensors();
  for (const char* name : {"blk.0.ffn_gate.weight", "blk.0.ffn_up.weight"}) Quantise(tensors, name, "NVFP4");
  const auto decoded = Decoded(tensors, "blk.0.ffn_gate.weight");
  AddNumbers(tensors, "blk.0.ffn_gate.scale", {0.25f});
  AddNumbers(tensors, "blk.0.ffn_gate.input_scale", {3.0f});
  const ModelWeights weights = MustLoad(tensors);
  const Matrix& gate_up = FeedForwardOf(weights, 0).Of<GatedFeedForward>().gate_up;
  std::vector<float> expected = decoded;
  for (float& value : expected) value *= 0.25f;
  CHECK(HoldsRows(gate_up, 0, expected));
  CHECK(HoldsRows(gate_up, Wide::kFeedForwardDim, Decoded(tensors, "blk.0.ffn_up.weight")));

  const auto refused = [](const std::string& name, const std::vector<float>& values) {
    std::vector<NewGgufTensor> changed = WideTensors();
    Quantise(changed, "blk.0.ffn_gate.weight", "NVFP4");
    AddNumbers(changed, name, values);
    const TemporaryFolder folder;
    WriteFile(folder.path() / "model.gguf", GgufImage(GgufValues(), changed));
    CheckError(LoadWeights<Wide>(folder.path() / "model.gguf"), ErrorCode::kInvalidArgument, name);
  };
  refused("blk.0.ffn_gate.scale", {1.0f, 2.0f});
  refused("blk.0.ffn_down.scale", {1.0f});
}

// Puts one tensor of all their rows in the place of several.
void Join(std::vector<NewGgufTensor>& tensors, const std::vector<std::string>& parts, const std::string& whole) {
  NewGgufTensor joined;
  for (const std::string& part : parts) {
    const auto found = std::ranges::find(tensors, part, &NewGgufTensor::name);
    REQUIRE(found != tensors.end());
    const NewGgufTensor tensor = *found;
    tensors.erase(found);
    if (joined.shape.empty()) {
      joined = tensor;
    } else {
      joined.shape[0] += tensor.shape[0];
      joined.bytes += tensor.bytes;
    }
  }
  joined.name = whole;
  tensors.push_back(joined);
}

TEST_CASE("Rows of a quantised tensor that holds several parts are packed as they are") {
  std::vector<NewGgufTensor> tensors = WideTensors();
  Join(tensors, {"blk.0.attn_q.weight", "blk.0.attn_k.weight", "blk.0.attn_v.weight"}, "blk.0.attn_qkv.weight");
  Join(tensors, {"blk.0.ffn_gate.weight", "blk.0.ffn_up.weight"}, "blk.0.ffn_up.weight");
  for (const char* const type : {"Q4_K", "Q8_0", "IQ3_S"}) {
    Quantise(tensors, "blk.0.attn_qkv.weight", type);
    Quantise(tensors, "blk.0.ffn_up.weight", type);
    const ModelWeights weights = MustLoad(tensors);
    CHECK(HoldsRows(MixerOf(weights, 0).Of<Attention>().qkv, 0, Decoded(tensors, "blk.0.attn_qkv.weight")));
    const Matrix& gate_up = FeedForwardOf(weights, 0).Of<GatedFeedForward>().gate_up;
    CHECK(HoldsRows(gate_up, 0, Decoded(tensors, "blk.0.ffn_up.weight")));
  }
}

TEST_CASE("Quantised vectors, and types that are not read, are refused by name") {
  const auto error_of = [](const std::string& name, const std::string& type) {
    std::vector<NewGgufTensor> tensors = WideTensors();
    NewGgufTensor& tensor = *std::ranges::find(tensors, name, &NewGgufTensor::name);
    size_t elements = 1;
    for (const uint64_t size : tensor.shape) elements *= size;
    tensor.type = TypeNamed(type).id;
    tensor.bytes = RandomBlocks(TypeNamed(type), elements, 1);
    const TemporaryFolder folder;
    const auto path = folder.path() / "model.gguf";
    WriteFile(path, GgufImage(GgufValues(), tensors));
    return LoadWeights<Wide>(path).error().message.substr(path.string().size() + 2);
  };
  CHECK(error_of("output_norm.weight", "Q8_0") == "output_norm.weight: expected F32, F16 or BF16, found 'Q8_0'");
  CHECK(error_of("output.weight", "Q8_K") ==
        "output.weight: expected F32, F16 or BF16 or a quantised type that Skald reads, found 'Q8_K'");
}

}  // namespace gguf_quantised_test
}  // namespace skald::testing
