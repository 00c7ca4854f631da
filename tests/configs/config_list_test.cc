// SPDX-License-Identifier: Apache-2.0

#include "skald/families/config/config_list.h"

#include <string_view>
#include <vector>

#include "doctest/doctest.h"
#include "skald/families/published.h"

namespace skald {
namespace config_list_test {

using Three = ConfigList<Gemma_2B, Llama2_7B, Qwen3_4B>;

template <class List>
std::vector<std::string_view> Names() {
  std::vector<std::string_view> names;
  for (size_t i = 0; i < List::kSize; ++i) {
    names.push_back(VisitConfig(List{}, i, []<ModelConfig C>() { return C::kName; }));
  }
  return names;
}

TEST_CASE("a visitor meets the Config at the index it is sent to") {
  CHECK(Names<Three>() == std::vector<std::string_view>{"gemma-2b", "llama2-7b", "qwen3-4b"});
}

TEST_CASE("a program's own Configs go to the end of a list") {
  using Four = Three::With<Gemma2_2B>;
  static_assert(Four::kSize == 4);
  CHECK(Names<Four>().back() == "gemma2-2b");
}

TEST_CASE("a visitor may change what it captures and return nothing") {
  int heads = 0;
  const auto visitor = [&]<ModelConfig C>() { heads = C::kHeads; };
  VisitConfig(Three{}, 2, visitor);
  CHECK(heads == 32);
}

TEST_CASE("published Configs have names of their own") {
  std::vector<std::string_view> names = Names<PublishedConfigs>();
  for (size_t i = 0; i < names.size(); ++i) {
    for (size_t j = 0; j < i; ++j) CHECK(names[i] != names[j]);
  }
}

}  // namespace config_list_test
}  // namespace skald
