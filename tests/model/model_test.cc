// SPDX-License-Identifier: Apache-2.0
//
// Model<Config>, which knows its types of layers when it is compiled, against AnyModel, on which all laws are tested.

#include "skald/model/model.h"

#include <cstdint>
#include <vector>

#include "doctest/doctest.h"
#include "skald/families/config/create.h"
#include "tests/support/small_configs.h"
#include "tests/support/small_models.h"

namespace skald::testing {
namespace model_test {

TEST_CASE_TEMPLATE("a Model of a Config computes the bits that an AnyModel of its spec does", C, SKALD_SMALL_MODELS) {
  const RandomModel any(SmallModelNamed(C::kName), 7);
  const std::vector<int32_t> tokens = RandomTokens(any.small(), 3, 200);
  const std::vector<float> expected = AllLogits(any, tokens);

  const Model<C> model(RandomWeights<C>(7));
  KVCache cache = *CreateKVCache<C>();
  Workspace workspace = *CreateWorkspace({.threads = 1});
  const auto outputs =
      model.Forward(Batch().Add(cache, tokens, std::vector<Want>(tokens.size(), Want::kLogits)), workspace);
  REQUIRE(outputs);
  std::vector<float> logits;
  for (size_t i = 0; i < outputs->size(); ++i) logits.insert(logits.end(), (*outputs)[i].begin(), (*outputs)[i].end());
  CHECK(logits == expected);
}

}  // namespace model_test
}  // namespace skald::testing
