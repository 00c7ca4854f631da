// SPDX-License-Identifier: Apache-2.0
//
// A Config whose numbers are not those of the metadata beside the weights does not load, whether or not a tensor shows
// them.

#include "skald/model/detail/load_check.h"

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "doctest/doctest.h"
#include "skald/model/load.h"
#include "tests/support/check_error.h"
#include "tests/support/gguf_convert.h"
#include "tests/support/golden_configs.h"
#include "tests/support/test_data.h"
#include "tests/weights/raw_file.h"
#include "tests/weights/tiny_checkpoint.h"

namespace skald::testing {
namespace load_check_test {

struct OtherBase : GoldenQwen3 {
  static constexpr RopeSpec kRope = {.base = 12345.0};
};
struct OtherEpsilon : GoldenQwen3 {
  static constexpr float kNormEpsilon = 3e-3f;
};
struct OtherScaling : GoldenQwen3 {
  static constexpr RopeSpec kRope = {.base = GoldenQwen3::kRope.base, .scaling = RopeScaling::kLinear, .factor = 2.0};
};
struct OtherScale : GoldenQwen3 {
  static constexpr double kQueryPreScale = 3.0;
};
struct OtherCap : GoldenGemma2 {
  static constexpr float kFinalSoftcap = 12.0f;
};
struct OtherWindow : GoldenGemma2 {
  static constexpr int kWindow = GoldenGemma2::kWindow + 1;
};
struct OtherMultiplier : GoldenGranite4 {
  static constexpr float kResidualMultiplier = 0.7f;
};
struct OtherNorm : GoldenMamba {
  static constexpr float kNormEpsilon = 3e-3f;
};

template <ModelConfig C>
void CheckRefused(const std::string& folder, const std::string& fact) {
  CAPTURE(folder);
  const std::string sentence = "config.json: what it says of the model is not what the Config says: " + fact + " (";
  CheckError(LoadWeights<C>(GoldenPath(folder)), ErrorCode::kInvalidArgument, sentence);
  CheckError(LoadWeights<C>(GoldenPath(folder + "/model.safetensors")), ErrorCode::kInvalidArgument, sentence);
}

TEST_CASE("A number that no tensor shows is compared with config.json, and called as it is there") {
  CheckRefused<OtherBase>("qwen3", "rope_theta");
  CheckRefused<OtherEpsilon>("qwen3", "rms_norm_eps");
  CheckRefused<OtherScaling>("qwen3", "rope_type");
  CheckRefused<OtherScale>("qwen3", "query_pre_attn_scalar");
  CheckRefused<OtherCap>("gemma2", "final_logit_softcapping");
  CheckRefused<OtherWindow>("gemma2", "sliding_window");
  CheckRefused<OtherMultiplier>("granitemoehybrid_dense", "residual_multiplier");
  CheckRefused<OtherNorm>("mamba", "layer_norm_epsilon");
}

TEST_CASE("Whoever means another number gives the tensors alone") {
  const auto checkpoint = Checkpoint::Open(GoldenPath("qwen3"));
  REQUIRE(checkpoint);
  CHECK(LoadWeights<OtherBase>(*checkpoint));
}

// A folder with the tensors of TinyModel and this config.json.
class Folder {
 public:
  explicit Folder(const std::string& config_json) {
    WriteFile(path() / "model.safetensors", SafetensorsImage(TinyTensors<TinyModel>()));
    WriteFile(path() / "config.json", config_json);
  }
  std::filesystem::path path() const { return folder_.path(); }

 private:
  TemporaryFolder folder_;
};

TEST_CASE("A config.json of no family that Skald reads is nothing to compare with") {
  CHECK(LoadWeights<TinyModel>(Folder("{}").path()));
  CHECK(LoadWeights<TinyModel>(Folder(R"({"model_type": "my_own", "surprise": 1})").path()));
  CHECK(LoadWeights<TinyModel>(Folder(R"({"model_type": 7})").path()));
}

TEST_CASE("A config.json that cannot be read is an error, and so is one that says what is not read") {
  CheckError(LoadWeights<TinyModel>(Folder("{").path()), ErrorCode::kDataLoss, "config.json is not valid JSON");
  CheckError(LoadWeights<TinyModel>(Folder("[]").path()), ErrorCode::kDataLoss, "does not hold a JSON object");
  CheckError(LoadWeights<TinyModel>(Folder(R"({"model_type": "llama"})").path()), ErrorCode::kNotFound,
             "config.json: hidden_size is missing");
}

template <ModelConfig C>
std::filesystem::path WriteGguf(const TemporaryFolder& folder, const std::string& of, const std::string& architecture,
                                const GgufValues& values) {
  const auto path = folder.path() / "model.gguf";
  std::vector<NewGgufTensor> tensors =
      GgufTensors<C>(RawFile(GoldenPath(of + "/model.safetensors")).Tensors(), architecture);
  if (C::kRope.scaling == RopeScaling::kLlama3) tensors.push_back(RopeDivisors(C::kRope, C::kHeadDim));
  WriteFile(path, GgufImage(values, tensors));
  return path;
}

TEST_CASE("The same holds for the metadata of a GGUF file, whose numbers are floats") {
  const TemporaryFolder folder;
  const auto qwen = WriteGguf<GoldenQwen3>(folder, "qwen3", "qwen3", GgufMetadata<GoldenQwen3>("qwen3"));
  CHECK(LoadWeights<GoldenQwen3>(qwen));
  const std::string sentence = "model.gguf: what it says of the model is not what the Config says: ";
  CheckError(LoadWeights<OtherBase>(qwen), ErrorCode::kInvalidArgument, sentence + "rope.freq_base (");
  CheckError(LoadWeights<OtherEpsilon>(qwen), ErrorCode::kInvalidArgument,
             sentence + "attention.layer_norm_rms_epsilon (");
  CheckError(LoadWeights<OtherScaling>(qwen), ErrorCode::kInvalidArgument, sentence + "rope.scaling.type (");
  const auto gemma = WriteGguf<GoldenGemma2>(folder, "gemma2", "gemma2", GgufMetadata<GoldenGemma2>("gemma2"));
  CHECK(LoadWeights<GoldenGemma2>(gemma));
  CheckError(LoadWeights<OtherCap>(gemma), ErrorCode::kInvalidArgument, sentence + "final_logit_softcapping (");
  CheckError(LoadWeights<OtherWindow>(gemma), ErrorCode::kInvalidArgument, sentence + "attention.sliding_window (");
  const auto llama = WriteGguf<GoldenLlama>(folder, "llama", "llama", GgufMetadata<GoldenLlama>("llama"));
  CHECK(LoadWeights<GoldenLlama>(llama));
}

TEST_CASE("A GGUF file of Mistral does not tell its window, and one without metadata nothing") {
  const TemporaryFolder folder;
  const auto mistral = LoadWeights<GoldenMistral>(
      WriteGguf<GoldenMistral>(folder, "mistral", "llama", GgufMetadata<GoldenMistral>("llama")));
  CHECK_MESSAGE(mistral.has_value(), mistral.error().message);
  CHECK(LoadWeights<OtherBase>(
      WriteGguf<GoldenQwen3>(folder, "qwen3", "qwen3", GgufValues().String("general.architecture", "qwen3"))));
}

TEST_CASE("A GGUF file that says what is not read does not load with any Config") {
  const TemporaryFolder folder;
  const auto path = WriteGguf<GoldenQwen3>(folder, "qwen3", "qwen3",
                                           GgufMetadata<GoldenQwen3>("qwen3").Bool("qwen3.attention.causal", false));
  CheckError(LoadWeights<GoldenQwen3>(path), ErrorCode::kUnsupported, "qwen3.attention.causal is false");
}

TEST_CASE("A tensor that no layer asks for and no list names is refused wherever it is") {
  const auto error_of = [](const std::string& name) {
    const TemporaryFolder folder;
    auto tensors = TinyTensors<TinyModel>();
    tensors.push_back(TinyTensor(name, {3}));
    WriteFile(folder.path() / "model.safetensors", SafetensorsImage(tensors));
    const auto weights = LoadWeights<TinyModel>(folder.path());
    return weights ? "accepted" : weights.error().message;
  };
  for (const char* const name : {"surprise.weight", "score.weight", "transformer.bias", "model.surprise"}) {
    CHECK(error_of(name).find("'" + std::string(name) + "': the Config has no place for this tensor") !=
          std::string::npos);
  }
  for (const char* const name : {"vision_tower.x", "visual.blocks.0.w", "mtp.layers.0.w", "model.visual.w",
                                 "multi_modal_projector.w", "model.layers.0.self_attn.rotary_emb.inv_freq"}) {
    CHECK(error_of(name) == "accepted");
  }
}

}  // namespace load_check_test
}  // namespace skald::testing
