// SPDX-License-Identifier: Apache-2.0
//
// Published implementations' logits for small checkpoints of every family, against ours in f32 mode: of every folder of
// tests/golden/data, and of variants that have files there beside its config.json and model.safetensors. A wrong
// formula is off by 4e-3 or more.

#include <algorithm>
#include <filesystem>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "doctest/doctest.h"
#include "skald/base/files/small_file.h"
#include "skald/families/config_json.h"
#include "skald/model/load_any.h"
#include "skald/model/model.h"
#include "tests/golden/recorded_states.h"
#include "tests/support/compare_logits.h"
#include "tests/support/golden_configs.h"
#include "tests/support/golden_folders.h"
#include "tests/support/golden_gpt_oss.h"
#include "tests/support/reference_tensors.h"
#include "tests/support/test_data.h"
#include "tests/support/widen.h"

namespace skald::testing {
namespace checkpoints_test {

// By how much more than by the rounding of sums a reference may differ. It computes angles in float32, and where
// frequencies have factors not even the first one is exact: its own distance from float64 is 2.8e-5 then. Where a head
// of a delta net gives little, its norm multiplies what was rounded: that distance is 5e-5.
float AllowanceOf(const ModelSpec& spec) {
  constexpr float kInexactAngles = 2.0f, kSmallHeads = 4.0f;
  float allowance = 1.0f;
  const auto allow = [&](const RopeSpec& rope) {
    const bool has_factors = rope.scaling == RopeScaling::kYarn || rope.scaling == RopeScaling::kLongRope;
    if (has_factors) allowance = std::max(allowance, kInexactAngles);
  };
  for (const Block& block : spec.blocks) {
    for (const LayerSpec& layer : block.layers) {
      if (const auto* const attention = layer.As<Attention>()) allow(attention->rope);
      if (const auto* const attention = layer.As<LatentAttention>()) allow(attention->rope);
      if (layer.As<GatedDeltaNet>() || layer.As<KimiDelta>()) allowance = kSmallHeads;
    }
  }
  return allowance;
}

// Answers of variants may be logits alone.
void CheckModel(const AnyModel& model, const std::filesystem::path& recorded, bool is_variant = true,
                const RuntimeConfig& runtime = kExact) {
  CAPTURE(recorded.string());
  const ReferenceTensors reference(recorded);
  const float allowance = AllowanceOf(model.spec());
  const char* const logits = reference.Has("logits") ? "logits" : "logits_last16";
  for (size_t row = 0; row < 2; ++row) {
    const std::vector<int32_t> prompt = reference.Tokens("input_ids", row), greedy = reference.Tokens("greedy", row);
    CheckRows(model, prompt, Want::kLogits, reference.Floats(logits, row), runtime, allowance);
    CHECK(Greedy(model, prompt, greedy.size(), runtime) == greedy);
    if (is_variant && !reference.Has("hidden_last")) continue;
    CheckRows(model, prompt, Want::kHidden, reference.Floats("hidden_last", row), runtime, allowance);
    if (!is_variant || reference.HasBehind("state.")) CheckStates(model, reference, row, runtime, allowance);
  }
}

// The words between a name and its ending of the files of a folder: other metadata, weights or answers than the
// folder's own. Other versions of transformers write other metadata of the same model, which tests/configs compares.
std::set<std::string> VariantsIn(const std::filesystem::path& folder) {
  std::set<std::string> variants;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string stem = entry.path().stem().string(), name = stem.substr(0, stem.find('.'));
    const bool is_own = name == "config" || name == "model" || name == "golden";
    const std::string variant = is_own && stem != name ? stem.substr(name.size()) : "";
    if (!variant.empty() && !variant.starts_with(".transformers-")) variants.insert(variant);
  }
  return variants;
}

// A file of a variant, or that of its folder where the variant has none.
std::filesystem::path FileOf(const std::string& folder, const std::string& name, const std::string& variant,
                             const std::string& ending) {
  const auto path = GoldenPath(folder + "/" + name + variant + ending);
  return std::filesystem::exists(path) ? path : GoldenPath(folder + "/" + name + ending);
}

AnyModel Variant(const std::string& folder, const std::string& variant) {
  const auto text = ReadSmallFile(FileOf(folder, "config", variant, ".json"), kMaxConfigJson);
  REQUIRE(text);
  const auto described = ParseConfigJson(*text);
  REQUIRE_MESSAGE(described.has_value(), described.error().message);
  const auto checkpoint = Checkpoint::Open(FileOf(folder, "model", variant, ".safetensors"));
  REQUIRE(checkpoint);
  auto weights = LoadWeights(*checkpoint, described->spec, {.dtype = DType::kF32});
  REQUIRE_MESSAGE(weights.has_value(), weights.error().message);
  return AnyModel(variant, std::move(*weights), StandardLayers::Functions());
}

// Compared in another way, below.
const std::set<std::string> kApart = {"stories260K", "gpt_oss.mxfp4", "phi3.partial"};

TEST_CASE("every family agrees with its original implementation") {
  size_t models = 0;
  for (const std::string& folder : GoldenFolders()) {
    if (kApart.contains(folder)) continue;
    CAPTURE(folder);
    const auto model = LoadAnyModel(GoldenPath(folder), {.dtype = DType::kF32});
    REQUIRE_MESSAGE(model.has_value(), model.error().message);
    CheckModel(*model, GoldenPath(folder + "/golden.safetensors"), /*is_variant=*/false);
    ++models;
  }
  CHECK(models >= 75);
}

TEST_CASE("so do variants of a model, in other metadata, weights or answers") {
  size_t variants = 0;
  for (const std::string& folder : GoldenFolders()) {
    for (const std::string& variant : VariantsIn(GoldenPath(folder))) {
      if (kApart.contains(folder + variant)) continue;
      CAPTURE(folder);
      CAPTURE(variant);
      CheckModel(Variant(folder, variant), FileOf(folder, "golden", variant, ".safetensors"));
      ++variants;
    }
  }
  CHECK(variants >= 11);
}

TEST_CASE("short factors of Phi-4-mini are those of short caches") {
  CheckModel(Variant("phi3", ".partial"), GoldenPath("phi3/golden.partial.safetensors"), /*is_variant=*/true,
             {.max_tokens = 256, .kv_type = DType::kF32});
}

TEST_CASE("GPT-2 has no more positions than it has learned") {
  const auto model = LoadAnyModel(GoldenPath("gpt2"), {.dtype = DType::kF32});
  REQUIRE(model);
  KVCache cache = *CreateKVCache(model->layout(), kExact);
  Workspace workspace = *CreateWorkspace({.threads = 1});
  CHECK(cache.max_tokens() == 128);
  REQUIRE(model->Forward(cache, std::vector<int32_t>(128, 7), workspace));
  const auto beyond = model->Forward(cache, std::vector<int32_t>{7}, workspace);
  REQUIRE_FALSE(beyond);
  CHECK(beyond.error().message.find("exceed the limit of 128 tokens") != std::string::npos);
  CHECK(cache.Erase(3, 5).error().code == ErrorCode::kUnsupported);
  CHECK(cache.Truncate(100));
}

TEST_CASE("InternLM 2 reads no text that is longer than its dynamic RoPE is plain") {
  const auto text = ReadSmallFile(GoldenPath("internlm2/config.json"), 1 << 20);
  REQUIRE(text);
  nlohmann::json config = nlohmann::json::parse(*text);
  config["rope_parameters"] = {{"rope_theta", 10000.0}, {"rope_type", "dynamic"}, {"factor", 2.0}};
  const auto described = ParseConfigJson(config.dump());
  REQUIRE_MESSAGE(described.has_value(), described.error().message);
  const auto model = LoadAnyModel(GoldenPath("internlm2"), {.dtype = DType::kF32});
  REQUIRE(model);
  CHECK(LayoutOf(model->spec()).longest_text() == 0);
  CHECK(Fingerprint(described->spec) == Fingerprint(model->spec()));
  KVCache cache = *CreateKVCache(LayoutOf(described->spec), kExact);
  Workspace workspace = *CreateWorkspace({.threads = 1});
  CHECK(cache.max_tokens() == 256);
  REQUIRE(model->Forward(cache, std::vector<int32_t>(256, 7), workspace));
  const auto beyond = model->Forward(cache, std::vector<int32_t>{7}, workspace);
  REQUIRE_FALSE(beyond);
  CHECK(beyond.error().message.find("exceed the limit of 256 tokens") != std::string::npos);
  CHECK(cache.Erase(3, 5));
}

TEST_CASE("the numbers of gpt-oss's experts in MXFP4 are those of Hugging Face") {
  auto weights = LoadWeights(GoldenPath("gpt_oss/model.mxfp4.safetensors"), GptOssSpec(GoldenGptOss()), "gpt-oss",
                             {.dtype = DType::kF32});
  REQUIRE_MESSAGE(weights.has_value(), weights.error().message);
  CHECK(weights->blocks[1].Of<MixtureOfExperts>().down[0].dtype == DType::kMXFP4);
  Widen(*weights);
  CheckModel(AnyModel("gpt-oss", std::move(*weights), StandardLayers::Functions()),
             GoldenPath("gpt_oss/golden.mxfp4.safetensors"));
}
TEST_CASE("stories260K tells its published story") {
  const auto model = LoadModel<Stories260K>(GoldenPath("stories260K"), {.dtype = DType::kF32});
  REQUIRE(model);
  const ReferenceTensors reference(GoldenPath("stories260K/golden.safetensors"));
  const std::vector<int32_t> story = reference.AllTokens("tokens");
  CheckRows(*model, {story.begin(), story.end() - 1}, Want::kLogits, reference.AllFloats("logits"));
  CHECK(Greedy(*model, {story[0]}, story.size() - 1) == std::vector<int32_t>(story.begin() + 1, story.end()));
}

}  // namespace checkpoints_test
}  // namespace skald::testing
