// SPDX-License-Identifier: Apache-2.0
//
// Fork explores alternatives: a cache is forked at one point, and each fork goes its own way. Tokens
// before that point are computed once and stored once.
//
//   build/release/examples/07_fork [MODEL_FOLDER]

#include <iostream>

#include "demo_model/demo_config.h"
#include "skald/skald.h"
#include "skald/tokenizers/tokenizer.h"

constexpr const char* kPrompt =
    "In the beginning God created the heaven and the earth. And the earth was without form, and void; and "
    "darkness was "
    "upon the face of the deep. And the Spirit of God moved upon the face of the waters. And God said, Let "
    "there be "
    "light: and there was light. And God saw the light, that it was good: and God divided the light from the "
    "darkness. "
    "And God called the light Day, and the darkness he called Night. And the";

skald::Result<void> Run(const std::filesystem::path& folder) {
  SKALD_ASSIGN(const auto tokenizer, skald::Tokenizer::Load(folder / "tokenizer.model"));
  SKALD_ASSIGN(const auto model, skald::LoadModel<DemoModel>(folder));
  SKALD_ASSIGN(auto trunk, skald::CreateKVCache<DemoModel>({.block_tokens = 32}));
  SKALD_ASSIGN(auto workspace, skald::CreateWorkspace());

  SKALD_ASSIGN(auto prompt, tokenizer.Encode(kPrompt));
  if (const auto bos = tokenizer.bos_id()) prompt.insert(prompt.begin(), *bos);
  // All but its last token: every fork computes that one for logits of its own.
  const auto shared = std::span(prompt).first(prompt.size() - 1);
  SKALD_TRY(model.Forward(trunk, shared, workspace));
  std::cout << trunk.size() << " tokens in common: " << trunk.pool()->usage().used_bytes << " bytes\n";

  std::vector<skald::KVCache> forks;  // kept, to see what all of them take together
  for (uint64_t stream = 0; stream < 4; ++stream) {
    SKALD_ASSIGN(auto forked, trunk.Fork());
    skald::KVCache& fork = forks.emplace_back(std::move(forked));
    // One seed, and a stream of random numbers for each fork.
    const skald::SamplerSettings settings = {
        .temperature = 0.8f, .random = {.seed = 7, .stream = stream}, .num_logprobs = 0};
    std::vector<int32_t> tokens = {prompt.back()};
    double logprob = 0;
    for (size_t i = 0; i < 12; ++i) {
      SKALD_ASSIGN(const auto logits, model.Forward(fork, std::span(tokens).last(1), workspace));
      SKALD_ASSIGN(const auto next, skald::Sample(logits, settings, {}, fork.size()));
      logprob += *next.logprob;
      tokens.push_back(next.id);
    }
    SKALD_ASSIGN(const auto text, tokenizer.Decode(tokens));
    std::cout << "..." << text << "  (log-probability " << logprob << ", " << fork.usage().exclusive_bytes
              << " bytes of its own)\n";
  }
  std::cout << "All five caches: " << trunk.pool()->usage().used_bytes << " bytes\n";
  return {};
}

int main(int argc, char** argv) {
  const auto done = Run(argc > 1 ? argv[1] : "examples/demo_model");
  if (!done) std::cerr << done.error().message << '\n';
  return done ? 0 : 1;
}
