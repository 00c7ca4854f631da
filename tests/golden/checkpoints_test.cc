// SPDX-License-Identifier: Apache-2.0
//
// Published implementations' logits for small checkpoints of every family, against ours in f32 mode. A wrong formula
// is off by 4e-3 or more.

#include <string>
#include <utility>
#include <vector>

#include "doctest/doctest.h"
#include "skald/base/files/small_file.h"
#include "skald/families/config_json.h"
#include "skald/model/load_any.h"
#include "skald/model/model.h"
#include "tests/support/compare_logits.h"
#include "tests/support/golden_configs.h"
#include "tests/support/golden_gpt_oss.h"
#include "tests/support/reference_tensors.h"
#include "tests/support/test_data.h"
#include "tests/support/widen.h"

namespace skald::testing {
namespace checkpoints_test {

// Recurrence states of one layer, as we keep them and as the references do: [channels, states] or [channels, taps] with
// the channels outermost; the references of Mamba kinds keep one more input of the convolution than is ever read.
struct RecordedState {
  std::vector<float> state, conv;
};

// Returns `matrix` [rows, cols] transposed.
std::vector<float> Transposed(const std::vector<float>& matrix, size_t rows, size_t cols) {
  REQUIRE(matrix.size() == rows * cols);
  std::vector<float> transposed;
  for (size_t col = 0; col < cols; ++col) {
    for (size_t row = 0; row < rows; ++row) transposed.push_back(matrix[row * cols + col]);
  }
  return transposed;
}

// The recorded state of layer `layer` of a checkpoint, in our order: of an RG-LRU,
RecordedState ReadState(const ReferenceTensors& reference, const RgLru& lru, size_t layer, size_t row) {
  const std::string prefix = "state.layers." + std::to_string(layer) + ".";
  return {reference.Floats(prefix + "rg_lru", row),
          Transposed(reference.Floats(prefix + "conv1d", row), lru.width, lru.conv_width - 1)};
}

// or of a Mamba kind, whose state is [heads][channels, state variables].
RecordedState ReadScan(const ReferenceTensors& reference, size_t layer, size_t row, size_t heads, size_t state_dim,
                       size_t conv_channels, size_t taps) {
  const std::string prefix = "state.layers." + std::to_string(layer) + ".";
  RecordedState recorded;
  recorded.conv = Transposed(reference.Floats(prefix + "conv", row), conv_channels, taps);
  recorded.conv.erase(recorded.conv.begin(), recorded.conv.begin() + static_cast<ptrdiff_t>(conv_channels));
  const std::vector<float> state = reference.Floats(prefix + "ssm", row);
  const size_t part = state.size() / heads;
  for (size_t head = 0; head < heads; ++head) {
    const auto begin = state.begin() + static_cast<ptrdiff_t>(head * part);
    const std::vector<float> turned =
        Transposed({begin, begin + static_cast<ptrdiff_t>(part)}, part / state_dim, state_dim);
    recorded.state.insert(recorded.state.end(), turned.begin(), turned.end());
  }
  return recorded;
}
RecordedState ReadState(const ReferenceTensors& reference, const ShortConv& conv, size_t layer, size_t row) {
  const auto width = static_cast<size_t>(conv.width), taps = static_cast<size_t>(conv.conv_width);
  RecordedState recorded;
  recorded.conv = Transposed(reference.Floats("state.layers." + std::to_string(layer) + ".conv", row), width, taps);
  recorded.conv.erase(recorded.conv.begin(), recorded.conv.begin() + static_cast<ptrdiff_t>(width));
  return recorded;
}
RecordedState ReadState(const ReferenceTensors& reference, const GatedDeltaNet& net, size_t layer, size_t row) {
  const std::string prefix = "state.layers." + std::to_string(layer) + ".";
  const int channels = 2 * net.key_heads * net.key_dim + net.value_heads * net.value_dim;
  RecordedState recorded = {reference.Floats(prefix + "recurrent", row), {}};
  recorded.conv = Transposed(reference.Floats(prefix + "conv", row), channels, net.conv_width);
  recorded.conv.erase(recorded.conv.begin(), recorded.conv.begin() + channels);
  return recorded;
}
RecordedState ReadState(const ReferenceTensors& reference, const KimiDelta& delta, size_t layer, size_t row) {
  const GatedDeltaNet net = {.key_heads = delta.heads,
                             .value_heads = delta.heads,
                             .key_dim = delta.head_dim,
                             .value_dim = delta.head_dim,
                             .conv_width = delta.conv_width};
  return ReadState(reference, net, layer, row);
}
// The states of RWKV-7 are [heads][values, keys], and rows of the input.
RecordedState ReadState(const ReferenceTensors& reference, const RwkvTimeMix& mix, size_t layer, size_t row) {
  const std::string prefix = "state.layers." + std::to_string(layer) + ".";
  const auto dim = static_cast<size_t>(mix.head_dim);
  RecordedState recorded = {{}, reference.Floats(prefix + "att_shift", row)};
  const std::vector<float> state = reference.Floats(prefix + "wkv", row);
  for (auto head = state.begin(); head != state.end(); head += static_cast<ptrdiff_t>(dim * dim)) {
    const std::vector<float> turned = Transposed({head, head + static_cast<ptrdiff_t>(dim * dim)}, dim, dim);
    recorded.state.insert(recorded.state.end(), turned.begin(), turned.end());
  }
  return recorded;
}
// Those of RWKV-6 are [heads][keys, values].
RecordedState ReadState(const ReferenceTensors& reference, const RwkvDecayedTimeMix&, size_t layer, size_t row) {
  const std::string prefix = "state.layers." + std::to_string(layer) + ".";
  return {reference.Floats(prefix + "wkv", row), reference.Floats(prefix + "att_shift", row)};
}
RecordedState ReadState(const ReferenceTensors& reference, const LightningAttention&, size_t layer, size_t row) {
  return {reference.Floats("state.layers." + std::to_string(layer) + ".recurrent", row), {}};
}
RecordedState ReadState(const ReferenceTensors& reference, const RwkvChannelMix&, size_t layer, size_t row) {
  return {{}, reference.Floats("state.layers." + std::to_string(layer) + ".ffn_shift", row)};
}
RecordedState ReadState(const ReferenceTensors& reference, const Mamba& mamba, size_t layer, size_t row) {
  return ReadScan(reference, layer, row, 1, mamba.state_dim, mamba.inner_dim, mamba.conv_width);
}
RecordedState ReadState(const ReferenceTensors& reference, const Mamba2& mamba, size_t layer, size_t row) {
  const int channels = mamba.heads * mamba.head_dim + 2 * mamba.groups * mamba.state_dim;
  return ReadScan(reference, layer, row, mamba.heads, mamba.state_dim, channels, mamba.conv_width);
}

RecordedState ReadState(const ReferenceTensors& reference, const SelectiveMamba2& mamba, size_t layer, size_t row) {
  return ReadScan(reference, layer, row, mamba.heads, mamba.state_dim, mamba.heads * mamba.head_dim, mamba.conv_width);
}

// Checks what every recurrent layer remembers of a prompt.
void CheckStates(const AnyModel& model, const ReferenceTensors& reference, size_t row, const RuntimeConfig& runtime,
                 float allowance) {
  Workspace workspace = *CreateWorkspace({.threads = 1});
  KVCache cache = *CreateKVCache(LayoutOf(model.spec()), runtime);
  const CacheLayout& layout = cache.pool()->layout();
  REQUIRE(model.Forward(cache, reference.Tokens("input_ids", row), workspace));
  size_t stateful = 0;
  for (const Block& block : model.spec().blocks) {
    CAPTURE(block.number);
    const LayerSpec& layer = block.layers[0];
    if (!layer.State()) continue;
    const LayerSlot slot = layout.layers()[stateful];
    for (const LayerSpec& beside : block.layers) stateful += beside.State().has_value();
    RecordedState recorded;
    if (const auto* lru = layer.As<RgLru>()) recorded = ReadState(reference, *lru, block.number, row);
    if (const auto* conv = layer.As<ShortConv>()) recorded = ReadState(reference, *conv, block.number, row);
    if (const auto* net = layer.As<GatedDeltaNet>()) recorded = ReadState(reference, *net, block.number, row);
    if (const auto* delta = layer.As<KimiDelta>()) recorded = ReadState(reference, *delta, block.number, row);
    if (const auto* mix = layer.As<RwkvTimeMix>()) recorded = ReadState(reference, *mix, block.number, row);
    if (const auto* mix = layer.As<RwkvDecayedTimeMix>()) recorded = ReadState(reference, *mix, block.number, row);
    if (const auto* mix = layer.As<RwkvChannelMix>()) recorded = ReadState(reference, *mix, block.number, row);
    if (const auto* mamba = layer.As<Mamba>()) recorded = ReadState(reference, *mamba, block.number, row);
    if (const auto* mamba = layer.As<Mamba2>()) recorded = ReadState(reference, *mamba, block.number, row);
    if (const auto* sums = layer.As<LightningAttention>()) recorded = ReadState(reference, *sums, block.number, row);
    if (const auto* mamba = layer.As<SelectiveMamba2>()) recorded = ReadState(reference, *mamba, block.number, row);
    if (recorded.state.empty() && recorded.conv.empty()) continue;  // attention
    const BlockGeometry& geometry = cache.pool()->geometry(slot.group);
    const std::byte* const bytes = cache.pool()->Resolve(slot.group, cache.table().groups[slot.group].blocks)[0];
    const float* const floats = reinterpret_cast<const float*>(bytes + geometry.StateOffset(slot.index));
    REQUIRE((recorded.state.size() + recorded.conv.size()) * sizeof(float) == geometry.state_bytes);
    const std::vector<float> state(floats, floats + recorded.state.size());
    CHECK(LargestDifference(state, recorded.state) <= allowance * Tolerance(model.spec(), recorded.state));
    const std::vector<float> conv(floats + state.size(), floats + state.size() + recorded.conv.size());
    CHECK(LargestDifference(conv, recorded.conv) <= allowance * Tolerance(model.spec(), recorded.conv));
  }
}

// Data of some references alone: logits, of all rows or the last, and the following tokens.
void CheckAnswers(const AnyModel& model, const std::string& recorded, const std::string& logits,
                  const RuntimeConfig& runtime = kExact, float allowance = 1.0f) {
  CAPTURE(recorded);
  const ReferenceTensors reference(GoldenPath(recorded));
  for (size_t row = 0; row < 2; ++row) {
    const std::vector<int32_t> prompt = reference.Tokens("input_ids", row);
    CheckRows(model, prompt, Want::kLogits, reference.Floats(logits, row), runtime, allowance);
    const std::vector<int32_t> greedy = reference.Tokens("greedy", row);
    CHECK(Greedy(model, prompt, greedy.size(), runtime) == greedy);
  }
}

void CheckModel(const AnyModel& model, const std::string& recorded, const RuntimeConfig& runtime = kExact,
                float allowance = 1.0f) {
  CAPTURE(recorded);
  const ReferenceTensors reference(GoldenPath(recorded));
  for (size_t row = 0; row < 2; ++row) {
    const std::vector<int32_t> prompt = reference.Tokens("input_ids", row);
    CheckRows(model, prompt, Want::kHidden, reference.Floats("hidden_last", row), runtime, allowance);
    CheckStates(model, reference, row, runtime, allowance);
  }
  CheckAnswers(model, recorded, "logits", runtime, allowance);
}

template <class C>
void CheckCheckpoint(const std::string& weights, const std::string& recorded) {
  const auto model = LoadModel<C>(GoldenPath(weights), {.dtype = DType::kF32});
  REQUIRE(model);
  CheckModel(*model, recorded);
}

// The same where config.json says otherwise than C: of the tensors alone.
template <class C>
void CheckTensors(const std::string& weights, const std::string& recorded) {
  const auto checkpoint = Checkpoint::Open(GoldenPath(weights));
  REQUIRE(checkpoint);
  auto loaded = LoadWeights<C>(*checkpoint, {.dtype = DType::kF32});
  REQUIRE(loaded);
  CheckModel(Model<C>(std::move(*loaded)), recorded);
}

template <class C>
void CheckFolder(const std::string& folder) {
  CheckCheckpoint<C>(folder + "/model.safetensors", folder + "/golden.safetensors");
}

// The same of a model that is known by its config.json alone.
void CheckAny(const std::string& folder, float allowance = 1.0f) {
  const auto model = LoadAnyModel(GoldenPath(folder), {.dtype = DType::kF32});
  REQUIRE_MESSAGE(model.has_value(), model.error().message);
  CheckModel(*model, folder + "/golden.safetensors", kExact, allowance);
}

// The same of other metadata over the same weights.
AnyModel Variant(const std::string& folder, const std::string& variant, const std::string& file = "model") {
  const auto text = ReadSmallFile(GoldenPath(folder + "/config." + variant + ".json"), kMaxConfigJson);
  REQUIRE(text);
  const auto described = ParseConfigJson(*text);
  REQUIRE_MESSAGE(described.has_value(), described.error().message);
  const auto checkpoint = Checkpoint::Open(GoldenPath(folder + "/" + file + ".safetensors"));
  REQUIRE(checkpoint);
  auto weights = LoadWeights(*checkpoint, described->spec, {.dtype = DType::kF32});
  REQUIRE_MESSAGE(weights.has_value(), weights.error().message);
  return AnyModel(variant, std::move(*weights), StandardLayers::Functions());
}

// The reference computes angles in float32. Where frequencies have factors not even the first one is exact: its own
// distance from float64 is 2.8e-5 here.
constexpr float kInexactAngles = 2.0f;

TEST_CASE("Llama with RoPE scaling agrees with Hugging Face") { CheckFolder<GoldenLlama>("llama"); }
TEST_CASE("Mistral with its window agrees with Hugging Face") { CheckFolder<GoldenMistral>("mistral"); }
TEST_CASE("Qwen 2 with biases agrees with Hugging Face") { CheckFolder<GoldenQwen2>("qwen2"); }
TEST_CASE("Qwen 3 with head norms agrees with Hugging Face") { CheckFolder<GoldenQwen3>("qwen3"); }
TEST_CASE("Qwen 3 with experts and a dense layer agrees with Hugging Face") {
  CheckFolder<GoldenQwen3Moe>("qwen3_moe");
  CheckTensors<GoldenQwen3MoeUnnormalized>("qwen3_moe/model.safetensors",
                                           "qwen3_moe/golden.norm_topk_false.safetensors");
}
TEST_CASE("Mixtral agrees with Hugging Face") { CheckFolder<GoldenMixtral>("mixtral"); }
TEST_CASE("OLMo 2 with norms behind its layers alone agrees with Hugging Face") { CheckAny("olmo2"); }
TEST_CASE("Olmo 3 with windows, and YaRN where there is none, agrees with Hugging Face") {
  CheckAny("olmo3", kInexactAngles);
}
TEST_CASE("OLMoE agrees with Hugging Face") { CheckAny("olmoe"); }
TEST_CASE("MiMo agrees with Hugging Face") { CheckAny("mimo"); }
TEST_CASE("Qwen 2 with experts and a shared one agrees with Hugging Face") { CheckAny("qwen2_moe"); }
TEST_CASE("the text of Qwen3-VL agrees with Hugging Face") { CheckAny("qwen3_vl"); }
TEST_CASE("Ministral 3 with queries that grow agrees with Hugging Face") { CheckAny("ministral3", kInexactAngles); }
TEST_CASE("Seed-OSS agrees with Hugging Face") { CheckAny("seed_oss"); }
TEST_CASE("EXAONE 4 with layers that have neither window nor RoPE agrees with Hugging Face") { CheckAny("exaone4"); }
TEST_CASE("Arcee's layers without gates agree with Hugging Face") { CheckAny("arcee", kInexactAngles); }
TEST_CASE("GLM-4.5 with experts and RoPE of a part of each head agrees with Hugging Face") { CheckAny("glm4_moe"); }
TEST_CASE("GLM-4 with RoPE of neighbours in a part of each head agrees with Hugging Face") { CheckAny("glm4"); }
TEST_CASE("ERNIE 4.5 agrees with Hugging Face, dense and with experts") {
  CheckAny("ernie4_5");
  CheckAny("ernie4_5_moe");
}
TEST_CASE("Cohere's layers side by side agree with Hugging Face, with windows too") {
  CheckAny("cohere");
  CheckAny("cohere2");
}
TEST_CASE("StarCoder 2 agrees with Hugging Face") { CheckAny("starcoder2"); }
TEST_CASE("StableLM agrees with Hugging Face") { CheckAny("stablelm"); }
TEST_CASE("MiniMax-M2 agrees with Hugging Face") { CheckAny("minimax_m2"); }
TEST_CASE("MiniMax-01 with lightning attention agrees with Hugging Face") {
  CheckAny("minimax");
  CheckAny("minimax_m1");
}
TEST_CASE("PLaMo 2 agrees with its authors' program, also beyond its window") {
  CheckAny("plamo2");
  CheckModel(Variant("plamo2", "window"), "plamo2/golden.window.safetensors");
}
TEST_CASE("dots.llm1 agrees with Hugging Face") { CheckAny("dots1"); }
TEST_CASE("Hunyuan with norms after RoPE agrees with Hugging Face, dense and with experts") {
  CheckAny("hunyuan_v1_dense");
  CheckAny("hunyuan_v1_moe");
}
TEST_CASE("Mistral 4 with latent attention and queries that grow agrees with Hugging Face") {
  CheckAny("mistral4", kInexactAngles);
}
TEST_CASE("Phi-2 with a bias of its head agrees with Hugging Face") { CheckAny("phi"); }
TEST_CASE("GPT-NeoX with layers side by side, each after a norm, agrees with Hugging Face") { CheckAny("gpt_neox"); }
TEST_CASE("Falcon with rows of queries, keys and values in groups agrees with Hugging Face") { CheckAny("falcon"); }
TEST_CASE("InternLM 2 agrees with Hugging Face's Llama") { CheckAny("internlm2"); }
TEST_CASE("GPT-2 with learned positions agrees with Hugging Face, and has no others") {
  CheckAny("gpt2");
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
TEST_CASE("Phi-3.5-MoE with experts weighed against their neighbours agrees with Hugging Face") { CheckAny("phimoe"); }
TEST_CASE("Apertus with its learned activation agrees with Hugging Face") { CheckAny("apertus"); }
TEST_CASE("BitNet with norms within its layers agrees with Hugging Face") { CheckAny("bitnet"); }
TEST_CASE("Llama 4 with chunks, growing queries and rows weighed before experts agrees with Hugging Face") {
  CheckAny("llama4");
}
TEST_CASE("SmallThinker with experts chosen before attention agrees with its authors' code") {
  CheckAny("smallthinker");
}
TEST_CASE("Command R+ and StableLM 2 12B with norms of each head agree with Hugging Face") {
  CheckAny("cohere_plus");
  CheckAny("stablelm_12b");
}
TEST_CASE("Ling 2.0 with experts in groups agrees with Hugging Face") { CheckAny("bailing_moe"); }
TEST_CASE("SmolLM3 with a layer without RoPE agrees with Hugging Face") { CheckAny("smollm3"); }
TEST_CASE("Phi-3 with joined projections agrees with Hugging Face") { CheckAny("phi3"); }
TEST_CASE("Phi-4-mini agrees with Hugging Face, with short and with long factors") {
  CheckModel(Variant("phi3", "partial"), "phi3/golden.partial.safetensors", {.max_tokens = 256, .kv_type = DType::kF32},
             kInexactAngles);
  CheckModel(Variant("phi3", "partial_long"), "phi3/golden.partial_long.safetensors", kExact, kInexactAngles);
}
TEST_CASE("Phi-3 with long factors agrees with Hugging Face") {
  CheckAnswers(Variant("phi3", "longrope"), "phi3/golden.longrope.safetensors", "logits_last16", kExact,
               kInexactAngles);
}
TEST_CASE("Granite 4 with its multipliers agrees with Hugging Face") { CheckAny("granitemoehybrid_dense"); }
TEST_CASE("Granite 4 with experts, without and with RoPE, agrees with Hugging Face") {
  CheckAny("granitemoehybrid");
  CheckAnswers(Variant("granitemoehybrid", "rope"), "granitemoehybrid/golden.rope.safetensors", "logits");
}
TEST_CASE("LFM2 with short convolutions agrees with Hugging Face") { CheckAny("lfm2"); }
TEST_CASE("gpt-oss with sinks, YaRN and experts agrees with Hugging Face") { CheckAny("gpt_oss"); }

TEST_CASE("the numbers of gpt-oss's experts in MXFP4 are those of Hugging Face") {
  auto weights = LoadWeights(GoldenPath("gpt_oss/model.mxfp4.safetensors"), GptOssSpec(GoldenGptOss()), "gpt-oss",
                             {.dtype = DType::kF32});
  REQUIRE_MESSAGE(weights.has_value(), weights.error().message);
  CHECK(weights->blocks[1].Of<MixtureOfExperts>().down[0].dtype == DType::kMXFP4);
  Widen(*weights);
  CheckModel(AnyModel("gpt-oss", std::move(*weights), StandardLayers::Functions()), "gpt_oss/golden.mxfp4.safetensors");
}
TEST_CASE("LFM2 with experts agrees with Hugging Face") { CheckAny("lfm2_moe"); }
// Where a head of a delta net gives little, its norm multiplies what was rounded: the references' own distance from
// float64 is 5e-5 here.
constexpr float kSmallHeads = 4.0f;

TEST_CASE("Qwen3-Next with gated delta nets agrees with Hugging Face") { CheckAny("qwen3_next", kSmallHeads); }
TEST_CASE("Qwen 3.5 agrees with Hugging Face, also where its config.json is multimodal") {
  CheckAny("qwen3_5", kSmallHeads);
  CheckAnswers(Variant("qwen3_5", "multimodal"), "qwen3_5/golden.safetensors", "logits", kExact, kSmallHeads);
}
TEST_CASE("Qwen 3.5 with experts agrees with Hugging Face, also where its config.json is multimodal") {
  CheckAny("qwen3_5_moe", kSmallHeads);
  CheckAnswers(Variant("qwen3_5_moe", "multimodal"), "qwen3_5_moe/golden.safetensors", "logits", kExact, kSmallHeads);
}
TEST_CASE("Nemotron-H agrees with Hugging Face, with small time steps too") {
  CheckAny("nemotron_h");
  CheckAnswers(Variant("nemotron_h", "small_dt", "model.small_dt"), "nemotron_h/golden.small_dt.safetensors", "logits");
}
TEST_CASE("Nemotron-H with experts agrees with Hugging Face, in a latent space too") {
  CheckAny("nemotron_h_moe");
  CheckAny("nemotron_h_latent");
}
TEST_CASE("Jamba with norms of what Mamba selects and experts agrees with Hugging Face") { CheckAny("jamba"); }
TEST_CASE("Falcon Mamba agrees with Hugging Face") { CheckAny("falcon_mamba"); }
TEST_CASE("Kimi Linear with delta attention and latent attention agrees with Hugging Face") {
  CheckAny("kimi_linear", kSmallHeads);
}
TEST_CASE("Falcon-H1 with attention and state space side by side agrees with Hugging Face") { CheckAny("falcon_h1"); }
TEST_CASE("RWKV-7 agrees with its authors' code") { CheckAny("rwkv7"); }
TEST_CASE("RWKV-6 agrees with its authors' code") { CheckAny("rwkv6"); }
TEST_CASE("DeepSeek-V3 with latent attention and YaRN agrees with Hugging Face") { CheckAny("deepseek_v3"); }
TEST_CASE("GLM-4.7-Flash with latent attention agrees with Hugging Face") { CheckAny("glm4_moe_lite"); }
TEST_CASE("Gemma agrees with Hugging Face") { CheckFolder<GoldenGemma>("gemma"); }
TEST_CASE("Gemma 2 with softcaps agrees with Hugging Face") { CheckFolder<GoldenGemma2>("gemma2"); }
TEST_CASE("Gemma 3 with two RoPE bases agrees with Hugging Face") { CheckFolder<GoldenGemma3>("gemma3"); }

TEST_CASE("Gemma 3n with alternating updates and cut gates agrees with Hugging Face") { CheckAny("gemma3n"); }
TEST_CASE("Gemma 4 with per-layer inputs and shared keys and values agrees with Hugging Face") { CheckAny("gemma4"); }
TEST_CASE("Gemma 4 with experts and keys used as values agrees with Hugging Face") { CheckAny("gemma4_moe"); }

TEST_CASE("RecurrentGemma agrees with its authors' code, beyond its window") {
  CheckFolder<GoldenRecurrentGemma>("recurrent_gemma");
}
TEST_CASE("Mamba agrees with Hugging Face") { CheckFolder<GoldenMamba>("mamba"); }
TEST_CASE("Mamba 2 agrees with Hugging Face") { CheckFolder<GoldenMamba2>("mamba2"); }

TEST_CASE("a bf16 checkpoint computed in f32 agrees with Hugging Face") {
  CheckCheckpoint<GoldenLlama>("llama/model.bf16.safetensors", "llama/golden.bf16.safetensors");
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
