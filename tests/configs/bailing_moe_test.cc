// SPDX-License-Identifier: Apache-2.0
//
// config.json of the first Ling and of Ling 2.0, which have one name.

#include "skald/families/bailing_moe/bailing_moe.h"

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "doctest/doctest.h"
#include "skald/families/config/config_text.h"
#include "skald/families/config_json.h"
#include "skald/families/readers/detail/gguf_facts.h"
#include "skald/families/spec_json.h"
#include "skald/layers/kinds/attention.h"
#include "skald/layers/kinds/mixture_of_experts.h"
#include "skald/layers/model_spec.h"
#include "tests/configs/config_json_checks.h"
#include "tests/support/test_data.h"

namespace skald::testing {
namespace bailing_moe_test {

using nlohmann::json;
using testing::config_json::With;

json Published(const std::string& name) {
  std::ifstream file(RepositoryPath("tests/configs/published/described/" + name + ".json"));
  return json::parse(file);
}

ModelSpec SpecOf(const json& config) {
  const auto model = ParseConfigJson(config.dump());
  REQUIRE_MESSAGE(model.has_value(), model.error().message);
  return model->spec;
}

MixtureOfExperts ExpertsOf(const json& config) { return *internal::FindLayer<MixtureOfExperts>(SpecOf(config)); }

TEST_CASE("the first models weigh experts by a softmax, those of 2.0 by sigmoids") {
  const MixtureOfExperts first = ExpertsOf(Published("ling-lite"));
  CHECK(first == MixtureOfExperts{.experts = 64, .chosen = 6, .width = 1408, .shared_width = 2816});
  CHECK(ExpertsOf(Published("ling-mini-2.0")).sigmoid);
  CHECK_FALSE(ExpertsOf(With(Published("ling-lite"), {{"norm_topk_prob", false}})).normalized);
  CHECK_FALSE(ExpertsOf(With(Published("ling-lite"), {{"num_experts_per_tok", 1}})).normalized);
}

TEST_CASE("a file of 2.0 that lacks the function of scores is not taken for one of the first models") {
  const auto model = ParseConfigJson(With(Published("ling-mini-2.0"), {{"score_function", nullptr}}).dump());
  REQUIRE_FALSE(model);
  CHECK(model.error().message == "config.json: score_function is missing or null");
}

TEST_CASE("what the first models say of attention counts") {
  const json lite = Published("ling-lite");
  const Attention attention = *internal::FindLayer<Attention>(SpecOf(lite));
  CHECK(attention.head_dim == 128);  // given as 0
  CHECK(attention.rotary_dim == 128);
  CHECK_FALSE(attention.head_norm);
  CHECK_FALSE(attention.output_bias);
  json silent = lite;
  silent.erase("use_bias");
  CHECK(internal::FindLayer<Attention>(SpecOf(silent))->output_bias);
  CHECK(internal::FindLayer<Attention>(SpecOf(With(lite, {{"use_qkv_bias", true}})))->qkv_bias);
}

TEST_CASE("whether columns of the head are normed is a fact of a model") {
  const ModelSpec spec = SpecOf(Published("ling-lite")), other = SpecOf(Published("ling-lite-1.5"));
  CHECK(spec.normed_head);
  CHECK_FALSE(other.normed_head);
  CHECK(Fingerprint(spec) != Fingerprint(other));
  CHECK(*SpecFromJson(*SpecToJson(spec)) == spec);
  const auto text = ConfigText({BailingMoeFamily::kModelType, spec}, "lite");
  REQUIRE(text);
  CHECK(text->find("kNormedHead = true;") != std::string::npos);
  const auto tied = ParseConfigJson(With(Published("ling-lite"), {{"tie_word_embeddings", true}}).dump());
  REQUIRE_FALSE(tied);
  CHECK(tied.error().message == "config.json: tie_word_embeddings is true; Skald supports only false");
  const auto later = ParseConfigJson(With(Published("ling-mini-2.0"), {{"norm_head", true}}).dump());
  REQUIRE_FALSE(later);
  CHECK(later.error().message.find("norm_head") != std::string::npos);
}

}  // namespace bailing_moe_test
}  // namespace skald::testing
