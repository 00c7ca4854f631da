// SPDX-License-Identifier: Apache-2.0
//
// Configs as C++ text. tests/compile/config_texts.cc compiles such texts.

#include "skald/families/config/config_text.h"

#include <cstddef>
#include <string>
#include <string_view>

#include "doctest/doctest.h"
#include "skald/families/config/shorten.h"
#include "tests/support/check_error.h"
#include "tests/support/config_list.h"

namespace skald::testing {
namespace config_text_test {

// A layer of a user's own.
struct OwnLayer {
  static constexpr std::string_view kName = "own";
  int width = 0;
  Activation activation = Activation::kSilu;

  friend constexpr bool operator==(const OwnLayer&, const OwnLayer&) = default;
  static constexpr void VisitFields(auto& self, auto&& visit) {
    visit("width", self.width);
    visit("activation", self.activation);
  }
  constexpr const char* WhyImpossible() const { return nullptr; }
  struct Weights {};
  void ListParameters(Weights&, size_t, ParameterList&) const {}
  struct NoPieces {};
  NoPieces ScratchFloats(size_t, size_t) const { return {}; }
  void Run(const Weights&, const LayerRun&) const {}
};

ModelSpec OwnModel() {
  ModelSpec spec = {.model_dim = 8, .vocab_size = 9};
  spec.blocks.push_back({.layers = {OwnLayer{.width = 3, .activation = Activation::kGeluErf}}});
  return spec;
}

bool Contains(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

template <ModelConfig C>
void CheckShortForm() {
  if constexpr (!requires { C::Spec(); }) {  // of those that give one
    CAPTURE(C::kName);
    const ModelSpec spec = SpecOf<C>();
    const auto form = Shorten(spec);
    REQUIRE(form);
    CHECK(Fingerprint(Expand(*form)) == Fingerprint(spec));
    CHECK(Contains(*ConfigText({"", spec}, C::kName), "kLayers = skald::RepeatLayers<"));
  }
}

TEST_CASE("every published model has a short form") {
  testing::ForEachConfig(testing::PublishedConfigs(), []<ModelConfig C>() { CheckShortForm<C>(); });
}

TEST_CASE("a model whose blocks differ in more than their kinds has none") {
  const ModelSpec published = SpecOf<Gemma2_2B>();
  ModelSpec spec = published;
  spec.blocks[3].norm_name = "other";
  CHECK_FALSE(Shorten(spec));
  spec = published;
  spec.blocks.pop_back();
  CHECK_FALSE(Shorten(spec));
  spec = published;
  spec.blocks[0].layers.push_back(spec.blocks[0].layers[0]);
  CHECK_FALSE(Shorten(spec));
  CHECK(Contains(*ConfigText({"", spec}, "x"), "static constexpr skald::ModelSpec Spec() {"));
}

TEST_CASE("names become names that C++ allows") {
  const auto text = [](std::string_view name) { return *ConfigText({"llama", SpecOf<Stories15M>()}, name); };
  CHECK(Contains(text("gemma-2-2b-it"), "struct Gemma_2_2b_it {\n"));
  CHECK(Contains(text("3B"), "struct Model_3B {\n"));
  CHECK(Contains(text(""), "struct Model_ {\n"));
  const std::string hostile = text("a\";\n\\\xff\x1b[2J} int x;");
  CHECK(Contains(hostile, "struct A_2J_int_x_ {\n"));
  CHECK(Contains(hostile, "kName = \"a_;____[2J} int x;\";\n"));
  CHECK(Contains(hostile, "kModelType = \"llama\";\n"));
  CHECK_FALSE(Contains(*ConfigText({"", SpecOf<Stories15M>()}, "x"), "kModelType"));
}

TEST_CASE("a layer of a user's own is told by its type and members, if the list has its type") {
  const auto text = ConfigText<LayerTypes<Attention, OwnLayer>>({"", OwnModel()}, "x");
  REQUIRE(text);
  CHECK(Contains(*text, "OwnLayer{.width = 3,"));
  CHECK(Contains(*text, ".activation = skald::Activation::kGeluErf}"));
  CheckError(ConfigText({"", OwnModel()}, "x"), ErrorCode::kUnsupported, "cannot name the type of 'own'");
}

}  // namespace config_text_test
}  // namespace skald::testing
