// SPDX-License-Identifier: Apache-2.0

#include "skald/families/registry.h"

#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>

#include "doctest/doctest.h"
#include "skald/families/detail/family_rows.h"
#include "skald/families/readers/detail/family_row.h"
#include "skald/weights/files/tensor_names.h"

namespace skald {
namespace registry_test {

// How often each model_type is told of.
std::map<std::string_view, int> Told() {
  std::map<std::string_view, int> told;
  for (const FamilyFacts& family : Families()) {
    for (const std::string_view type : family.model_types) ++told[type];
  }
  return told;
}

TEST_CASE("no two families have a model_type or an architecture in common") {
  std::map<std::string_view, int> architectures;
  for (const internal::FamilyRow& family : internal::kFamilies) {
    for (const internal::GgufArchitecture& one : family.architectures) ++architectures[one.name];
    CHECK_FALSE(family.name.empty());
    CHECK_FALSE(family.model_types.empty());
  }
  for (const auto& [type, times] : Told()) CHECK_MESSAGE(times == 1, type);
  for (const auto& [name, times] : architectures) CHECK_MESSAGE(times == 1, name);
  for (const internal::FamilyRow& family : internal::kFamilies) {
    for (const std::string_view name : family.shared_architectures) CHECK_MESSAGE(architectures.contains(name), name);
  }
}

TEST_CASE("every folder of a family has a row") {
  const std::filesystem::path folder = std::filesystem::path(SKALD_REPOSITORY) / "include/skald/families";
  size_t homes = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    homes += std::filesystem::exists(entry.path() / "detail/family.h") ? 1 : 0;
  }
  CHECK(homes == internal::kFamilies.size());
}

TEST_CASE("the names of every family's tensors begin with those of the common convention") {
  const std::span<const TensorNames> known = internal::KnownTensorNames();
  CHECK(known.front().NameOf("self_attn.q_proj.weight", 3) == "model.layers.3.self_attn.q_proj.weight");
  for (const TensorNames& names : known) CHECK_FALSE(names.renamings.empty());
}

TEST_CASE("every family that is told of has a recorded answer of its original implementation") {
  const std::filesystem::path golden = std::filesystem::path(SKALD_REPOSITORY) / "tests/golden/data";
  for (const auto& [type, times] : Told()) {
    const std::string name(type.substr(0, type.find("_text")));  // of multimodal models' text parts
    CAPTURE(type);
    const std::filesystem::path answer = std::filesystem::path(name) / "golden.safetensors";
    CHECK((std::filesystem::exists(golden / answer) || std::filesystem::exists(golden / "encoders" / answer)));
  }
}

TEST_CASE("GGUF files are read of most families") {
  CHECK(ReadsGguf("llama"));
  CHECK(ReadsGguf("rwkv7"));
  CHECK_FALSE(ReadsGguf("recurrent_gemma"));
  CHECK_FALSE(ReadsGguf("glm"));
}

}  // namespace registry_test
}  // namespace skald
