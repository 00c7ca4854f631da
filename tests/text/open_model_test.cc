// SPDX-License-Identifier: Apache-2.0
//
// OpenModel gives all that a model on disk is, from a folder and from a packed file.

#include "skald/open/open_model.h"

#include <filesystem>
#include <string>
#include <vector>

#include "doctest/doctest.h"
#include "skald/cache/create.h"
#include "skald/model/load_any.h"
#include "skald/model/workspace.h"
#include "skald/open/chat.h"
#include "skald/open/pack_model.h"
#include "tests/support/check_error.h"
#include "tests/support/temporary_folder.h"

namespace skald::testing {
namespace open_model_test {

std::filesystem::path Demo() {
  return std::filesystem::path(__FILE__).parent_path().parent_path().parent_path() / "examples/demo_model";
}

std::vector<float> LogitsOf(const AnyModel& model, const std::vector<int32_t>& ids) {
  auto cache = CreateKVCache(LayoutOf(model.spec()), {.max_tokens = 64});
  REQUIRE(cache);
  auto workspace = CreateWorkspace({});
  REQUIRE(workspace);
  const auto logits = model.Forward(*cache, ids, *workspace);
  REQUIRE(logits);
  return {logits->begin(), logits->end()};
}

TEST_CASE("a folder is opened with its tokenizer, template, stop ids and weights") {
  const auto opened = OpenModel(Demo());
  REQUIRE(opened);
  CHECK(opened->info.trained_context > 0);
  CHECK(opened->info.spec == opened->model.spec());
  CHECK(!opened->text.stop_ids.empty());
  CHECK(opened->text.output.tools == ToolForm::kJson);

  const auto ids = EncodeChat(opened->text.tokenizer, opened->text.chat_template,
                              Chat(std::vector<Message>{{Role::kUser, "In the beginning"}}));
  REQUIRE(ids);
  const auto alone = LoadAnyModel(Demo(), {.dtype = opened->info.weight_type});
  REQUIRE(alone);
  CHECK(LogitsOf(opened->model, *ids) == LogitsOf(*alone, *ids));
}

TEST_CASE("a packed file is opened as the folder that it was made from") {
  const TemporaryFolder folder;
  const auto info = IdentifyModel(Demo());
  REQUIRE(info);
  const auto packed = folder.path() / "model.skald";
  REQUIRE(PackModel(*info, {.dtype = info->weight_type}, packed));
  const auto first = OpenModel(Demo()), second = OpenModel(packed);
  REQUIRE(first);
  REQUIRE(second);
  CHECK(second->info.family == first->info.family);
  CHECK(second->info.trained_context == first->info.trained_context);
  CHECK(second->text.stop_ids == first->text.stop_ids);
  CHECK(second->text.sampler.temperature == first->text.sampler.temperature);
  CHECK(second->text.chat_template.source() == first->text.chat_template.source());
  const std::vector<int32_t> ids = *first->text.tokenizer.Encode("the earth");
  CHECK(*second->text.tokenizer.Encode("the earth") == ids);
  CHECK(LogitsOf(second->model, ids) == LogitsOf(first->model, ids));
}

TEST_CASE("options choose in place of the files") {
  const auto opened = OpenModel(Demo(), {.weight_type = DType::kF32, .text = {.chat_template = "none"}});
  REQUIRE(opened);
  CHECK(opened->text.chat_template.parts().only_continues);
  const auto alone = LoadAnyModel(Demo(), {.dtype = DType::kF32});
  REQUIRE(alone);
  const std::vector<int32_t> ids = *opened->text.tokenizer.Encode("the earth");
  CHECK(LogitsOf(opened->model, ids) == LogitsOf(*alone, ids));
  CheckError(OpenModel(Demo(), {.text = {.chat_template = "no such template"}}), ErrorCode::kInvalidArgument,
             "no such template");
  CheckError(OpenModel(Demo(), {.text = {.tokenizer = Demo() / "none.model"}}), ErrorCode::kNotFound, "none.model");
  CheckError(OpenModel(Demo() / "none"), ErrorCode::kNotFound, "none");
}

}  // namespace open_model_test
}  // namespace skald::testing
