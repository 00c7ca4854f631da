// SPDX-License-Identifier: Apache-2.0
//
// State is yours: one model serves two conversations that take turns, token by token. Each has its own cache,
// which holds all that the conversation changes; the model is const and knows of neither.
//
//   build/release/examples/02_two_conversations [MODEL_FOLDER]

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
  auto cache = skald::CreateKVCache<DemoModel>();
  if (!cache) return skald::Failure(cache.error());
  auto tokens = tokenizer.Encode(text);
  if (!tokens) return skald::Failure(tokens.error());
  if (const auto bos = tokenizer.bos_id()) tokens->insert(tokens->begin(), *bos);
  return Conversation{std::move(*cache), std::move(*tokens)};
}

// Appends one token.
skald::Result<void> Advance(const skald::Model<DemoModel>& model, Conversation& conversation,
                            skald::Workspace& workspace) {
  const auto unseen = std::span(conversation.tokens).subspan(conversation.cache.size());
  const auto logits = model.Forward(conversation.cache, unseen, workspace);
  if (!logits) return skald::Failure(logits.error());
  const auto next = skald::Sample(*logits, kSampler, {}, conversation.cache.size());
  if (!next) return skald::Failure(next.error());
  conversation.tokens.push_back(next->id);
  return {};
}

skald::Result<void> Run(const std::filesystem::path& folder) {
  const auto tokenizer = skald::Tokenizer::Load(folder / "tokenizer.model");
  if (!tokenizer) return skald::Failure(tokenizer.error());
  const auto model = skald::LoadModel<DemoModel>(folder);
  if (!model) return skald::Failure(model.error());
  auto workspace = skald::CreateWorkspace();
  if (!workspace) return skald::Failure(workspace.error());

  auto first = Begin(*tokenizer, "And God said");
  if (!first) return skald::Failure(first.error());
  auto second = Begin(*tokenizer, "The king of Babylon");
  if (!second) return skald::Failure(second.error());
  for (int turn = 0; turn < 30; ++turn) {
    for (Conversation* conversation : {&*first, &*second}) {
      SKALD_TRY(Advance(*model, *conversation, *workspace));
    }
  }
  for (const Conversation* conversation : {&*first, &*second}) {
    const auto text = tokenizer->Decode(conversation->tokens);
    if (!text) return skald::Failure(text.error());
    std::cout << *text << "\n\n";
  }
  return {};
}

int main(int argc, char** argv) {
  const auto done = Run(argc > 1 ? argv[1] : "examples/demo_model");
  if (!done) std::cerr << done.error().message << '\n';
  return done ? 0 : 1;
}
