// SPDX-License-Identifier: Apache-2.0
//
// The code of a README may use the members of `Names` without declaring them: the demo model, and everything that
// programs of the README's kind have already.

#ifndef SKALD_TESTS_README_PROGRAM_H_
#define SKALD_TESTS_README_PROGRAM_H_

#include <cstdint>
#include <filesystem>
#include <iostream>
#include <string_view>
#include <vector>

#include "demo_model/demo_config.h"
#include "skald/cache/steps/step.h"
#include "skald/cache/steps/step_plan.h"
#include "skald/engine/engine.h"
#include "skald/open/conversation.h"
#include "skald/open/saved_conversation.h"
#include "skald/skald.h"
#include "skald/store/backends/directory_store.h"
#include "skald/store/prompts/prompt_cache.h"
#include "skald/store/snapshots/byte_io.h"
#include "skald/store/snapshots/cached_digest.h"
#include "skald/store/snapshots/snapshot.h"
#include "skald/tokenizers/tokenizer.h"

namespace skald::testing {

using MyModel = DemoModel;

struct Names {
  explicit Names(const std::filesystem::path& folder)
      : tokenizer(Tokenizer::Load(folder / "tokenizer.model").value()), model(LoadModel<MyModel>(folder).value()) {
    const std::span<const float> logits = model.Forward(chat, prompt, workspace).value();
    last.assign(logits.begin(), logits.end());
  }

  RuntimeConfig runtime = {.max_tokens = 4096, .cache_bytes = 1 << 24};
  Tokenizer tokenizer;
  Model<MyModel> model;
  Workspace workspace = CreateWorkspace().value();
  std::shared_ptr<BlockPool> pool = CreateBlockPool<MyModel>(runtime).value();
  KVCache chat = CreateKVCache(pool).value();
  std::vector<int32_t> prompt = {2, 10, 11, 12, 13, 14, 15, 16}, tokens = prompt, ids = prompt, next = {17},
                       other = {18};
  std::vector<float> last;  ///< logits after the prompt
};

// Runs the code of a README. Returns whether no call in it failed.
inline bool Ran(const char* room, const char* model_folder, Result<void> (*run)(Names&)) {
  Names names(model_folder);
  const Result<void> done = run(names);
  if (!done) std::cerr << room << "/README.md: " << done.error().message << '\n';
  return done.has_value();
}

}  // namespace skald::testing

#endif  // SKALD_TESTS_README_PROGRAM_H_
