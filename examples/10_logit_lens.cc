// SPDX-License-Identifier: Apache-2.0
//
// Which layer decides a token? A hook looks at the residual stream before each block and asks the model's own head what
// it would say if it ended there: the logit lens.
//
//   build/release/examples/10_logit_lens [MODEL_FOLDER]

#include <algorithm>
#include <iostream>
#include <string>

#include "demo_model/demo_config.h"
#include "skald/skald.h"
#include "skald/tokenizers/tokenizer.h"

int32_t MostLikely(std::span<const float> logits) {
  return static_cast<int32_t>(std::ranges::max_element(logits) - logits.begin());
}

skald::Result<void> Run(const std::filesystem::path& folder) {
  SKALD_ASSIGN(const auto tokenizer, skald::Tokenizer::Load(folder / "tokenizer.model"));
  SKALD_ASSIGN(const auto model, skald::LoadModel<DemoModel>(folder));
  SKALD_ASSIGN(auto cache, skald::CreateKVCache<DemoModel>());
  auto workspace = skald::CreateWorkspace(), lens = skald::CreateWorkspace();  // Forward is using the first one
  if (!workspace) return skald::Failure(workspace.error());
  if (!lens) return skald::Failure(lens.error());

  const std::string prompt = "And God said unto";
  SKALD_ASSIGN(auto tokens, tokenizer.Encode(prompt));
  if (const auto bos = tokenizer.bos_id()) tokens.insert(tokens.begin(), *bos);

  std::vector<int32_t> says;  // what the model would say if it ended before block 0, 1, ...
  const auto watch = [&](const skald::HookRows& stream) {
    const auto logits = model.Logits(stream.row(stream.rows() - 1), *lens);
    if (logits) says.push_back(MostLikely((*logits)[0]));
  };
  SKALD_ASSIGN(const auto logits, model.Forward(cache, tokens, *workspace, {.hooks = {{"stream.*", watch}}}));

  const int32_t token = MostLikely(logits);
  std::cout << prompt << " ...\n";
  for (size_t block = 0; block < says.size(); ++block) {
    std::cout << "after " << block << " blocks: " << tokenizer.IdToPiece(says[block]).value_or("") << '\n';
  }
  const auto last_other = std::find_if(says.rbegin(), says.rend(), [&](int32_t said) { return said != token; });
  const auto decided = says.rend() - last_other;  // one more than the blocks after which it last said something else
  std::cout << "decided by block " << decided << " of " << says.size() - 1 << '\n';
  return {};
}

int main(int argc, char** argv) {
  const auto done = Run(argc > 1 ? argv[1] : "examples/demo_model");
  if (!done) std::cerr << done.error().message << '\n';
  return done ? 0 : 1;
}
