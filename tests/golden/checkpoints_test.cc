// SPDX-License-Identifier: Apache-2.0
//
// Published implementations' logits for small checkpoints of every family, against ours in f32 mode. A wrong formula
// is off by 4e-3 or more.

#include <string>
#include <vector>

#include "doctest/doctest.h"
#include "skald/model/model.h"
#include "tests/support/compare_logits.h"
#include "tests/support/golden_configs.h"
#include "tests/support/reference_tensors.h"
#include "tests/support/test_data.h"

namespace skald::testing {
namespace {

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

// The recorded state of layer `layer`, in our order.
RecordedState ReadState(const ReferenceTensors& reference, const RecurrenceSpec& spec, size_t layer, size_t row) {
  const std::string prefix = "state.layers." + std::to_string(layer) + ".";
  const size_t channels = spec.conv_channels(), taps = spec.conv_width;
  if (spec.kind == LayerKind::kRgLru) {
    return {reference.Floats(prefix + "rg_lru", row),
            Transposed(reference.Floats(prefix + "conv1d", row), channels, taps - 1)};
  }
  RecordedState recorded;
  recorded.conv = Transposed(reference.Floats(prefix + "conv", row), channels, taps);
  recorded.conv.erase(recorded.conv.begin(), recorded.conv.begin() + static_cast<ptrdiff_t>(channels));
  const std::vector<float> state = reference.Floats(prefix + "ssm", row);
  const size_t heads = spec.kind == LayerKind::kMamba2 ? spec.heads : 1, part = state.size() / heads;
  for (size_t head = 0; head < heads; ++head) {
    const auto begin = state.begin() + static_cast<ptrdiff_t>(head * part);
    const std::vector<float> turned =
        Transposed({begin, begin + static_cast<ptrdiff_t>(part)}, spec.width / heads, spec.state_dim);
    recorded.state.insert(recorded.state.end(), turned.begin(), turned.end());
  }
  return recorded;
}

// Checks what every recurrent layer remembers of a prompt.
template <class C>
void CheckStates(const Model<C>& model, const ReferenceTensors& reference, size_t row) {
  constexpr CacheLayout layout = LayoutOf<C>();
  Workspace workspace = *CreateWorkspace(kExact);
  KVCache cache = *CreateKVCache<C>(kExact);
  REQUIRE(model.Forward(cache, reference.Tokens("input_ids", row), workspace));
  for (size_t layer = 0; layer < C::kLayers.size(); ++layer) {
    if (!IsRecurrent(C::kLayers[layer])) continue;
    CAPTURE(layer);
    const LayerSlot slot = layout.layers()[layer];
    const BlockGeometry& geometry = cache.pool()->geometry(slot.group);
    const std::byte* const block = cache.pool()->Resolve(slot.group, cache.table().groups[slot.group].blocks)[0];
    const auto floats = [&](size_t offset, size_t bytes) {
      const float* const first = reinterpret_cast<const float*>(block + offset);
      return std::vector<float>(first, first + bytes / sizeof(float));
    };
    const RecordedState recorded = ReadState(reference, RecurrenceOf<C>(C::kLayers[layer]), layer, row);
    const std::vector<float> state = floats(geometry.StateOffset(slot.index), geometry.state_bytes);
    CHECK(LargestDifference(state, recorded.state) <= Tolerance<C>(recorded.state));
    const std::vector<float> conv = floats(geometry.ConvOffset(slot.index), geometry.conv_bytes);
    CHECK(LargestDifference(conv, recorded.conv) <= Tolerance<C>(recorded.conv));
  }
}

template <class C>
void CheckCheckpoint(const std::string& weights, const std::string& recorded) {
  const auto weights_path = TestDataPath(weights), recorded_path = TestDataPath(recorded);
  if (!weights_path || !recorded_path) return;
  CAPTURE(weights);
  const auto model = LoadModel<C>(*weights_path, {.dtype = DType::kF32});
  REQUIRE(model);
  const ReferenceTensors reference(*recorded_path);
  for (size_t row = 0; row < 2; ++row) {
    const std::vector<int32_t> prompt = reference.Tokens("input_ids", row);
    CheckRows(*model, prompt, Want::kHidden, reference.Floats("hidden_last", row));
    CheckRows(*model, prompt, Want::kLogits, reference.Floats("logits", row));
    if constexpr (HasRecurrence<C>()) CheckStates(*model, reference, row);
    const std::vector<int32_t> greedy = reference.Tokens("greedy", row);
    CHECK(Greedy(*model, prompt, greedy.size()) == greedy);
  }
}

template <class C>
void CheckFolder(const std::string& folder) {
  CheckCheckpoint<C>("golden/a/" + folder + "/model.safetensors", "golden/a/" + folder + "/golden.safetensors");
}

TEST_CASE("Llama with RoPE scaling agrees with Hugging Face") { CheckFolder<GoldenLlama>("llama"); }
TEST_CASE("Mistral with its window agrees with Hugging Face") { CheckFolder<GoldenMistral>("mistral"); }
TEST_CASE("Qwen 2 with biases agrees with Hugging Face") { CheckFolder<GoldenQwen2>("qwen2"); }
TEST_CASE("Qwen 3 with head norms agrees with Hugging Face") { CheckFolder<GoldenQwen3>("qwen3"); }
TEST_CASE("Gemma agrees with Hugging Face") { CheckFolder<GoldenGemma>("gemma"); }
TEST_CASE("Gemma 2 with softcaps agrees with Hugging Face") { CheckFolder<GoldenGemma2>("gemma2"); }
TEST_CASE("Gemma 3 with two RoPE bases agrees with Hugging Face") { CheckFolder<GoldenGemma3>("gemma3"); }

TEST_CASE("RecurrentGemma agrees with its authors' code, beyond its window") {
  CheckFolder<GoldenRecurrentGemma>("recurrent_gemma");
}
TEST_CASE("Mamba agrees with Hugging Face") { CheckFolder<GoldenMamba>("mamba"); }
TEST_CASE("Mamba 2 agrees with Hugging Face") { CheckFolder<GoldenMamba2>("mamba2"); }

TEST_CASE("a bf16 checkpoint computed in f32 agrees with Hugging Face") {
  CheckCheckpoint<GoldenLlama>("golden/a/llama/model.bf16.safetensors", "golden/a/llama/golden.bf16.safetensors");
}

TEST_CASE("stories260K tells its published story") {
  const auto folder = TestDataPath("models/stories260K");
  if (!folder) return;
  const auto model = LoadModel<Stories260K>(*folder, {.dtype = DType::kF32});
  REQUIRE(model);
  const ReferenceTensors reference(*folder / "golden.safetensors");
  const std::vector<int32_t> story = reference.AllTokens("tokens");
  CheckRows(*model, {story.begin(), story.end() - 1}, Want::kLogits, reference.AllFloats("logits"));
  CHECK(Greedy(*model, {story[0]}, story.size() - 1) == std::vector<int32_t>(story.begin() + 1, story.end()));
}

}  // namespace
}  // namespace skald::testing
