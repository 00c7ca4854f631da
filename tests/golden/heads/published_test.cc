// SPDX-License-Identifier: Apache-2.0
//
// How heads that are published by themselves are known, and told from models.

#include <filesystem>
#include <string>

#include "doctest/doctest.h"
#include "skald/model/heads/published_head.h"
#include "skald/model/load_any.h"
#include "skald/open/model_info.h"
#include "tests/golden/heads/assistant_file.h"
#include "tests/support/check_error.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/test_data.h"

namespace skald::testing {
namespace published_head_test {

TEST_CASE("a head that is published by itself is known by its folder and by the file in it, and is no model") {
  const AnyModel llama = *LoadAnyModel(GoldenPath("llama")), gemma = *LoadAnyModel(GoldenPath("gemma4"));
  const auto check = [](const std::string& folder, const AnyModel& model, const std::string& what) {
    const std::filesystem::path file = GoldenPath(folder + "/model.safetensors");
    for (const std::filesystem::path& path : {GoldenPath(folder), file}) {
      CHECK(PublishedHeadAt(path) == what);
      const auto head = LoadPublishedHead(path, model);
      CHECK_MESSAGE(head, head.error().message);
    }
    CheckError(IdentifyModel(GoldenPath(folder)), ErrorCode::kInvalidArgument, "is " + what + ", which guesses tokens");
  };
  check("llama/eagle3", llama, "a head of EAGLE-3");
  check("gemma4/assistant", gemma, "a drafter of Gemma 4");
  const TemporaryFolder folder;
  WriteAssistantFile(GoldenPath("gemma4/assistant"), folder.path() / "assistant.gguf");
  CheckError(IdentifyModel(folder.path() / "assistant.gguf"), ErrorCode::kInvalidArgument, "is a drafter of Gemma 4");
  CHECK(PublishedHeadAt(GoldenPath("llama")) == nullptr);
  CheckError(LoadPublishedHead(GoldenPath("llama"), llama), ErrorCode::kNotFound, "expected a head of EAGLE-3 or");
}

}  // namespace published_head_test
}  // namespace skald::testing
