// SPDX-License-Identifier: Apache-2.0
//
// A ModelSpec that is written as JSON and read again is the same spec, whatever its layers and norms are.

#include "skald/families/spec_json.h"

#include <string>

#include "doctest/doctest.h"
#include "tests/support/config_list.h"
#include "tests/support/golden_configs.h"
#include "tests/support/small_configs.h"

namespace skald::testing {
namespace spec_json_test {

template <ModelConfig C>
void CheckRoundTrip() {
  CAPTURE(C::kName);
  const auto read = SpecFromJson(*SpecToJson(SpecOf<C>()));
  REQUIRE(read);
  CHECK(*read == SpecOf<C>());
  CHECK(Fingerprint(*read) == Fingerprint(SpecOf<C>()));
}

struct PlainLayerNorm : AllBiases {
  static constexpr LayerNorm kNorm = {.epsilon = 1e-6f, .weight = false, .bias = false};
  static constexpr FeedForward kFeedForward = {.width = 7, .activation = Activation::kGeluErf};
};

TEST_CASE("a spec is read as it was written") {
  CheckRoundTrip<AllFeatures>();
  CheckRoundTrip<Hybrid>();
  CheckRoundTrip<SmallMamba2>();
  CheckRoundTrip<AllBiases>();
  CheckRoundTrip<PlainLayerNorm>();
  CheckRoundTrip<Gemma3_27B>();
  CheckRoundTrip<Olmo2_1B>();
  CheckRoundTrip<SmolLM3_3B>();
  CheckRoundTrip<Phi4_Mini>();
  CheckRoundTrip<NewerAttention>();
  CheckRoundTrip<HybridMixture>();
}

TEST_CASE("a description from before there were multipliers is read") {
  std::string text = *SpecToJson(SpecOf<AllBiases>());
  for (const std::string name : {"embedding_multiplier", "residual_multiplier", "logits_scaling"}) {
    const std::string told = ",\"" + name + "\":1.0";
    while (text.find(told) != text.npos) text.erase(text.find(told), told.size());
    CHECK(text.find(name) == text.npos);
  }
  const auto read = SpecFromJson(text);
  REQUIRE_MESSAGE(read.has_value(), read.error().message);
  CHECK(*read == SpecOf<AllBiases>());
}

TEST_CASE("a norm, an activation or a type of layers that is not known is refused by name") {
  const std::string text = *SpecToJson(SpecOf<AllBiases>());
  const auto error = [&](const std::string& from, const std::string& to) {
    std::string changed = text;
    changed.replace(changed.find(from), from.size(), to);
    const auto read = SpecFromJson(changed);
    return read ? "accepted" : read.error().message;
  };
  CHECK(error("LayerNorm", "LayerNurm") == "the description of a model lacks 'head_norm', or it is wrong");
  CHECK(error("relu2", "unknown") == "the description of a model lacks 'activation', or it is wrong");
  CHECK(error("\"feed-forward\"", "\"feed-backward\"") == "the description of a model lacks 'type', or it is wrong");
}

}  // namespace spec_json_test
}  // namespace skald::testing
