// SPDX-License-Identifier: Apache-2.0
//
// Control vectors: their files, and what Forward does with them.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "doctest/doctest.h"
#include "skald/model/any_model.h"
#include "skald/model/control_vector.h"
#include "tests/support/check_error.h"
#include "tests/support/gguf_writer.h"
#include "tests/support/small_models.h"
#include "tests/support/temporary_folder.h"

namespace skald::testing {
namespace control_vector_test {

const GgufValues kControlVector = GgufValues().String("general.architecture", "controlvector");

void Write(const std::filesystem::path& path, const GgufValues& values,
           const std::vector<std::pair<std::string, std::vector<float>>>& directions) {
  constexpr uint32_t kF32 = 0;
  std::vector<NewGgufTensor> tensors;
  for (const auto& [name, numbers] : directions) tensors.push_back({name, kF32, {numbers.size()}, BytesOf(numbers)});
  WriteFile(path, GgufImage(values, tensors));
}

std::vector<float> DirectionOf(const ModelSpec& spec, float first) {
  std::vector<float> direction(static_cast<size_t>(spec.model_dim), 0.125f);
  direction[0] = first;
  return direction;
}

TEST_CASE("a control vector is added to the stream after its layers, as often as its scale says") {
  const SmallModel& small = SmallModelNamed("all-features");
  const RandomModel model(small, 3);
  const size_t layers = NumLayers(small.spec);
  REQUIRE(layers > 2);
  const TemporaryFolder folder;
  const auto path = folder.path() / "vector.gguf";
  const std::vector<float> first = DirectionOf(small.spec, 1.0f), last = DirectionOf(small.spec, -3.0f);
  const std::string name_of_last = "direction." + std::to_string(layers - 1);
  Write(path, kControlVector, {{"direction.1", first}, {name_of_last, last}});
  const auto vector = LoadControlVector(path, small.spec);
  REQUIRE_MESSAGE(vector, vector.error().message);
  REQUIRE(vector->directions.size() == layers);
  CHECK(vector->directions[0].empty());
  CHECK(vector->directions[1] == first);
  CHECK(vector->directions[layers - 1] == last);

  ControlVector sum;
  sum.Add(*vector, 2.0f);
  sum.Add(*vector, -0.5f);
  CHECK(sum.directions[1][0] == 1.5f);
  ControlVector kept = sum;
  kept.KeepLayers(layers - 1, layers - 1);
  CHECK(HooksOf(sum, small.spec)->size() == 2);
  CHECK(HooksOf(kept, small.spec)->size() == 1);
  ControlVector wide = sum, long_one = sum;
  wide.directions[1].push_back(0.0f);
  CheckError(HooksOf(wide, small.spec), ErrorCode::kInvalidArgument, " floats for layer 1; the model has ");
  long_one.directions.push_back(first);
  CheckError(HooksOf(long_one, small.spec), ErrorCode::kInvalidArgument, "for layer " + std::to_string(layers));

  // The stream after a layer is what a hook of its own sees there.
  const std::vector<int32_t> tokens = RandomTokens(small, 1, 12);
  std::vector<float> plain, steered;
  const auto see = [&](std::vector<float>& rows) {
    return Hook{StreamBefore(small.spec.blocks.size()),
                [&rows](const HookRows& stream) { rows.assign(stream.values().begin(), stream.values().end()); }};
  };
  const std::vector<float> unsteered = AllLogits(model, tokens, {}, {.hooks = {see(plain)}});
  std::vector<Hook> hooks = *HooksOf(kept, small.spec);
  hooks.push_back(see(steered));
  CHECK(AllLogits(model, tokens, {}, {.hooks = hooks}) != unsteered);
  const size_t dim = first.size();
  for (size_t i = 0; i < plain.size(); ++i) CHECK(steered[i] == plain[i] + kept.directions[layers - 1][i % dim]);
  CHECK(AllLogits(model, tokens, {}, {.hooks = *HooksOf(sum, small.spec)}) !=
        AllLogits(model, tokens, {}, {.hooks = *HooksOf(kept, small.spec)}));
}

TEST_CASE("files that are no control vector of the model are refused by name") {
  const ModelSpec& spec = SmallModelNamed("all-features").spec;
  const TemporaryFolder folder;
  const auto path = folder.path() / "vector.gguf";
  const std::vector<float> direction = DirectionOf(spec, 1.0f);
  const auto load = [&](const GgufValues& values, const std::string& name, const std::vector<float>& numbers) {
    Write(path, values, {{name, numbers}});
    return LoadControlVector(path, spec);
  };
  CHECK(load(kControlVector, "direction.1", direction));
  CheckError(load(GgufValues().String("general.architecture", "llama"), "direction.1", direction),
             ErrorCode::kUnsupported, "not a control vector");
  CheckError(load(kControlVector, "output.weight", direction), ErrorCode::kUnsupported, "'output.weight': expected");
  CheckError(load(kControlVector, "direction.", direction), ErrorCode::kUnsupported, "'direction.'");
  CheckError(load(kControlVector, "direction.1x", direction), ErrorCode::kUnsupported, "'direction.1x'");
  CheckError(load(kControlVector, "direction.0", direction), ErrorCode::kInvalidArgument, "layers 1 to ");
  CheckError(load(kControlVector, "direction.99", direction), ErrorCode::kInvalidArgument, "'direction.99'");
  CheckError(load(kControlVector, "direction.1", {1.0f, 2.0f}), ErrorCode::kInvalidArgument, "found [2]");
  std::vector<float> none = direction;
  none[1] = std::numeric_limits<float>::quiet_NaN();
  CheckError(load(kControlVector, "direction.1", none), ErrorCode::kDataLoss, "not finite");
  CheckError(LoadControlVector(folder.path() / "none", spec), ErrorCode::kNotFound, "none");
}

}  // namespace control_vector_test
}  // namespace skald::testing
