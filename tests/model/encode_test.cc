// SPDX-License-Identifier: Apache-2.0
//
// One answer of models that see both ways: recorded texts give the bits that are saved, on every SIMD target with fused
// multiply-add, alone and together.

#include <cstdint>
#include <string>
#include <vector>

#include "doctest/doctest.h"
#include "skald/model/load_any.h"
#include "skald/model/workspace.h"
#include "tests/support/saved_hashes.h"
#include "tests/support/test_data.h"

namespace skald::testing {
namespace encode_test {

// The rows of texts of several lengths, one after the other.
std::vector<float> Rows(const AnyModel& model, const std::vector<std::vector<int32_t>>& texts, uint32_t threads) {
  std::vector<std::vector<Want>> wants;
  for (const auto& text : texts) wants.emplace_back(text.size(), Want::kHidden);
  std::vector<WholeText> whole;
  for (size_t i = 0; i < texts.size(); ++i) {
    whole.push_back({texts[i], wants[i]});
  }
  Workspace workspace = *CreateWorkspace({.threads = threads});
  const auto outputs = model.Encode(whole, workspace);
  REQUIRE_MESSAGE(outputs, outputs.error().message);
  std::vector<float> rows;
  for (size_t i = 0; i < outputs->size(); ++i) rows.insert(rows.end(), (*outputs)[i].begin(), (*outputs)[i].end());
  return rows;
}

std::vector<std::vector<int32_t>> Texts() {
  std::vector<std::vector<int32_t>> texts;
  for (const size_t length : {1u, 37u, 140u}) {
    texts.emplace_back();
    for (size_t i = 0; i < length; ++i) texts.back().push_back(static_cast<int32_t>((i * 11 + length) % 96));
  }
  return texts;
}

void CheckSaved(const std::string& family, DType type, const AnyModel& model) {
  const std::vector<float> together = Rows(model, Texts(), 2);
  CHECK(SavedDifference({"encoder", family, NameOf(type)}, together) == "");
  std::vector<float> alone;
  for (const auto& text : Texts()) {
    const std::vector<float> rows = Rows(model, {text}, 1);
    alone.insert(alone.end(), rows.begin(), rows.end());
  }
  CHECK((alone == together));
}

TEST_CASE("encoders give the saved bits on every target, alone and together") {
  for (const char* const family : {"bert", "mpnet", "modernbert", "jina_bert_code", "t5", "nomic_moe", "new_ntk"}) {
    for (const DType type : {DType::kF32, DType::kBF16, DType::kQ8_0}) {
      CAPTURE(family);
      CAPTURE(NameOf(type));
      const auto model = LoadAnyModel(GoldenPath(std::string("encoders/") + family), {.dtype = type});
      REQUIRE_MESSAGE(model, model.error().message);
      CheckSaved(family, type, *model);
    }
  }
}

}  // namespace encode_test
}  // namespace skald::testing
