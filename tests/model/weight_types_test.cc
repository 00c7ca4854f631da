// SPDX-License-Identifier: Apache-2.0
//
// A Config that leaves out types of weights computes as one with all of them, and refuses what has others.

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "doctest/doctest.h"
#include "skald/cache/create.h"
#include "skald/families/config/create.h"
#include "skald/model/model.h"
#include "skald/weights/packed_files/packed_writer.h"
#include "tests/support/check_error.h"
#include "tests/support/small_configs.h"
#include "tests/support/temporary_folder.h"

namespace skald {
namespace weight_types_test {

using testing::CheckError;
using testing::TemporaryFolder;

struct AllTypes : testing::AllFeatures {};

struct OnlyFloats : AllTypes {
  using WeightTypes = FloatWeights;
};

template <ModelConfig C>
Result<std::vector<float>> LogitsOf(const Model<C>& model) {
  const std::vector<int32_t> tokens = {1, 2, 3};
  KVCache cache = *CreateKVCache<C>();
  Workspace workspace = *CreateWorkspace();
  const auto logits = model.Forward(cache, tokens, workspace);
  if (!logits) return Failure(logits.error());
  return std::vector<float>(logits->begin(), logits->end());
}

TEST_CASE("Leaving out types of weights changes no bit") {
  for (const DType dtype : {DType::kF32, DType::kBF16}) {
    const auto expected = LogitsOf(Model<AllTypes>(RandomWeights<AllTypes>(7, dtype)));
    const auto logits = LogitsOf(Model<OnlyFloats>(RandomWeights<OnlyFloats>(7, dtype)));
    REQUIRE(expected);
    REQUIRE(logits);
    CHECK(*logits == *expected);
  }
}

TEST_CASE("Weights of a type that was left out are refused when they are loaded and when they are computed with") {
  const TemporaryFolder folder;
  ModelWeights quantised = RandomWeights<AllTypes>(7, DType::kQ8_0);
  const auto write = [&](const char* name, DType of_floats) {
    const PackedOrigin origin = {AllTypes::kName, Fingerprint(SpecOf<AllTypes>()), of_floats, "source", {}};
    REQUIRE(WritePackedFile(folder.path() / name, ParametersOf(quantised), origin));
  };
  write("q8_0.packed", DType::kQ8_0);
  write("mixed.packed", DType::kBF16);  // as of a file that held these quantised, and others as floats

  CheckError(LoadWeights<OnlyFloats>(folder.path() / "q8_0.packed", {.dtype = DType::kQ8_0}), ErrorCode::kUnsupported,
             "LoadOptions::dtype is Q8_0, which is not among the WeightTypes of the Config");
  CheckError(LoadWeights<OnlyFloats>(folder.path() / "mixed.packed"), ErrorCode::kUnsupported,
             "mixed.packed: has weights of the type Q8_0, which is not among the WeightTypes of the Config");
  CheckError(LogitsOf(Model<OnlyFloats>(std::move(quantised))), ErrorCode::kFailedPrecondition,
             "the model has weights of the type Q8_0, which is not among the WeightTypes of its Config");
}

}  // namespace weight_types_test
}  // namespace skald
