// SPDX-License-Identifier: Apache-2.0
//
// One checkpoint in the several forms in which families are published: experts by themselves or stacked, the text part
// of a multimodal model, tensors besides that no language model computes. Each gives the same weights, to the bit.

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "doctest/doctest.h"
#include "skald/model/load_any.h"
#include "tests/support/test_data.h"
#include "tests/weights/raw_file.h"
#include "tests/weights/tiny_checkpoint.h"

namespace skald::testing {
namespace published_forms_test {

std::vector<NewTensor> TensorsOf(const std::string& family) {
  return RawFile(GoldenPath(family + "/model.safetensors")).Tensors();
}

// Checks that `tensors` beside a config.json of the content `config` are the golden checkpoint of a family.
void CheckIs(const std::string& family, const std::vector<NewTensor>& tensors, const std::string& config) {
  CAPTURE(family);
  const TemporaryFolder folder;
  WriteFile(folder.path() / "config.json", config);
  WriteFile(folder.path() / "model.safetensors", SafetensorsImage(tensors));
  const auto described = DescribeModel(folder.path()), expected = DescribeModel(GoldenPath(family));
  REQUIRE_MESSAGE(described.has_value(), described.error().message);
  REQUIRE(expected);
  CHECK(described->spec == expected->spec);
  const LoadOptions options = {.dtype = DType::kF32};
  const auto weights = LoadWeights(folder.path(), described->spec, "", options);
  REQUIRE_MESSAGE(weights.has_value(), weights.error().message);
  CHECK(SameWeights(*weights, *LoadWeights(GoldenPath(family), expected->spec, "", options)));
}

std::string ConfigOf(const std::string& family, const char* file = "config.json") {
  std::ifstream text(GoldenPath(family + "/" + file), std::ios::binary);
  REQUIRE(text.is_open());
  return {std::istreambuf_iterator<char>(text), {}};
}

// "experts.<number>." in a name, as [begin, end) of the number; nothing if there is none.
struct ExpertNumber {
  size_t begin = 0, end = 0;

  explicit ExpertNumber(const std::string& name) {
    const size_t at = name.find(".experts.");
    if (at == std::string::npos) return;
    begin = end = at + std::string(".experts.").size();
    while (end < name.size() && name[end] >= '0' && name[end] <= '9') ++end;
  }
  bool is_there() const { return end > begin; }
};

// Stacks separate experts: of gate and up projections one tensor of both, one below the other.
std::vector<NewTensor> Stacked(const std::vector<NewTensor>& tensors) {
  std::vector<NewTensor> stacked;
  std::map<std::string, std::map<size_t, std::map<std::string, NewTensor>>> experts;  // by layer, number and part
  for (const NewTensor& tensor : tensors) {
    const ExpertNumber number(tensor.name);
    if (!number.is_there()) {
      stacked.push_back(tensor);
      continue;
    }
    const size_t index = std::stoul(tensor.name.substr(number.begin, number.end - number.begin));
    experts[tensor.name.substr(0, number.begin)][index][tensor.name.substr(number.end + 1)] = tensor;
  }
  for (auto& [layer, of_layer] : experts) {
    const bool has_gates = of_layer[0].contains("gate_proj.weight");
    const NewTensor& up = of_layer[0]["up_proj.weight"];
    const NewTensor& down = of_layer[0]["down_proj.weight"];
    NewTensor first = {layer + (has_gates ? "gate_up_proj" : "up_proj"), up.dtype, {of_layer.size()}, ""};
    NewTensor second = {layer + "down_proj", down.dtype, {of_layer.size(), down.shape[0], down.shape[1]}, ""};
    first.shape.insert(first.shape.end(), {up.shape[0] * (has_gates ? 2 : 1), up.shape[1]});
    for (auto& [index, parts] : of_layer) {
      if (has_gates) first.bytes += parts["gate_proj.weight"].bytes;
      first.bytes += parts["up_proj.weight"].bytes;
      second.bytes += parts["down_proj.weight"].bytes;
    }
    stacked.push_back(first);
    stacked.push_back(second);
  }
  return stacked;
}

// The opposite.
std::vector<NewTensor> Unstacked(const std::vector<NewTensor>& tensors) {
  std::vector<NewTensor> apart;
  for (const NewTensor& tensor : tensors) {
    const size_t at = tensor.name.find(".experts.");
    if (at == std::string::npos) {
      apart.push_back(tensor);
      continue;
    }
    const std::string layer = tensor.name.substr(0, at) + ".experts.";
    const bool is_down = tensor.name.ends_with("down_proj");
    const uint64_t rows = is_down ? tensor.shape[1] : tensor.shape[1] / 2, count = tensor.shape[0];
    const size_t bytes = tensor.bytes.size() / count / (is_down ? 1 : 2);
    size_t begin = 0;
    for (uint64_t expert = 0; expert < count; ++expert) {
      for (const char* const part : {"gate_proj", "up_proj", "down_proj"}) {
        if ((std::string(part) == "down_proj") != is_down) continue;
        apart.push_back({layer + std::to_string(expert) + "." + part + ".weight",
                         tensor.dtype,
                         {rows, tensor.shape[2]},
                         tensor.bytes.substr(begin, bytes)});
        begin += bytes;
      }
    }
  }
  return apart;
}

TEST_CASE("experts by themselves and stacked ones are the same model") {
  for (const std::string family : {"qwen3_moe", "qwen3_next", "deepseek_v3", "glm4_moe_lite", "nemotron_h_moe"}) {
    const std::vector<NewTensor> stacked = Stacked(TensorsOf(family));
    CHECK(stacked.size() < TensorsOf(family).size());
    CheckIs(family, stacked, ConfigOf(family));
  }
  const std::vector<NewTensor> apart = Unstacked(TensorsOf("qwen3_5_moe"));
  CHECK(apart.size() > TensorsOf("qwen3_5_moe").size());
  CheckIs("qwen3_5_moe", apart, ConfigOf("qwen3_5_moe"));
}

// As mlx_lm writes Ling: experts' matrices of one kind are stacked, and the router is in a module.
std::vector<NewTensor> AsMlxHasLing(const std::vector<NewTensor>& tensors) {
  std::vector<NewTensor> written;
  for (NewTensor tensor : tensors) {
    const ExpertNumber number(tensor.name);
    if (tensor.name.ends_with("mlp.gate.weight")) tensor.name.replace(tensor.name.size() - 6, 6, "gate_proj.weight");
    if (!number.is_there()) {
      written.push_back(tensor);
      continue;
    }
    const std::string layer = tensor.name.substr(0, tensor.name.find("experts."));
    tensor.name = layer + "switch_mlp." + tensor.name.substr(number.end + 1);
    const auto stacked = std::ranges::find(written, tensor.name, &NewTensor::name);
    if (stacked == written.end()) {
      tensor.shape.insert(tensor.shape.begin(), 1);
      written.push_back(tensor);
    } else {
      ++stacked->shape[0];
      stacked->bytes += tensor.bytes;
    }
  }
  return written;
}

TEST_CASE("experts of Ling as MLX stacks them are the same model") {
  for (const std::string family : {"bailing_moe", "bailing_moe_softmax"}) {
    const std::vector<NewTensor> written = AsMlxHasLing(TensorsOf(family));
    CHECK(written.size() < TensorsOf(family).size());
    CheckIs(family, written, ConfigOf(family));
  }
}

TEST_CASE("experts that a file lacks are named") {
  const std::string experts = "model.layers.0.mlp.experts.";
  const auto check = [](const std::vector<NewTensor>& tensors, ErrorCode code, const std::string& message) {
    const TemporaryFolder folder;
    WriteFile(folder.path() / "config.json", ConfigOf("qwen3_moe"));
    WriteFile(folder.path() / "model.safetensors", SafetensorsImage(tensors));
    const auto weights = LoadWeights(folder.path(), DescribeModel(folder.path())->spec, "", {});
    REQUIRE(!weights);
    CHECK(weights.error().code == code);
    CHECK_MESSAGE(weights.error().message.find(message) != std::string::npos, weights.error().message);
  };
  std::vector<NewTensor> tensors = TensorsOf("qwen3_moe");
  CHECK(std::erase_if(tensors, [&](const NewTensor& tensor) { return tensor.name == experts + "2.down_proj.weight"; }));
  check(tensors, ErrorCode::kNotFound, experts + "2.down_proj.weight");
  tensors = Stacked(TensorsOf("qwen3_moe"));
  for (NewTensor& tensor : tensors) {  // all but the last expert's
    if (tensor.name != experts + "down_proj") continue;
    tensor.bytes.resize(tensor.bytes.size() / tensor.shape[0] * (tensor.shape[0] - 1));
    --tensor.shape[0];
  }
  check(tensors, ErrorCode::kInvalidArgument, experts + "down_proj: expected shape");
}

// Number of layers, and how the names of the last one's tensors begin.
std::string LastLayer(const std::vector<NewTensor>& tensors, size_t& layers) {
  std::string prefix;
  layers = 0;
  for (const NewTensor& tensor : tensors) {
    const size_t at = tensor.name.find("layers.");
    if (at == std::string::npos || tensor.name.starts_with("mtp")) continue;
    const size_t number = std::stoul(tensor.name.substr(at + 7));
    if (number + 1 <= layers) continue;
    layers = number + 1;
    prefix = tensor.name.substr(0, at + 7);
  }
  return prefix;
}

TEST_CASE("heads that predict further tokens are passed over, and layers behind the last where families have such") {
  for (const std::string family : {"qwen3_next", "qwen3_5", "qwen3_5_moe", "nemotron_h_moe"}) {
    std::vector<NewTensor> tensors = TensorsOf(family);
    tensors.push_back(FloatTensor("mtp.fc.weight", {2, 2}, {1, 2, 3, 4}));
    tensors.push_back(FloatTensor("mtp.layers.0.self_attn.q_proj.weight", {1, 2}, {1, 2}));
    CheckIs(family, tensors, ConfigOf(family));
  }
  for (const std::string family : {"deepseek_v3", "glm4_moe_lite"}) {
    std::vector<NewTensor> tensors = TensorsOf(family);
    size_t layers = 0;
    const std::string prefix = LastLayer(tensors, layers);
    const std::string last = prefix + std::to_string(layers - 1) + ".";
    for (size_t i = 0, count = tensors.size(); i < count; ++i) {
      if (!tensors[i].name.starts_with(last)) continue;
      NewTensor copy = tensors[i];
      copy.name = prefix + std::to_string(layers) + "." + copy.name.substr(last.size());
      tensors.push_back(copy);
    }
    tensors.push_back(FloatTensor(prefix + std::to_string(layers) + ".eh_proj.weight", {1, 2}, {1, 2}));
    CHECK(tensors.size() > TensorsOf(family).size() + 1);
    CheckIs(family, tensors, ConfigOf(family));
  }
}

TEST_CASE("the text part of a multimodal model is the model") {
  for (const std::string family : {"gemma4", "gemma4_moe", "qwen3_5", "qwen3_5_moe"}) {
    std::vector<NewTensor> tensors = TensorsOf(family);
    for (NewTensor& tensor : tensors) {
      if (tensor.name.starts_with("model.")) tensor.name = "model.language_model." + tensor.name.substr(6);
    }
    tensors.push_back(FloatTensor("model.visual.patch_embed.proj.weight", {1, 2}, {1, 2}));
    CheckIs(family, tensors, ConfigOf(family, "config.multimodal.json"));
  }
}

// The golden checkpoint of Qwen3-VL with experts, these of another width; their matrices are transposed or not.
std::vector<NewTensor> WithExperts(uint64_t width, bool transposed) {
  std::vector<NewTensor> tensors = TensorsOf("qwen3_vl_moe");
  for (NewTensor& tensor : tensors) {
    if (tensor.name.find("mlp.experts.") == std::string::npos) continue;
    constexpr uint64_t kWidth = 48;  // of the model
    const bool are_gates = tensor.name.ends_with("gate_up_proj");
    const uint64_t rows = are_gates ? 2 * width : kWidth, cols = are_gates ? kWidth : width;
    std::vector<uint64_t> shape = {tensor.shape[0], transposed ? cols : rows, transposed ? rows : cols};
    std::vector<float> values;
    for (uint64_t i = 0; i < shape[0] * rows * cols; ++i) {
      const uint64_t line = i / shape[2] % shape[1], column = i % shape[2];
      values.push_back(static_cast<float>(transposed ? column * 64 + line : line * 64 + column));
    }
    tensor = FloatTensor(tensor.name, shape, values);
  }
  return tensors;
}

Result<ModelWeights> LoadWithExperts(int width, const std::vector<NewTensor>& tensors) {
  nlohmann::json config = nlohmann::json::parse(ConfigOf("qwen3_vl_moe"));
  config["text_config"]["moe_intermediate_size"] = width;
  const TemporaryFolder folder;
  WriteFile(folder.path() / "config.json", config.dump());
  WriteFile(folder.path() / "model.safetensors", SafetensorsImage(tensors));
  return LoadWeights(folder.path(), DescribeModel(folder.path())->spec, "", {.dtype = DType::kF32});
}

TEST_CASE("stacked experts are transposed or not, as the shapes of both tensors tell") {
  for (const int width : {20, 24, 48}) {  // none is square, the gates are, the others are
    CAPTURE(width);
    const auto published = LoadWithExperts(width, WithExperts(width, true));
    const auto written = LoadWithExperts(width, WithExperts(width, false));
    REQUIRE_MESSAGE(published, published.error().message);
    REQUIRE_MESSAGE(written, written.error().message);
    CHECK(SameWeights(*published, *written));
  }
}

TEST_CASE("stacked experts of which one tensor is transposed and another is not are refused") {
  for (const bool transposed : {true, false}) {
    for (const char* const ending : {"0.mlp.experts.gate_up_proj", "0.mlp.experts.down_proj",
                                     "1.mlp.experts.gate_up_proj", "1.mlp.experts.down_proj"}) {
      CAPTURE(ending);
      std::vector<NewTensor> tensors = WithExperts(20, transposed), others = WithExperts(20, !transposed);
      for (size_t i = 0; i < tensors.size(); ++i) {
        if (tensors[i].name.ends_with(ending)) tensors[i] = others[i];
      }
      const auto loaded = LoadWithExperts(20, tensors);
      REQUIRE_FALSE(loaded);
      CHECK(loaded.error().code == ErrorCode::kInvalidArgument);
      CHECK(loaded.error().message.find("mlp.experts.") != std::string::npos);
    }
  }
}

}  // namespace published_forms_test
}  // namespace skald::testing
