// SPDX-License-Identifier: Apache-2.0
//
// State is yours: one model serves two conversations that take turns, token by token. Each has its own cache,
// which holds all that the conversation changes; the model is const and knows of neither.
//
//   build/release/examples/06_two_conversations [MODEL_FOLDER]

#include <iostream>

#include "demo_model/demo_config.h"
#include "skald/skald.h"
#include "skald/tokenizers/tokenizer.h"

const skald::SamplerSettings kSampler = {.temperature = 0.7f, .top_k = 40, .random = {.seed = 1}};

struct Conversation {
  skald::KVCache cache;
  std::vector<int32_t> tokens;  // all of it; those beyond cache.size() are still to be computed
};

skald::Result<Conversation> Begin(const skald::Tokenizer& tokenizer, const char* text) {
  SKALD_ASSIGN(auto cache, skald::CreateKVCache<DemoModel>());
  SKALD_ASSIGN(auto tokens, tokenizer.Encode(text));
  if (const auto bos = tokenizer.bos_id()) tokens.insert(tokens.begin(), *bos);
  return Conversation{std::move(cache), std::move(tokens)};
}

// Appends one token.
skald::Result<void> Advance(const skald::Model<DemoModel>& model, Conversation& conversation,
                            skald::Workspace& workspace) {
  const auto unseen = std::span(conversation.tokens).subspan(conversation.cache.size());
  SKALD_ASSIGN(const auto logits, model.Forward(conversation.cache, unseen, workspace));
  SKALD_ASSIGN(const auto next, skald::Sample(logits, kSampler, {}, conversation.cache.size()));
  conversation.tokens.push_back(next.id);
  return {};
}

skald::Result<void> Run(const std::filesystem::path& folder) {
  SKALD_ASSIGN(const auto tokenizer, skald::Tokenizer::Load(folder / "tokenizer.model"));
  SKALD_ASSIGN(const auto model, skald::LoadModel<DemoModel>(folder));
  SKALD_ASSIGN(auto workspace, skald::CreateWorkspace());

  SKALD_ASSIGN(auto first, Begin(tokenizer, "And God said"));
  SKALD_ASSIGN(auto second, Begin(tokenizer, "The king of Babylon"));
  for (int turn = 0; turn < 30; ++turn) {
    for (Conversation* conversation : {&first, &second}) {
      SKALD_TRY(Advance(model, *conversation, workspace));
    }
  }
  for (const Conversation* conversation : {&first, &second}) {
    SKALD_ASSIGN(const auto text, tokenizer.Decode(conversation->tokens));
    std::cout << text << "\n\n";
  }
  return {};
}

int main(int argc, char** argv) {
  const auto done = Run(argc > 1 ? argv[1] : "examples/demo_model");
  if (!done) std::cerr << done.error().message << '\n';
  return done ? 0 : 1;
}
