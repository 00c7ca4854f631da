// SPDX-License-Identifier: Apache-2.0
//
// Shared by the tests of readers of config.json.

#ifndef SKALD_TESTS_CONFIGS_CONFIG_JSON_CHECKS_H_
#define SKALD_TESTS_CONFIGS_CONFIG_JSON_CHECKS_H_

#include <nlohmann/json.hpp>
#include <string>
#include <variant>
#include <vector>

#include "doctest/doctest.h"
#include "skald/families/config_json.h"
#include "tests/configs/config_json_writer.h"
#include "tests/support/config_list.h"

namespace skald::testing::config_json {

template <ModelConfig C>
nlohmann::json JsonOf() {
  return ToJson(ShortFormOf<C>());
}

// Returns `config` with the fields of `changes` set or, where null, removed.
inline nlohmann::json With(nlohmann::json config, const nlohmann::json& changes) {
  config.merge_patch(changes);
  return config;
}

inline ShortForm ParsedText(const std::string& text) {
  const Result<internal::TextModel> result = internal::ReadConfigJson(text);
  REQUIRE_MESSAGE(result.has_value(), result.error().message);
  return std::get<ShortForm>(*result);
}
inline ShortForm Parsed(const nlohmann::json& config) { return ParsedText(config.dump()); }

inline void CheckSame(const nlohmann::json& config, const ShortForm& expected) {
  for (const std::string& difference : Differences(Parsed(config), expected)) FAIL_CHECK(difference);
}

template <ModelConfig C>
void CheckIs(const nlohmann::json& config) {
  CheckSame(config, ShortFormOf<C>());
}

inline Error ErrorOf(const std::string& text) {
  const Result<internal::TextModel> result = internal::ReadConfigJson(text);
  REQUIRE_FALSE(result.has_value());
  return result.error();
}

inline void CheckRefused(const nlohmann::json& config, ErrorCode code, const std::string& part) {
  const Error error = ErrorOf(config.dump());
  CHECK(error.code == code);
  CHECK_MESSAGE(error.message.find("config.json: " + part) == 0, error.message);
}

// Text that must be refused: the code, and a part of the sentence.
struct Refused {
  std::string text;
  ErrorCode code;
  const char* part;
};

inline void CheckRefused(const std::vector<Refused>& cases) {
  for (const Refused& c : cases) {
    CAPTURE(c.text);
    const Error error = ErrorOf(c.text);
    CHECK(error.code == c.code);
    CHECK_MESSAGE(error.message.find(c.part) != std::string::npos, error.message);
    CHECK_MESSAGE(error.message.starts_with("config.json"), error.message);
    CHECK(error.message.size() < 1000);  // what Skald supports is a long list, what a file holds is cut
  }
}

// config.json of Llama 3.2 1B with another value of this field.
inline std::string Changed(const char* name, const nlohmann::json& value) {
  nlohmann::json config = JsonOf<Llama3_2_1B>();
  config[name] = value;
  return config.dump();
}

}  // namespace skald::testing::config_json

#endif  // SKALD_TESTS_CONFIGS_CONFIG_JSON_CHECKS_H_
