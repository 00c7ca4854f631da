// SPDX-License-Identifier: Apache-2.0

#include "skald/families/family_facts.h"

#include <filesystem>
#include <map>
#include <string>
#include <string_view>

#include "doctest/doctest.h"
#include "skald/families/readers/detail/config_json_recurrent.h"

namespace skald {
namespace family_facts_test {

// How often each model_type is told of.
std::map<std::string_view, int> Told() {
  std::map<std::string_view, int> told;
  for (const FamilyFacts& family : kFamilyFacts) {
    for (const std::string_view type : family.model_types) {
      if (!type.empty()) ++told[type];
    }
  }
  return told;
}

TEST_CASE("every family that is read is told of once") {
  std::map<std::string_view, int> told = Told();
  for (const internal::FamilyRules& family : internal::TransformerFamilies()) {
    CAPTURE(family.implied.model_type);
    CHECK(told[family.implied.model_type] == 1);
  }
  for (const internal::RecurrentFamily& family : internal::kRecurrentFamilies) CHECK(told[family.model_type] == 1);
  for (const internal::FamilyReader& family : internal::kFamilyReaders) CHECK(told[family.model_type] == 1);
}

TEST_CASE("every family that is told of has a recorded answer of its original implementation") {
  const std::filesystem::path golden = std::filesystem::path(SKALD_REPOSITORY) / "tests/golden/data";
  for (const auto& [type, times] : Told()) {
    const std::string name(type.substr(0, type.find("_text")));  // of multimodal models' text parts
    CAPTURE(type);
    CHECK(std::filesystem::exists(golden / name / "golden.safetensors"));
  }
}

TEST_CASE("GGUF files are read of most families") {
  CHECK(ReadsGguf("llama"));
  CHECK(ReadsGguf("rwkv7"));
  CHECK_FALSE(ReadsGguf("mamba"));
  CHECK_FALSE(ReadsGguf("glm"));
}

}  // namespace family_facts_test
}  // namespace skald
