// SPDX-License-Identifier: Apache-2.0
//
// Folders with quantised weights, packed by the methods' own libraries: logits of the numbers that these libraries make
// of them, the types that hold these numbers, and damage.

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "doctest/doctest.h"
#include "skald/base/files/small_file.h"
#include "skald/families/config_json.h"
#include "skald/model/load_any.h"
#include "tests/golden/damaged_folder.h"
#include "tests/support/check_error.h"
#include "tests/support/compare_logits.h"
#include "tests/support/layer_blocks.h"
#include "tests/support/reference_tensors.h"
#include "tests/support/test_data.h"
#include "tests/support/unpack.h"
#include "tests/support/widen.h"

namespace skald::testing {
namespace quantised_test {

std::string CaseFolder(const std::string& name) { return GoldenPath("quantised/" + name).string(); }

std::string ConfigOf(const std::string& name) {
  return *ReadSmallFile(std::filesystem::path(CaseFolder(name)) / "config.json", kMaxConfigJson);
}

// The types of the matrices of layers.
std::set<DType> TypesOfLayers(ModelWeights& weights) {
  std::set<DType> types;
  const ParameterList list = ParametersOf(weights);
  for (const Parameter& parameter : list.parameters()) {
    const auto* const matrix = std::get_if<MatrixParameter>(&parameter.value);
    if (matrix != nullptr && parameter.layer && !matrix->dtype) types.insert(matrix->target->dtype);
    const auto* const blocks = std::get_if<BlocksParameter>(&parameter.value);
    if (blocks != nullptr) types.insert(blocks->targets->front().dtype);
  }
  return types;
}

struct Case {
  std::string name;
  std::set<DType> types;
};

// The types that hold the numbers of each. Only kF32 means that no other type does.
const Case kCases[] = {{"fp8_blocks", {DType::kF32}},
                       {"fp8_matrices", {DType::kF8}},
                       {"auto_fp8", {DType::kF8}},
                       {"fbgemm_fp8", {DType::kF8}},
                       {"ct_w4a16", {DType::kQ4_0}},
                       {"ct_zeros", {DType::kQ5_0}},
                       {"ct_act_order", {DType::kQ4_0}},
                       {"ct_w8a8", {DType::kQ8_0}},
                       {"ct_w8_zeros", {DType::kQ8A32}},
                       {"ct_fp8", {DType::kF8}},
                       {"ct_nvfp4", {DType::kNVFP4}},
                       {"ct_mxfp4", {DType::kMXFP4}},
                       {"awq", {DType::kQ5_0}},
                       {"gptq", {DType::kQ4_0}},
                       {"gptq_act_order", {DType::kQ5_0}},
                       {"gptq_head", {DType::kQ5_0}},
                       {"gptq_v2", {DType::kQ8A32}},
                       {"gptq_3bit", {DType::kQ4_0}},
                       {"auto_round", {DType::kQ5_0, DType::kQ8A32}},
                       {"bnb_nf4", {DType::kNF4}},
                       {"bnb_fp4", {DType::kFP4}},
                       {"bnb_int8", {DType::kQ8A32}},
                       {"fp8_experts", {DType::kF32, DType::kF8}},
                       {"fp8_transposed", {DType::kF32, DType::kF8}},
                       {"fbgemm_experts", {DType::kF8}},
                       {"ct_mixed", {DType::kF8, DType::kQ4_0, DType::kNVFP4}},
                       {"awq_gemv", {DType::kQ5_0}},
                       {"gptq_dynamic", {DType::kF32, DType::kQ4_0, DType::kQ8A32}},
                       {"auto_round_gptq", {DType::kQ5_0}},
                       {"auto_round_awq", {DType::kQ5_0}},
                       {"bitnet", {DType::kQ4_0, DType::kQ2_K}},
                       {"bitnet_divided", {DType::kQ4A}},
                       {"bitnet_online", {DType::kQ4_0, DType::kQ2_K, DType::kF32}},
                       {"awq_fast", {DType::kQ4_1}},
                       {"modelopt_nvfp4", {DType::kNVFP4}},
                       {"modelopt_fp8", {DType::kF8}},
                       {"modelopt_mixed", {DType::kNVFP4, DType::kF8, DType::kF32}},
                       {"modelopt_w4a16_awq", {DType::kQ4A}},
                       {"modelopt_w4a8_awq", {DType::kF8}},
                       {"modelopt_nvfp4_awq", {DType::kNVFP4}},
                       {"modelopt_w4a8_nvfp4", {DType::kNVFP4}},
                       {"modelopt_mxfp4", {DType::kMXFP4}},
                       {"modelopt_w8a8_sq", {DType::kQ8A32}},
                       {"modelopt_experts", {DType::kNVFP4}},
                       {"ct_bits", {DType::kQ4_0, DType::kQ8_0, DType::kQ8A32}},
                       {"auto_round_bits", {DType::kQ5_0, DType::kQ8_0, DType::kQ8A32}},
                       {"bnb_storage", {DType::kNF4}},
                       {"mlx_floats", {DType::kMXFP4, DType::kNVFP4, DType::kQ8A32, DType::kF32}},
                       {"mlx_experts", {DType::kQ4_1}},
                       {"mlx_4bit", {DType::kQ4_1}},
                       {"mlx_6bit", {DType::kF32, DType::kQ8A32}}};

TEST_CASE("quantised folders hold the numbers that their libraries make of them") {
  for (const Case& one : kCases) {
    CAPTURE(one.name);
    auto weights = LoadFolder(CaseFolder(one.name), DType::kF32);
    REQUIRE_MESSAGE(weights.has_value(), weights.error().message);
    CHECK(TypesOfLayers(*weights) == one.types);
    Widen(*weights);
    const AnyModel model("quantised", std::move(*weights), StandardLayers::Functions());
    const ReferenceTensors reference(CaseFolder(one.name) + "/golden.safetensors");
    CheckRows(model, reference.Tokens("input_ids", 0), Want::kLogits, reference.Floats("logits", 0), kExact, 1.0f);
  }
}

TEST_CASE("BitNet's inputs are rounded as the original rounds them") {
  for (const char* const name : {"bitnet", "bitnet_divided", "bitnet_online"}) {
    CAPTURE(name);
    auto weights = LoadFolder(CaseFolder(name), DType::kF32);
    REQUIRE_MESSAGE(weights.has_value(), weights.error().message);
    const AnyModel model("quantised", std::move(*weights), StandardLayers::Functions());
    const ReferenceTensors reference(CaseFolder(name) + "/golden.safetensors");
    CheckRows(model, reference.Tokens("input_ids", 0), Want::kLogits, reference.Floats("rounded_logits", 0));
  }
}

// The logits after some tokens, and after one more.
std::vector<float> LogitsOf(ModelWeights weights, const std::vector<int32_t>& tokens) {
  const AnyModel model("quantised", std::move(weights), StandardLayers::Functions());
  Workspace workspace = *CreateWorkspace({.threads = 1});
  KVCache cache = *CreateKVCache(LayoutOf(model.spec()), kExact);
  std::vector<float> all;
  for (const auto& next : std::vector<std::vector<int32_t>>{tokens, {tokens.front()}}) {
    const auto logits = model.Forward(cache, next, workspace);
    REQUIRE(logits);
    all.insert(all.end(), logits->begin(), logits->end());
  }
  return all;
}

TEST_CASE("codes of floats give the bits that these floats give") {
  for (const char* const name :
       {"fp8_matrices", "fp8_experts", "fp8_transposed", "fbgemm_experts", "bnb_nf4", "bnb_fp4"}) {
    CAPTURE(name);
    auto coded = LoadFolder(CaseFolder(name), DType::kF32), floats = LoadFolder(CaseFolder(name), DType::kF32);
    REQUIRE((coded && floats));
    Widen(*floats);
    const ReferenceTensors reference(CaseFolder(name) + "/golden.safetensors");
    const std::vector<int32_t> tokens = reference.Tokens("input_ids", 0);
    CHECK((LogitsOf(std::move(*coded), tokens) == LogitsOf(std::move(*floats), tokens)));
  }
}

TEST_CASE("matrices that change their inputs give what floats give, up to the rounding of inputs") {
  for (const char* const name : {"gptq_act_order", "ct_act_order", "gptq_head", "modelopt_w8a8_sq",
                                 "modelopt_w4a16_awq", "modelopt_nvfp4_awq"}) {
    CAPTURE(name);
    auto coded = LoadFolder(CaseFolder(name), DType::kF32), floats = LoadFolder(CaseFolder(name), DType::kF32);
    REQUIRE((coded && floats));
    Widen(*floats);
    const std::vector<int32_t> tokens =
        ReferenceTensors(CaseFolder(name) + "/golden.safetensors").Tokens("input_ids", 0);
    const std::vector<float> found = LogitsOf(std::move(*coded), tokens),
                             expected = LogitsOf(std::move(*floats), tokens);
    const float largest = std::ranges::max(expected);
    CHECK(LargestDifference(found, expected) <= 0.05f * largest);
  }
}

TEST_CASE("no number of a quantised folder is rounded to the type for floats") {
  auto weights = LoadFolder(CaseFolder("fp8_blocks"), DType::kBF16);
  REQUIRE(weights);
  CHECK(TypesOfLayers(*weights) == std::set{DType::kF32});
}

TEST_CASE("matrices that are joined and of which only some have rounded inputs are refused by name") {
  ChangedFolder folder(CaseFolder("bitnet_online"));
  nlohmann::json config = nlohmann::json::parse(ConfigOf("bitnet_online"));
  config["quantization_config"]["modules_to_not_convert"] = {"lm_head", "model.layers.0.mlp.up_proj"};
  folder.ReplaceConfig(config.dump());
  CheckError(folder.Load(folder.tensors), ErrorCode::kUnsupported,
             "model.layers.0.mlp.gate_proj.weight: its inputs are rounded to 8 bits row by row");
}

TEST_CASE("inputs are multiplied by their factors before codes multiply them") {
  const std::string folder = CaseFolder("modelopt_w4a8_awq");  // of FP8, before which inputs are not rounded
  auto weights = LoadFolder(folder, DType::kF32);
  REQUIRE(weights);
  CHECK(MixerOf(*weights, 0).Of<Attention>().output.has_factors);
  const AnyModel model("quantised", std::move(*weights), StandardLayers::Functions());
  const ReferenceTensors reference(folder + "/golden.safetensors");
  CheckRows(model, reference.Tokens("input_ids", 0), Want::kLogits, reference.Floats("logits", 0));
}

TEST_CASE("stacked matrices whose inputs have different factors become floats") {
  ChangedFolder folder(CaseFolder("modelopt_w8a8_sq"));
  auto original = folder.Load(folder.tensors);
  REQUIRE(original);
  std::vector<NewTensor> tensors = folder.tensors;
  const auto factors = std::ranges::find(tensors, "model.layers.0.mlp.up_proj.pre_quant_scale", &NewTensor::name);
  REQUIRE(factors != tensors.end());
  std::swap_ranges(factors->bytes.begin(), factors->bytes.begin() + 64, factors->bytes.begin() + 64);
  auto changed = folder.Load(tensors);
  REQUIRE(changed);
  const auto of_layer = [](ModelWeights& weights) -> const Matrix& {
    return FeedForwardOf(weights, 0).Of<GatedFeedForward>().gate_up;
  };
  const Matrix &before = of_layer(*original), &after = of_layer(*changed);
  CHECK((before.dtype == DType::kQ8A32 && before.has_factors));
  CHECK((after.dtype == DType::kF32 && !after.changes_inputs()));
  CHECK(UnpackRows(before, 0, before.rows / 2) == UnpackRows(after, 0, before.rows / 2));
  CHECK(UnpackRows(before, before.rows / 2, before.rows) != UnpackRows(after, before.rows / 2, before.rows));
  CHECK(TypesOfLayers(*changed) == std::set{DType::kF32, DType::kQ8A32});
}

TEST_CASE("an output head has an order of columns, an embedding that is the head has none") {
  ChangedFolder folder(CaseFolder("gptq_head"));
  auto untied = folder.Load(folder.tensors);
  REQUIRE(untied);
  REQUIRE(untied->head);
  CHECK((untied->head->has_order && untied->head->dtype == DType::kQ5_0));
  std::vector<NewTensor> tensors = folder.tensors;
  std::erase_if(tensors, [](const NewTensor& tensor) { return tensor.name == "model.embed_tokens.weight"; });
  for (NewTensor& tensor : tensors) {
    if (tensor.name.starts_with("lm_head.")) tensor.name.replace(0, 7, "model.embed_tokens");
  }
  nlohmann::json config = nlohmann::json::parse(ConfigOf("gptq_head"));
  config["tie_word_embeddings"] = true;
  folder.ReplaceConfig(config.dump());
  auto tied = folder.Load(tensors);
  REQUIRE_MESSAGE(tied.has_value(), tied.error().message);
  CHECK((!tied->embedding.has_order && tied->embedding.dtype == DType::kF32));
  CHECK(Unpack(tied->embedding) == Unpack(*untied->head));
}

TEST_CASE("AutoRound's older folders tell by the name of a kernel how they are packed") {
  const std::pair<const char*, const char*> kKernels[] = {{"auto_round", "auto_round:exllamav2"},
                                                          {"auto_round", "auto_round:tritonv2"},
                                                          {"auto_round_gptq", "auto_round:gptq:exllamav2"},
                                                          {"auto_round_awq", "auto_round:awq"}};
  for (const auto& [name, kernel] : kKernels) {
    CAPTURE(kernel);
    ChangedFolder folder(CaseFolder(name));
    const auto original = folder.Load(folder.tensors);
    nlohmann::json config = nlohmann::json::parse(ConfigOf(name));
    config["quantization_config"].erase("packing_format");
    config["quantization_config"]["backend"] = kernel;
    folder.ReplaceConfig(config.dump());
    const auto older = folder.Load(folder.tensors);
    REQUIRE((original && older));
    CHECK(SameWeights(*older, *original));
  }
}

TEST_CASE("stacked matrices whose columns have different orders become floats") {
  ChangedFolder folder(CaseFolder("gptq_act_order"));
  auto original = folder.Load(folder.tensors);
  REQUIRE(original);
  std::vector<NewTensor> tensors = folder.tensors;
  const auto choices = std::ranges::find(tensors, "model.layers.0.self_attn.q_proj.g_idx", &NewTensor::name);
  REQUIRE(choices != tensors.end());
  std::swap_ranges(choices->bytes.begin(), choices->bytes.begin() + 128, choices->bytes.begin() + 128);
  auto changed = folder.Load(tensors);
  REQUIRE(changed);
  const auto of_layer = [](ModelWeights& weights) -> const Matrix& { return MixerOf(weights, 0).Of<Attention>().qkv; };
  const Matrix &before = of_layer(*original), &after = of_layer(*changed);
  CHECK(before.dtype == DType::kQ5_0);
  CHECK(after.dtype == DType::kF32);
  CHECK(UnpackRows(before, before.rows / 2, before.rows) == UnpackRows(after, before.rows / 2, before.rows));
  CHECK(TypesOfLayers(*changed) == std::set{DType::kF32, DType::kQ5_0});
}

TEST_CASE("tensors of quantised weights that are missing, doubled or wrong give an error or the same weights") {
  for (const Case& one : kCases) {
    CAPTURE(one.name);
    ChangedFolder folder(CaseFolder(one.name));
    const auto original = folder.Load(folder.tensors);
    REQUIRE_MESSAGE(original.has_value(), original.error().message);
    for (size_t i = 0; i < folder.tensors.size(); ++i) {
      const NewTensor& tensor = folder.tensors[i];
      const bool is_chosen = tensor.name.find("layers.0.mlp.down_proj.") != std::string::npos ||
                             tensor.name.find("layers.0.self_attn.q_proj.") != std::string::npos ||
                             tensor.name.find("experts.1.down_proj.") != std::string::npos ||
                             tensor.name.starts_with("lm_head.");
      if (!is_chosen) continue;
      CAPTURE(tensor.name);
      for (const Damage damage : kDamages) {
        // Without this one, a folder is one whose inputs are multiplied by nothing.
        if (damage == Damage::kRemoved && tensor.name.ends_with("pre_quant_scale")) continue;
        CAPTURE(static_cast<int>(damage));
        const auto loaded = folder.Load(WithDamage(folder.tensors, i, damage));
        CHECK((!loaded || SameWeights(*loaded, *original)));
      }
    }
  }
}

TEST_CASE("a description of quantised weights that Skald does not know is refused by its field") {
  const auto check = [](const std::string& name, const char* field, const nlohmann::json& value, ErrorCode code,
                        const std::string& sentence) {
    nlohmann::json config = nlohmann::json::parse(ConfigOf(name));
    config["quantization_config"][field] = value;
    CheckError(ParseConfigJson(config.dump()), code, "config.json: quantization_config." + sentence);
  };
  check("awq", "version", "marlin", ErrorCode::kUnsupported,
        "version is \"marlin\"; Skald supports only gemm, gemv and gemv_fast");
  check("awq", "bits", 3, ErrorCode::kUnsupported, "bits is 3; Skald supports only 4");
  check("awq", "zero_point", false, ErrorCode::kUnsupported, "zero_point is false");
  check("gptq", "checkpoint_format", "marlin", ErrorCode::kUnsupported, "checkpoint_format is \"marlin\"");
  check("gptq", "dynamic", {{"+:mlp", {{"bits", 5}}}}, ErrorCode::kUnsupported, "dynamic.+:mlp.bits is 5");
  check("gptq", "dynamic", {{"mlp", {{"lora", 5}}}}, ErrorCode::kUnsupported, "dynamic.mlp.lora is 5");
  check("modelopt_nvfp4", "quant_algo", "NVFP4_SVD", ErrorCode::kUnsupported, "quant_algo is \"NVFP4_SVD\"");
  check("modelopt_nvfp4", "quant_algo", nullptr, ErrorCode::kNotFound, "quant_algo is missing");
  check("modelopt_nvfp4", "lora_rank", 8, ErrorCode::kUnsupported, "lora_rank is 8");
  check("modelopt_mixed", "quantized_layers", {{"a", {{"quant_algo", "NVFP4_SVD"}}}}, ErrorCode::kUnsupported,
        "quantized_layers.a.quant_algo is \"NVFP4_SVD\"");
  check("bitnet_online", "modules_to_not_convert", {"mlp.*"}, ErrorCode::kUnsupported, "modules_to_not_convert is");
  check("bitnet_divided", "quantization_mode", "online", ErrorCode::kUnsupported, "quantization_mode is \"online\"");
  check("bitnet", "use_rms_norm", true, ErrorCode::kUnsupported, "use_rms_norm is true");
  check("gptq", "group_size", 0, ErrorCode::kDataLoss, "group_size must be");
  check("gptq", "bits", nullptr, ErrorCode::kNotFound, "bits is missing");
  check("gptq", "quant_method", "hqq", ErrorCode::kUnsupported, "quant_method is \"hqq\"");
  check("fp8_blocks", "fmt", "e5m2", ErrorCode::kUnsupported, "fmt is \"e5m2\"");
  check("fp8_blocks", "weight_block_size", {128}, ErrorCode::kDataLoss, "weight_block_size must be");
  check("ct_w4a16", "transform_config", {{"a", 1}}, ErrorCode::kUnsupported, "transform_config is an object");
  check("bnb_nf4", "bnb_4bit_quant_storage", "float64", ErrorCode::kUnsupported, "bnb_4bit_quant_storage is");
  check("awq", "backend", "llm-awq", ErrorCode::kUnsupported, "backend is \"llm-awq\"");
  check("ct_w4a16", "format", "marlin-24", ErrorCode::kUnsupported, "format is \"marlin-24\"");
  check("auto_round", "packing_format", "auto_round:fp8", ErrorCode::kUnsupported, "packing_format is");
  check("auto_round", "rotation_config", {{"a", 1}}, ErrorCode::kUnsupported, "rotation_config is an object");
}

}  // namespace quantised_test
}  // namespace skald::testing
