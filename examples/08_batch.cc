// SPDX-License-Identifier: Apache-2.0
//
// A batch computes several conversations in one Forward, whatever each needs: here one prompt after another
// joins (prefill) while those before it go on token by token (decode). Each gets the same bits as if it were
// alone.
//
//   build/release/examples/08_batch [MODEL_FOLDER]

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
  SKALD_ASSIGN(const auto tokenizer, skald::Tokenizer::Load(folder / "tokenizer.model"));
  SKALD_ASSIGN(const auto model, skald::LoadModel<DemoModel>(folder));
  auto pool = skald::CreateBlockPool<DemoModel>({.cache_bytes = 8'000'000});  // one memory limit for all of them
  if (!pool) return skald::Failure(pool.error());
  SKALD_ASSIGN(auto workspace, skald::CreateWorkspace());

  std::vector<Conversation> conversations;
  for (const char* text :
       {"Hear, O Israel", "And it came to pass, when all the kings heard these things, that", "Woe"}) {
    SKALD_ASSIGN(auto cache, skald::CreateKVCache(*pool));
    SKALD_ASSIGN(auto tokens, tokenizer.Encode(text));
    if (const auto bos = tokenizer.bos_id()) tokens.insert(tokens.begin(), *bos);
    conversations.push_back({std::move(cache), std::move(tokens)});
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
    const auto logits = model.Forward(batch, workspace);  // one row for each conversation, in their order
    if (!logits) return skald::Failure(logits.error());
    for (size_t i = 0; i < joined; ++i) {
      SKALD_ASSIGN(const auto next, skald::Sample((*logits)[i], kSampler, {}, conversations[i].cache.size()));
      conversations[i].tokens.push_back(next.id);
    }
  }
  for (const Conversation& one : conversations) {
    SKALD_ASSIGN(const auto text, tokenizer.Decode(one.tokens));
    std::cout << '\n' << text << '\n';
  }
  return {};
}

int main(int argc, char** argv) {
  const auto done = Run(argc > 1 ? argv[1] : "examples/demo_model");
  if (!done) std::cerr << done.error().message << '\n';
  return done ? 0 : 1;
}
