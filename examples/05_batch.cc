// SPDX-License-Identifier: Apache-2.0
//
// A batch computes several conversations in one Forward, whatever each needs: here one prompt after another
// joins (prefill) while those before it go on token by token (decode). Each gets the same bits as if it were
// alone.
//
//   build/release/examples/05_batch [MODEL_FOLDER]

#include <iostream>

#include "demo_model/demo_config.h"
#include "skald/skald.h"
#include "skald/tokenizers/tokenizer.h"

const skald::SamplerSettings kSampler = {.temperature = 0.7f, .top_k = 40, .random = {.seed = 1}};

struct Conversation {
  skald::KVCache cache;
  std::vector<int32_t> tokens;  // all of it; those beyond cache.size() are still to be computed
};

skald::Result<void> Run(const std::filesystem::path& folder) {
  const auto tokenizer = skald::Tokenizer::Load(folder / "tokenizer.model");
  if (!tokenizer) return skald::Failure(tokenizer.error());
  const auto model = skald::LoadModel<DemoModel>(folder);
  if (!model) return skald::Failure(model.error());
  auto pool = skald::CreateBlockPool<DemoModel>({.cache_bytes = 8'000'000});  // one memory limit for all of them
  if (!pool) return skald::Failure(pool.error());
  auto workspace = skald::CreateWorkspace();
  if (!workspace) return skald::Failure(workspace.error());

  std::vector<Conversation> conversations;
  for (const char* text :
       {"Hear, O Israel", "And it came to pass, when all the kings heard these things, that", "Woe"}) {
    auto cache = skald::CreateKVCache(*pool);
    if (!cache) return skald::Failure(cache.error());
    auto tokens = tokenizer->Encode(text);
    if (!tokens) return skald::Failure(tokens.error());
    if (const auto bos = tokenizer->bos_id()) tokens->insert(tokens->begin(), *bos);
    conversations.push_back({std::move(*cache), std::move(*tokens)});
  }

  for (size_t step = 0; step < 40; ++step) {
    const size_t joined = std::min(step + 1, conversations.size());
    skald::Batch batch;
    if (step < 4) std::cout << "step " << step << " computes tokens of each conversation:";
    for (Conversation& one : std::span(conversations).first(joined)) {
      const auto unseen = std::span(one.tokens).subspan(one.cache.size());
      batch.Add(one.cache, unseen);
      if (step < 4) std::cout << ' ' << unseen.size();
    }
    if (step < 4) std::cout << '\n';
    const auto logits = model->Forward(batch, *workspace);  // one row for each conversation, in their order
    if (!logits) return skald::Failure(logits.error());
    for (size_t i = 0; i < joined; ++i) {
      const auto next = skald::Sample((*logits)[i], kSampler, {}, conversations[i].cache.size());
      if (!next) return skald::Failure(next.error());
      conversations[i].tokens.push_back(next->id);
    }
  }
  for (const Conversation& one : conversations) {
    const auto text = tokenizer->Decode(one.tokens);
    if (!text) return skald::Failure(text.error());
    std::cout << '\n' << *text << '\n';
  }
  return {};
}

int main(int argc, char** argv) {
  const auto done = Run(argc > 1 ? argv[1] : "examples/demo_model");
  if (!done) std::cerr << done.error().message << '\n';
  return done ? 0 : 1;
}
