// SPDX-License-Identifier: Apache-2.0

#include "skald/open/generation_config.h"

#include "doctest/doctest.h"

namespace skald::testing {
namespace generation_config_test {

TEST_CASE("what the publisher advises is read, and what is not there stays unset") {
  const auto config = ParseGenerationConfig(
      R"({"bos_token_id": 1, "eos_token_id": [2, 7], "do_sample": true, "temperature": 0.6, "top_k": 20, "top_p": 1})");
  REQUIRE(config);
  CHECK(config->eos_ids == std::vector<int32_t>{2, 7});
  CHECK(config->do_sample == true);
  CHECK(config->temperature == 0.6f);
  CHECK(config->top_k == 20);
  CHECK(config->top_p == 1.0f);
  CHECK_FALSE(config->min_p.has_value());
  CHECK(ParseGenerationConfig(R"({"eos_token_id": 9, "top_k": null})")->eos_ids == std::vector<int32_t>{9});
  CHECK(ParseGenerationConfig("{}")->eos_ids.empty());
}

TEST_CASE("an error names the file and the member") {
  const auto message = [](const char* text) {
    const auto config = ParseGenerationConfig(text);
    return config ? "" : config.error().message;
  };
  CHECK(message("") == "generation_config.json is not valid JSON from byte 1 on");
  CHECK(message("{") == "generation_config.json is not valid JSON from byte 2 on");
  CHECK(message("[]") == "generation_config.json is no JSON object");
  CHECK(message("3") == "generation_config.json is no JSON object");
  for (const char* wrong : {R"({"eos_token_id": "9"})", R"({"eos_token_id": -1})", R"({"eos_token_id": 1.5})",
                            R"({"eos_token_id": [1, 5000000000]})"}) {
    CAPTURE(wrong);
    CHECK(message(wrong) == "generation_config.json: eos_token_id is not an id of a token, or a list of them");
  }
  CHECK(message(R"({"temperature": "hot"})") == "generation_config.json: temperature is not a number");
  CHECK(message(R"({"do_sample": 1})") == "generation_config.json: do_sample is not true or false");
}

}  // namespace generation_config_test
}  // namespace skald::testing
